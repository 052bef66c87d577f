"""A stream as it came in, and the cases' rules for streams."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx

DONE = "[DONE]"


@dataclass
class Stream:
    """A stream: its frames in order, each with when it came (``time.monotonic``)."""

    status: int
    content_type: str
    raw: str
    sent: float
    headers_at: float
    #: (when, JSON value); comments have the value None, the sentinel `DONE`.
    frames: list[tuple[float, Any]] = field(default_factory=list)
    #: When the engine had written everything, where that is known.
    engine_ended: float | None = None

    @property
    def chunks(self) -> list[Any]:
        """The JSON values."""
        return [value for _, value in self.frames if value is not None and value != DONE]

    @property
    def choices(self) -> list[Any]:
        """The choices of OpenAI's chunks."""
        return [choice for chunk in self.chunks for choice in chunk.get("choices", ())]

    @property
    def deltas(self) -> list[Any]:
        """Their deltas."""
        return [choice["delta"] for choice in self.choices]

    @property
    def tool_deltas(self) -> list[Any]:
        """The deltas of calls."""
        return [call for delta in self.deltas for call in delta.get("tool_calls", ())]

    @property
    def content(self) -> str:
        """All that was said."""
        return "".join(delta.get("content") or "" for delta in self.deltas)

    @property
    def finishes(self) -> list[str]:
        """Every reason to finish that was given."""
        return [choice["finish_reason"] for choice in self.choices if choice.get("finish_reason")]

    def arguments(self) -> dict[int, str]:
        """The arguments of each call by its index."""
        joined: dict[int, str] = {}
        for call in self.tool_deltas:
            joined[call["index"]] = joined.get(call["index"], "") + call["function"].get("arguments", "")
        return joined

    def message(self) -> dict[str, Any]:
        """The deltas of OpenAI's stream put together, as a client does."""
        calls: dict[int, dict[str, Any]] = {}
        for call in self.tool_deltas:
            made = calls.setdefault(call["index"], {"name": "", "arguments": ""})
            made["name"] += call["function"].get("name", "")
            made["arguments"] += call["function"].get("arguments", "")
        thought = "".join(delta.get("reasoning_content") or "" for delta in self.deltas)
        return {"content": self.content, "reasoning_content": thought, "calls": [calls[key] for key in sorted(calls)]}


def collect(client: httpx.Client, method: str, path: str, body: Any) -> Stream:
    """Send a request and read its reply line by line, as it comes; asserts that lines are framed as they must be."""
    sent = time.monotonic()
    # As ASCII, which holds half a surrogate pair too.
    with client.stream(method, path, content=json.dumps(body)) as answer:
        kind = answer.headers.get("content-type", "")
        stream = Stream(answer.status_code, kind, "", sent, time.monotonic())
        rest = b""
        raw = b""
        separator = b"\n\n" if kind.startswith("text/event-stream") else b"\n"
        for data in answer.iter_raw():
            raw += data
            *frames, rest = (rest + data).split(separator)
            stream.frames += [(time.monotonic(), _frame(frame.decode())) for frame in frames]
    stream.raw = raw.decode()
    if kind.startswith(("text/event-stream", "application/x-ndjson")):
        assert not rest, rest
    else:
        stream.frames.append((time.monotonic(), json.loads(rest)))
    return stream


def _frame(text: str) -> Any:
    assert text, "a frame without anything in it"
    if text.startswith(":"):
        return None
    if text.startswith("{"):
        return json.loads(text)
    *names, data = text.split("\n")
    assert all(name.startswith("event: ") for name in names), text
    assert data.startswith("data: "), text
    return DONE if data == "data: [DONE]" else json.loads(data[6:])


def _one_role_first(stream: Stream, _: str) -> bool:
    return stream.deltas[0].get("role") == "assistant" and not any("role" in delta for delta in stream.deltas[1:])


def _first_delta_only(stream: Stream, _: str) -> bool:
    seen: set[int] = set()
    for call in stream.tool_deltas:
        first = call["index"] not in seen
        seen.add(call["index"])
        named = ("id" in call, "type" in call, "name" in call["function"])
        if named != (first, first, first):
            return False
    return bool(seen)


def _distinct_ids(stream: Stream, _: str) -> bool:
    ids = [call["id"] for call in stream.tool_deltas if "id" in call]
    return len(set(ids)) == len(ids) > 0 and all(ids)


def _indices(stream: Stream, wanted: str) -> bool:
    return sorted(stream.arguments()) == [int(index) for index in wanted.split(",")]


def _usage_last(stream: Stream, _: str) -> bool:
    last = stream.chunks[-1]
    usage = last["usage"]
    others = any(chunk.get("usage") for chunk in stream.chunks[:-1])
    counted = usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 0
    return last["choices"] == [] and counted and not others


def _live(stream: Stream, _: str) -> bool:
    assert stream.engine_ended is not None
    first = next(
        when
        for when, value in stream.frames
        if isinstance(value, dict) and any(choice["delta"].get("content") for choice in value["choices"])
    )
    return first < stream.engine_ended - 0.2


def _lines(stream: Stream, _: str) -> bool:
    lines = stream.raw.split("\n")
    return lines[-1] == "" and all(isinstance(json.loads(line), dict) for line in lines[:-1])


def _calls_in_time(stream: Stream, _: str) -> bool:
    places = [n for n, chunk in enumerate(stream.chunks) if chunk.get("message", {}).get("tool_calls")]
    done = next(n for n, chunk in enumerate(stream.chunks) if chunk["done"])
    return bool(places) and max(places) <= done


def _durations(stream: Stream, _: str) -> bool:
    last = stream.chunks[-1]
    figures = [value for key, value in last.items() if key.endswith(("_duration", "_count"))]
    return len(figures) >= 6 and all(type(figure) is int for figure in figures)


def _lively(stream: Stream, seconds: str) -> bool:
    times = [stream.headers_at, *(when for when, _ in stream.frames)]
    return all(after - before <= float(seconds) for before, after in pairwise(times))


def _whole(chunk: Mapping[str, Any]) -> bool:
    return all(value is not None for value in (*chunk.values(), *chunk["function"].values()))


#: Each rule by its word; what stands after its colon comes second.
RULES: Mapping[str, Callable[[Stream, str], bool]] = {
    "content_type": lambda s, wanted: s.content_type.split(";")[0] == wanted,
    "one_role_first": _one_role_first,
    "same_id_and_model_throughout": lambda s, _: len({(c["id"], c["model"], c["created"]) for c in s.chunks}) == 1,
    "index_on_every_tool_delta": lambda s, _: all(type(call["index"]) is int for call in s.tool_deltas),
    "indices": _indices,
    "distinct_ids": _distinct_ids,
    "id_and_name_in_first_delta_only": _first_delta_only,
    "no_null_fields_in_tool_deltas": lambda s, _: all(map(_whole, s.tool_deltas)),
    "arguments_concat_to_json": lambda s, _: (
        bool(s.arguments()) and all(isinstance(json.loads(text), dict) for text in s.arguments().values())
    ),
    "no_content_text": lambda s, _: not s.content,
    "content_deltas_at_least": lambda s, n: sum(bool(delta.get("content")) for delta in s.deltas) >= int(n),
    "first_content_before_engine_ends": _live,
    "finish": lambda s, wanted: s.finishes == [wanted],
    "no_finish": lambda s, refused: refused not in s.finishes,
    "usage_in_last_chunk_with_empty_choices": _usage_last,
    "done_sentinel": lambda s, _: s.frames[-1][1] == DONE and [v for _, v in s.frames].count(DONE) == 1,
    "error_event": lambda s, _: "error" in s.chunks[-1],
    "ends_within_s": lambda s, seconds: s.frames[-1][0] - s.sent <= float(seconds),
    "headers_within_s": lambda s, seconds: s.headers_at - s.sent <= float(seconds),
    "comment_or_chunk_every_s": _lively,
    "no_text": lambda s, refused: refused not in s.raw,
    "valid_utf8": lambda s, _: s.raw.encode().decode() == s.raw,
    "no_replacement_char": lambda s, _: "\ufffd" not in s.raw,
    "each_line_is_json": _lines,
    "tool_calls_in_a_line_before_or_at_done": _calls_in_time,
    "last_line_done_true": lambda s, _: [chunk["done"] for chunk in s.chunks].index(True) == len(s.chunks) - 1,
    "durations_are_integers": _durations,
}


def judge(stream: Stream, rules: list[str]) -> None:
    """Assert rules of a case."""
    for rule in rules:
        word, _, value = rule.partition(":")
        assert RULES[word](stream, value), (rule, stream.raw)


__all__ = ["DONE", "RULES", "Stream", "collect", "judge"]
