"""tacid: a small local model calls tools, held by a grammar compiled from the tools of the turn."""

__version__ = "0.1.0"
