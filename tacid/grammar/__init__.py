"""From tools and their schemas to a grammar in llama.cpp's GBNF, verified, with a report of what it widens."""

from tacid.grammar.compile import Grammar, compile_catalogue, compile_schema, compiled_catalogue
from tacid.grammar.fit import MAX_BYTES, MAX_SECONDS
from tacid.grammar.report import LeftOut, Report, Widening

__all__ = [
    "MAX_BYTES",
    "MAX_SECONDS",
    "Grammar",
    "LeftOut",
    "Report",
    "Widening",
    "compile_catalogue",
    "compile_schema",
    "compiled_catalogue",
]
