"""Events of turns as the encoders get them, made by hand, in every form that a turn may have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tacid.api.request import About, Beat, WireEvent
from tacid.chat import Call, CallDelta, CallStart, Completion, Say, SayDelta, Think, ThinkDelta, Truncated, Usage
from tacid.grammar import Report
from tacid.turn.request import TurnResult

ABOUT = About("0123abcd", 1_750_000_000, "smollm2")
USAGE = Usage(prompt=50, cached=30, completion=7)


def call(name: str, arguments: dict[str, Any], number: int = 1) -> Call:
    """A call as a turn gives it: with an id and the text that was written."""
    return Call(name, arguments, json.dumps(arguments, ensure_ascii=False), f"call_{number:04}")


def result(*completions: Completion, **more: Any) -> TurnResult:
    return TurnResult(completions, USAGE, 3, {"prompt_ms": 1.5}, Report(), **more)


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def events(
    *completions: Completion, size: int = 3, held: bool = False, beats: bool = False, **more: Any
) -> list[WireEvent]:
    """The events of a turn with these completions. ``held``: nothing of them was sent while it was written."""
    found: list[WireEvent] = []
    for done in completions:
        match done:
            case Think(text) if not held:
                found += [ThinkDelta(piece) for piece in pieces(text, size)]
            case Say(text) if not held:
                found += [SayDelta(piece) for piece in pieces(text, size)]
            case Call(name, _, text, identity):
                found.append(CallStart(name, identity))
                found += [] if held else [CallDelta(piece) for piece in pieces(text, size)]
        found.append(done)
    if beats:
        found = [each for event in found for each in (Beat(), event)]
    return [*found, result(*completions, **more)]


#: By name: the completions of a turn, and more of its result.
TURNS: dict[str, tuple[tuple[Completion, ...], dict[str, Any]]] = {
    "an answer": ((Say("Rain in Oslo, 7 °C. \U0001f327\u2028"),), {}),
    "an answer of nothing": ((Say(""),), {}),
    "an answer cut off": ((Say("It rains and", complete=False),), {}),
    "a call": ((call("weather", {"city": "Zürich", "days": [1, 2.5, None, True]}),), {}),
    "a call without arguments": ((call("now", {}),), {}),
    "three calls": (tuple(call("weather", {"city": city}, at) for at, city in enumerate("abc")), {}),
    "a thought and an answer": ((Think("The user asks for rain."), Say("Yes.")), {}),
    "a thought ended and a call": ((Think("Hmm, let me", complete=False), call("now", {})), {}),
    "a thought of nothing": ((Think(""), Say("Yes.")), {}),
    "cut off before anything": ((Truncated("{"),), {}),
    "a thought, then cut off": ((Think("Well", complete=False), Truncated("")), {}),
    "a call that failed": (
        (call("weather", {"city": 7}),),
        {"invalid": {"call_0001": ("arguments.city is no text",)}, "retries": 1},
    ),
}

_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40)
_ARGUMENTS = st.dictionaries(
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**40), 2**40) | _TEXT,
        lambda v: st.lists(v, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@st.composite
def completions(draw: st.DrawFn) -> Sequence[Completion]:
    """What a turn may come to, without the cut-off calls."""
    thoughts = draw(st.lists(st.builds(Think, _TEXT, st.booleans()), max_size=1))
    if draw(st.booleans()):
        return [*thoughts, draw(st.builds(Say, _TEXT, st.booleans()))]
    calls = draw(st.lists(st.tuples(st.sampled_from(["weather", "now"]), _ARGUMENTS), min_size=1, max_size=4))
    return [*thoughts, *(call(name, arguments, at) for at, (name, arguments) in enumerate(calls))]


#: Any JSON value, of the size that a fuzzed body holds.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda value: st.lists(value, max_size=4) | st.dictionaries(st.text(max_size=8), value, max_size=4),
    max_leaves=12,
)


def bodies(shape: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Bodies near to right ones: of each field one of its samples, or anything, or nothing."""
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(samples) | JSON for key, samples in shape.items()})
