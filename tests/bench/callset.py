"""Requests with the calls that a person would expect, and how a call is judged against them.

The file (`data/calls.json`) holds ``tools`` (OpenAI form), ``requests`` (text, acceptable ``calls``) and ``answers``
(requests that want words). An expected value is plain JSON (texts compared without regard to case, outer space and
closing punctuation; lists without regard to order), ``{"any_of": […]}`` or ``{"contains": [text, …]}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tacid.catalogue import Catalogue, read_tools
from tacid.jsontext import load_file

DATA = Path(__file__).parent / "data" / "calls.json"


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedCall(_Shape):
    """One acceptable call: ``arguments`` must be there and match, ``may`` may be there and must match then."""

    tool: str
    arguments: dict[str, Any]
    may: dict[str, Any] = Field(default_factory=dict)

    def matches(self, arguments: Mapping[str, Any]) -> bool:
        """Whether these arguments are the expected ones, without one too few or too many."""
        return all(
            name in arguments and value_matches(expected, arguments[name]) for name, expected in self.arguments.items()
        ) and all(
            name in self.arguments or (name in self.may and value_matches(self.may[name], value))
            for name, value in arguments.items()
        )


class Request(_Shape):
    """A request that wants a call, with every call that would do."""

    text: str
    calls: tuple[ExpectedCall, ...] = Field(min_length=1)

    def right_tool(self, name: str) -> bool:
        """Whether one of the acceptable calls is of this tool."""
        return any(call.tool == name for call in self.calls)

    def right_call(self, name: str, arguments: Any) -> bool:
        """Whether the call is one of the acceptable ones."""
        return isinstance(arguments, Mapping) and any(
            call.tool == name and call.matches(arguments) for call in self.calls
        )


class CallSet(_Shape):
    """The whole set. Raises ``ValueError`` where an expected call names a tool or an argument that isn't there."""

    tools: list[dict[str, Any]]
    requests: tuple[Request, ...]
    answers: tuple[str, ...]

    @property
    def catalogue(self) -> Catalogue:
        """The tools, as tacid reads them."""
        return read_tools(self.tools)

    @model_validator(mode="after")
    def _names_exist(self) -> CallSet:
        known = {tool.name: set(tool.parameters["properties"]) for tool in self.catalogue}
        for request in self.requests:
            for call in request.calls:
                missing = {*call.arguments, *call.may} - known.get(call.tool, set())
                if call.tool not in known or missing:
                    raise ValueError(f"{request.text!r} expects {call.tool} with {sorted(missing)}, which isn't there")
        return self


def load_callset(path: Path = DATA) -> CallSet:
    """Read a set from a file. Raises ``InputError`` or pydantic's ``ValidationError``."""
    return CallSet.model_validate(load_file(path, "call set"))


def value_matches(expected: Any, actual: Any) -> bool:
    """Whether a value is the expected one (see the module)."""
    if isinstance(expected, Mapping):
        if "any_of" in expected:
            return any(value_matches(option, actual) for option in expected["any_of"])
        return isinstance(actual, str) and all(_text(part) in _text(actual) for part in expected["contains"])
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None:
        return expected is actual
    if isinstance(expected, str):
        return isinstance(actual, str) and _text(expected) == _text(actual)
    if isinstance(expected, Sequence):
        return isinstance(actual, list) and _same_items(expected, actual)
    return isinstance(actual, int | float) and expected == actual


def _same_items(expected: Sequence[Any], actual: list[Any]) -> bool:
    left = list(actual)
    for item in expected:
        found = next((index for index, value in enumerate(left) if value_matches(item, value)), None)
        if found is None:
            return False
        del left[found]
    return not left


def _text(value: str) -> str:
    return " ".join(value.split()).rstrip(".!?").casefold()
