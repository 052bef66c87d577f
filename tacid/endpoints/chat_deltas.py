"""The chunks of a chat reply, put together: thoughts and words as they come, calls when they are whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.chat import Usage
from tacid.engine.client import End

#: Calls that one reply may hold before the rest is ignored, and characters of all their arguments.
MAX_ENTRIES = 128
MAX_ARGUMENTS = 1 << 20

#: Where servers put a thought: OpenAI's imitators, and vLLM from 0.12 on.
_THOUGHTS = ("reasoning_content", "reasoning")


class Deltas:
    """Reads ``choices[0].delta`` of chunk after chunk (OpenAI API reference, Chat Completions, streaming)."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, Any]] = {}
        self._size = 0
        self._pieces = 0
        self._usage: Mapping[str, Any] | None = None
        self._timings: Mapping[str, Any] = {}
        #: Why the reply ended, none while it goes on.
        self.finish: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> tuple[str, str]:
        """The thought and the words that a chunk adds."""
        if isinstance(chunk.get("usage"), Mapping):
            self._usage = chunk["usage"]
        if isinstance(chunk.get("timings"), Mapping):
            self._timings = chunk["timings"]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return "", ""
        for entry in delta.get("tool_calls") or ():
            if isinstance(entry, Mapping):
                self._call(entry)
        if isinstance(delta.get("function_call"), Mapping):
            self._call({"index": 0, "function": delta["function_call"]})
        thought = next((delta[key] for key in _THOUGHTS if isinstance(delta.get(key), str)), "")
        content = delta.get("content")
        if isinstance(content, list):
            content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
        said = content if isinstance(content, str) else ""
        self._pieces += bool(thought or said)
        said = said if said or not isinstance(delta.get("refusal"), str) else delta["refusal"]
        return thought, said

    def _call(self, entry: Mapping[str, Any]) -> None:
        index = entry.get("index")
        # Servers that send calls whole give no index.
        place = index if isinstance(index, int) else len(self._calls)
        if place not in self._calls and len(self._calls) >= MAX_ENTRIES:
            return
        call = self._calls.setdefault(place, {"id": None, "name": "", "arguments": ""})
        function = entry.get("function")
        if isinstance(entry.get("id"), str) and entry["id"]:
            call["id"] = entry["id"]
        if not isinstance(function, Mapping):
            return
        if isinstance(function.get("name"), str):
            call["name"] = function["name"] or call["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            call["arguments"] = arguments
        elif isinstance(arguments, str) and isinstance(call["arguments"], str):
            self._size += len(arguments)
            self._pieces += 1
            if self._size <= MAX_ARGUMENTS:
                call["arguments"] += arguments

    @property
    def calling(self) -> bool:
        """Whether a call has begun."""
        return bool(self._calls)

    @property
    def cut_off(self) -> bool:
        """Whether the reply ended at a limit."""
        return self.finish == "length" or self._size > MAX_ARGUMENTS

    def messages(self) -> list[dict[str, Any]]:
        """One message for each call, as `tacid.reply.lenient` reads them."""
        return [
            {"tool_calls": [{"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}]}
            for _, call in sorted(self._calls.items())
        ]

    def end(self) -> End:
        """How it ended and what it took; where the server tells no usage, the pieces that came are counted."""
        usage = self._usage or {}
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
        told = Usage(
            _count(usage.get("prompt_tokens")),
            _count(cached),
            _count(usage.get("completion_tokens")) if self._usage else self._pieces,
        )
        timings = {key: value for key, value in self._timings.items() if isinstance(value, (int, float))}
        return End("length" if self.cut_off else "stop", "", timings, told)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
