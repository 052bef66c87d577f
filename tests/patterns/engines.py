"""Random patterns and texts, and what an engine of ECMA-262 that isn't ours (V8, by `py_mini_racer`) says of them."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import py_mini_racer

#: Few characters, so that things meet; those that JSON must escape, line ends and planes above the first among them.
ALPHABET = 'ab_-1 "\\\n\u2028é\u017f😀.'
_ATOMS = (
    *"aab1_-. é😀\u017f", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\.", r"\-", r"\\", '"', r"\n", r"\/", r"\x61",
    r"\u0061", r"\u{1F600}", r"\ud83d\ude00", r"\cJ", r"\0", "[ab]", "[^ab]", "[a-z]", r"[^\n]", r"[\d_-]", r"[\w-]",
    r"[\s\S]", "[]", "[^]", r"[\b]", r"[^\W]", r"[\D1]", "[.]", '["\\\\]', r"\p{L}", r"\P{L}", r"\p{Lu}", r"[\p{N}_]",
    r"\p{Script=Latin}", "ab", "a1", ".", "..",
)  # fmt: skip
_COUNTS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}", "{2,}", "{0}", "{0,1}?", "{3}?")


def pattern(rng: random.Random, depth: int = 3) -> str:
    """A pattern at random; nearly all are right."""
    return "|".join(_sequence(rng, depth) for _ in range(rng.choice((1, 1, 1, 2, 3))))


def _sequence(rng: random.Random, depth: int) -> str:
    parts = []
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        kind = rng.random()
        if kind < 0.10:
            parts.append(rng.choice("^$"))
        elif kind < 0.15:
            parts.append(rng.choice((r"\b", r"\B")))
        elif kind < 0.25 and depth:
            parts.append(f"({rng.choice(('?=', '?!', '?<=', '?<!'))}{pattern(rng, depth - 1)})")
        elif kind < 0.45 and depth:
            name = rng.choice(("", "", "?:", "?:", f"?<n{rng.randrange(10**9)}>"))
            parts.append(f"({name}{pattern(rng, depth - 1)})" + rng.choice(("", *_COUNTS)))
        else:
            parts.append(rng.choice(_ATOMS[:8]) if rng.random() < 0.5 else rng.choice(_ATOMS))
            if parts[-1] not in ("ab", "a1", "..") and rng.random() < 0.4:
                parts.append(rng.choice(_COUNTS))
    whole = "".join(parts)
    return f"^{whole}$" if rng.random() < 0.15 else whole


def text(rng: random.Random) -> str:
    """A short text at random."""
    return "".join(rng.choice(ALPHABET) for _ in range(rng.choice((0, 1, 1, 2, 3, 4, 6))))


#: From each character on: left alone, V8 also begins between the halves of a pair, where ECMA-262 never does.
_FIND = """
(pattern, texts) => {
  let found;
  try { found = new RegExp(pattern, "uy"); } catch (error) { return null; }
  const within = text => {
    let at = 0;
    for (const character of [...text, ""]) {
      found.lastIndex = at;
      if (found.test(text)) return true;
      at += character.length;
    }
    return false;
  };
  return JSON.stringify(texts.map(text => /\\p{Cn}/u.test(text) ? null : within(text)));
}
"""


_FAILURES = (
    py_mini_racer.JSEvalException,
    py_mini_racer.JSOOMException,
    py_mini_racer.JSParseException,
    py_mini_racer.JSTimeoutException,
)


@cache
def _engine() -> Any:
    return py_mini_racer.MiniRacer()


def found_in(wanted: str, texts: list[str]) -> list[bool | None] | None:
    """In which texts V8 finds a pattern, in Unicode mode; ``None`` where it reads none, or takes too long.

    ``None`` too for a text with a character that its Unicode, which may be older than ours, doesn't know.
    """
    try:
        answer = _engine().eval(
            f"({_FIND})({json.dumps(wanted)}, {json.dumps(texts)})", timeout_sec=2, max_memory=2**28
        )
    except _FAILURES:
        _engine.cache_clear()
        return None
    return None if answer is None else json.loads(answer)
