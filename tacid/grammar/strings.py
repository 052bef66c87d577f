"""``string``: lengths counted in characters, of which an escape is one (RFC 8259, JSON Schema validation 6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.bounds import bound
from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.formats import FORMATS
from tacid.grammar.nodes import Lit
from tacid.grammar.patterns import Wanted, compile_pattern
from tacid.grammar.primitives import CHAR, STRING
from tacid.grammar.shapes import count, seq


def compile_string(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """A string of ``pattern``, ``format``, ``minLength`` and ``maxLength``."""
    pattern, form = schema.get("pattern"), schema.get("format")
    least = bound(scope, schema, pointer, "minLength") or 0
    most = bound(scope, schema, pointer, "maxLength")
    if most is not None and most < least:
        return Nothing(f"{pointer}/minLength", f"the shortest length, {least:,}, is above the longest, {most:,}")
    if "pattern" in schema and not isinstance(pattern, str):
        scope.widen(pointer, "pattern", "this is no regular expression")
        pattern = None
    form = form if isinstance(form, str) and form in FORMATS else None
    if pattern is not None or form is not None:
        return compile_pattern(scope, Wanted(pattern, form, least, most), pointer)
    if least == 0 and most is None:
        return STRING
    chars = count(CHAR, least, most, lambda node: scope.rule("chars", node))
    # A rule of its own, since many strings have the same bounds and the engine unrolls each repeat.
    return scope.rule("string", seq(Lit('"'), chars, Lit('"')))
