"""Every grammar that is printed while the tests run is remembered, so that the last test can show all to the engine."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import tacid.grammar.compile
import tacid.turn.steps
from tacid.grammar.nodes import Node

#: The file of the test that runs after all others.
LAST = "test_every_grammar.py"

TEXTS: dict[str, None] = {}


def record() -> None:
    """Remember what the compiler and the turn print from now on; what they do stays as it is."""
    for module in (tacid.grammar.compile, tacid.turn.steps):
        inner = module.print_rules

        @functools.wraps(inner)
        def printing(rules: Mapping[str, Node], root: str = "root", *, _inner=inner) -> str:  # type: ignore[no-untyped-def]
            text: str = _inner(rules, root)
            TEXTS[text] = None
            return text

        module.print_rules = printing
