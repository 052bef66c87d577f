"""What goes wrong here, each as a sentence."""

from __future__ import annotations


class VmError(Exception):
    """A machine can't be made, or doesn't do what it was told to."""


class TestFailed(VmError):
    """A script found something that isn't as it should be."""


__all__ = ["TestFailed", "VmError"]
