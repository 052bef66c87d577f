"""``/v1/completions``: the older, raw continuation of a text. Source: OpenAI API reference, Completions.

Nothing stands between client and model here: no turns, no tools, no envelope; what looks like a call is text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.api import sse
from tacid.api.faults import Fault, body_of
from tacid.api.messages import kind_of, want_bool, want_str, whole_text
from tacid.api.openai.chat_encode import extras, finish_of, usage_body
from tacid.api.openai.options import one_only, refuse, sampling_of, streaming_of, tokens_of
from tacid.api.request import About, Beat, CompletionRequest, Limits, WireEvent
from tacid.chat import Say, SayDelta
from tacid.errors import RequestError
from tacid.turn.request import TurnResult

PATH = "/v1/completions"
#: Token ids that a prompt may have; the context is far smaller.
MAX_IDS = 1_000_000

_REFUSED: Mapping[str, str] = {
    "suffix": "a text is only continued, nothing is filled in; leave it out.",
    "tools": "calls aren't intercepted on this route; use /v1/chat/completions.",
    "functions": "calls aren't intercepted on this route; use /v1/chat/completions.",
    "response_format": "this route holds no schema; use /v1/chat/completions.",
    "json_schema": "this route holds no schema; use /v1/chat/completions.",
}


def parse_completion(body: Mapping[str, Any], limits: Limits) -> CompletionRequest:
    """The request of a parsed JSON body. Fields that nobody knows are ignored.

    Raises ``RequestError`` that names the field for what has a wrong type, is beyond a limit, or can't be honoured.
    """
    refuse(body, _REFUSED)
    if body.get("logprobs") is not None and body["logprobs"] is not False:
        # Nought asks for the probability of each token written.
        refuse({"logprobs": True}, {"logprobs": "probabilities of tokens aren't told; leave it out."})
    one_only(body, "n")
    one_only(body, "best_of")
    stream, include_usage = streaming_of(body)
    prompt = _prompt(body.get("prompt"))
    echo = want_bool(body, "echo") or False
    if echo and not isinstance(prompt, str):
        raise RequestError("echo needs a prompt in words; token ids can't be given back as text.", param="echo")
    return CompletionRequest(
        model=want_str(body, "model"),
        prompt=prompt,
        sampling=sampling_of(body),
        max_tokens=tokens_of(body, limits),
        stream=stream,
        include_usage=include_usage,
        grammar=want_str(body, "grammar") or None,
        echo=echo,
    )


def completion_body(request: CompletionRequest, about: About, result: TurnResult) -> dict[str, Any]:
    """The body of a whole reply."""
    text = _echoed(request) + "".join(done.text for done in result.completions if isinstance(done, Say))
    return {
        **_head(about),
        "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish_of(result)}],
        "usage": usage_body(result),
        **extras(result),
    }


class CompletionStream:
    """The chunks of one streamed reply (see `tacid.api.request.StreamEncoder`)."""

    def __init__(self, request: CompletionRequest, about: About) -> None:
        self._include_usage = request.include_usage
        self._head = _head(about)
        self._echo = _echoed(request)
        self._said = ""
        self._ended = False

    def event(self, event: WireEvent) -> bytes:
        """The bytes of one event; thoughts and calls have no place here."""
        if self._ended:
            return b""
        match event:
            case Beat():
                return sse.BEAT
            case SayDelta(text):
                return self._say(text)
            case Say(text):
                return self._say(text[len(self._said) :] if text.startswith(self._said) else "")
            case TurnResult():
                return self._finish(event)
            case _:
                return b""

    def fault(self, fault: Fault) -> bytes:
        """The error as an event of its own, the last one; no ``[DONE]`` follows."""
        if self._ended:
            return b""
        self._ended = True
        return sse.data(body_of(fault, PATH))

    def _say(self, text: str) -> bytes:
        self._said += text
        echo, self._echo = self._echo, ""
        return self._chunk(echo + text) if echo or text else b""

    def _finish(self, result: TurnResult) -> bytes:
        echo = self._say("")
        self._ended = True
        last, finish = extras(result), finish_of(result)
        if not self._include_usage:
            return echo + self._chunk("", finish, last) + sse.DONE
        usage = sse.data({**self._head, "choices": [], "usage": usage_body(result), **last})
        return echo + self._chunk("", finish) + usage + sse.DONE

    def _chunk(self, text: str, finish: str | None = None, more: Mapping[str, Any] | None = None) -> bytes:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        return sse.data({**self._head, "choices": [choice], **(more or {})})


def _head(about: About) -> dict[str, Any]:
    return {
        "id": f"cmpl-{about.id}",
        "object": "text_completion",
        "created": int(about.created),
        "model": about.model,
    }


def _echoed(request: CompletionRequest) -> str:
    return request.prompt if request.echo and isinstance(request.prompt, str) else ""


def _prompt(value: Any) -> str | tuple[int, ...]:
    """A text, a list of one text, a list of token ids, or a list of one such list."""
    param = "prompt"
    if isinstance(value, list) and value and isinstance(value[0], (str, list)):
        if len(value) > 1:
            raise RequestError(
                f"prompt holds {len(value):,} prompts; one request continues one text, so send one a request.",
                param=param,
            )
        value = value[0]
    if isinstance(value, str):
        if not value:
            raise RequestError("prompt is empty; there is nothing to continue.", param=param)
        return whole_text(value, param)
    if not isinstance(value, list):
        what = "is missing" if value is None else f"is {kind_of(value)}"
        raise RequestError(f"prompt {what}; give a text or a list of token ids.", param=param)
    if not 0 < len(value) <= MAX_IDS:
        raise RequestError(f"prompt holds {len(value):,} token ids; give 1 to {MAX_IDS:,}.", param=param)
    for index, token in enumerate(value):
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < 2**31:
            raise RequestError(
                f"prompt[{index}] is {kind_of(token)} that is no token's id; give one text, or token ids alone.",
                param=f"{param}[{index}]",
            )
    return tuple(value)


__all__ = ["CompletionStream", "completion_body", "parse_completion"]
