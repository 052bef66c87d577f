"""What the cases expect of a server, judged: of a reply's body, of what the engine was sent, and of its grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jsonschema_rs

from tacid.grammar.walk import Walk, accepts
from tacid.jsontext import dumps
from tests.api.scripted import Scripted, Sent
from tests.case_files import Case
from tests.grammar.gbnf import read_gbnf

ABSENT = object()
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str, "object": dict, "array": list, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip


def at(reply: Any, path: str) -> Any:
    """What stands at a path with dots; `ABSENT` where nothing does. An empty end is the place itself."""
    for step in filter(None, path.split(".")):
        if isinstance(reply, list) and step.isdigit() and int(step) < len(reply):
            reply = reply[int(step)]
        elif isinstance(reply, Mapping) and step in reply:
            reply = reply[step]
        else:
            return ABSENT
    return reply


def _empty(value: Any) -> bool:
    return value is ABSENT or value in (None, "", [], {})


def _is_type(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


#: The words of a check: whether the value there is as the case wants it.
CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is": lambda value, wanted: type(value) is type(wanted) and value == wanted,
    "in": lambda value, wanted: value in wanted,
    "json": lambda value, wanted: _parsed(value) == wanted,
    "json_fits": lambda value, wanted: jsonschema_rs.validator_for(wanted).is_valid(_parsed(value)),
    "type": _is_type,
    "length": lambda value, wanted: len(value) == wanted,
    "length_at_least": lambda value, wanted: len(value) >= wanted,
    "matches": lambda value, wanted: isinstance(value, str) and re.search(wanted, value) is not None,
    "contains": lambda value, wanted: wanted in value,
    "absent_or_empty": lambda value, wanted: _empty(value) is wanted,
    "one_of": lambda value, wanted: sum(not _empty(at(value, key)) for key in wanted) == 1,
    "never": lambda value, wanted: value is ABSENT or value != wanted,
}


def check(reply: Any, checks: Iterable[Mapping[str, Any]]) -> None:
    """Assert what a case says of a reply's body."""
    for one in checks:
        value = at(reply, one["path"])
        words = one.keys() - {"path"}
        assert words
        for word in words:
            if value is ABSENT and word not in ("absent_or_empty", "never"):
                raise AssertionError(f"{one['path']} is missing in {reply}")
            assert CHECKS[word](value, one[word]), (one, value, reply)


class Held:
    """A grammar that an engine was sent."""

    def __init__(self, text: str) -> None:
        self.rules = read_gbnf(text)

    def begins(self, text: str) -> bool:
        """Whether a reply may begin so."""
        return Walk(self.rules).feed(text)

    def admits(self, text: str) -> bool:
        """Whether this may be the reply."""
        return accepts(self.rules, text)

    def calls(self, names: Iterable[str]) -> list[str]:
        """Which of these tools can be called."""
        return [name for name in names if self.begins(f'{{"tool":{dumps(name)}')]

    def most_calls(self, text: str) -> int:
        """How many times this call may stand in one reply."""
        most = 1 if self.admits(text) else 0
        while self.admits(f"[{','.join([text] * (most + 1))}]"):
            most += 1
        return most


def _tool_names(one: Case) -> list[str]:
    tools = one.input["request"]["body"].get("tools") or []
    return [tool.get("function", tool)["name"] for tool in tools]


def _example(one: Case) -> str:
    call = next(entry["call"][0] for entry in one.input["engine"] if "call" in entry)
    return dumps({"tool": call["name"], "arguments": call["arguments"]})


def _said_as_schema(held: Held, one: Case) -> bool:
    schema = one.input["request"]["body"]["response_format"]["json_schema"]["schema"]
    fits = jsonschema_rs.validator_for(schema).is_valid
    tried = [{"t": 1}, {"t": -12}, {"t": "x"}, {}, "It rains.", 1, None, [], {"t": 1, "u": 1}]
    assert any(map(fits, tried))
    return all(held.admits(dumps({"say": value})) is fits(value) for value in tried)


#: What a case asks of the grammar sent along (`grammar_refuses_calls` aside, which wants none, see `judge_engine`).
_GRAMMAR: Mapping[str, Callable[[Held, Case], Any]] = {
    "grammar_refuses_say": lambda held, one: not held.begins('{"say"'),
    "grammar_calls_only": lambda held, one: held.calls(_tool_names(one)),
    "grammar_max_calls": lambda held, one: held.most_calls(_example(one)),
    "grammar_say_is_schema": _said_as_schema,
}


def judge_engine(one: Case, engine: Scripted) -> None:
    """Assert what a case says of what the engine was sent."""
    expect = one.expect
    if "engine_calls" in expect:
        assert engine.calls == expect["engine_calls"]
    generations = [sent for sent in engine.sent if not sent.continued]
    for seen in expect.get("engine_sees", ()):
        _see(generations[seen["call"]], seen)
    for wanted in expect.get("engine_request", ()):
        for sent in engine.sent:
            _field(sent.body, wanted)
    held = [Held(sent.grammar) for sent in engine.sent if sent.grammar is not None and not sent.thinking]
    for word in expect.keys() & _GRAMMAR.keys():
        assert held
        assert all(_GRAMMAR[word](grammar, one) == expect[word] for grammar in held), word
    if expect.get("grammar_refuses_calls"):
        # A chat without tools has no envelope at all: what looks like a call in it is text (see the case's own test).
        assert not any(held.calls(_tool_names(one)) for held in held)


def _see(sent: Sent, seen: Mapping[str, Any]) -> None:
    prompt = sent.prompt
    if "has" in seen:
        assert seen["has"] in prompt
    if "not" in seen:
        assert seen["not"] not in prompt
    place = 0
    for call, result in seen.get("pairs", ()):
        # Each call has its own result after it, before the next call. What came before the history is example.
        place = prompt.index(f'"{call}"', place)
        following = prompt.index(result, place)
        others = [other for other, _ in seen["pairs"] if other != call]
        assert not any(f'"{other}"' in prompt[place:following] for other in others)
        place = following


def _field(body: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    field = wanted["field"]
    if wanted.get("present"):
        assert field in body
    if wanted.get("absent"):
        assert field not in body
    if "absent_or" in wanted:
        assert body.get(field, wanted["absent_or"]) == wanted["absent_or"]
