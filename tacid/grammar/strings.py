"""``string``: lengths counted in characters, of which an escape is one (RFC 8259, JSON Schema validation 6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.bounds import bound
from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.nodes import Lit
from tacid.grammar.primitives import CHAR, STRING
from tacid.grammar.shapes import count, seq


def compile_string(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """A string whose length is within ``minLength`` and ``maxLength``."""
    if "minLength" not in schema and "maxLength" not in schema:
        return STRING
    least = bound(scope, schema, pointer, "minLength") or 0
    most = bound(scope, schema, pointer, "maxLength")
    if least == 0 and most is None:
        return STRING
    if most is not None and most < least:
        return Nothing(f"{pointer}/minLength", f"the shortest length, {least:,}, is above the longest, {most:,}")
    chars = count(CHAR, least, most, lambda node: scope.rule("chars", node))
    # A rule of its own, since many strings have the same bounds and the engine unrolls each repeat.
    return scope.rule("string", seq(Lit('"'), chars, Lit('"')))
