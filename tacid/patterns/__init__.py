"""Regular expressions of ECMA-262, as JSON Schema has them, as automata; see `tacid.patterns.language` for their use.

>>> hex_text = string_language("^[0-9a-f]+$", least=2)
>>> hex_text.accepts("c0"), hex_text.accepts("c")
(True, False)
"""

from __future__ import annotations

from tacid.patterns.build import search
from tacid.patterns.decide import decided
from tacid.patterns.language import (
    ANY_TEXT,
    NO_TEXT,
    Language,
    TooLarge,
    any_of,
    both,
    of_lengths,
    of_texts,
    other_texts,
    without,
)
from tacid.patterns.parse import PatternError, parse


def string_language(pattern: str | None, least: int = 0, most: int | None = None) -> Language | None:
    """The texts in which ``pattern`` (``None``: any) is found, of ``least`` to ``most`` characters.

    ``None`` where that can't be had exactly: a pattern that isn't one, back references, an automaton too large.
    """
    try:
        found = ANY_TEXT
        if pattern is not None:
            tree, inexact = decided(parse(pattern))
            if inexact:
                return None
            found = search(tree).language
        if least > 0 or most is not None:
            shortest, longest = found.sizes
            if found.is_empty or (shortest >= least and (most is None or (longest is not None and longest <= most))):
                return found
            found = both(found, of_lengths(least, most))
        return found
    except (PatternError, TooLarge):
        return None


__all__ = [
    "ANY_TEXT",
    "NO_TEXT",
    "Language",
    "PatternError",
    "TooLarge",
    "any_of",
    "both",
    "of_lengths",
    "of_texts",
    "other_texts",
    "string_language",
    "without",
]
