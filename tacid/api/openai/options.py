"""How to sample and how long, as OpenAI and llama.cpp name it; what can't be honoured is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tacid.api.messages import (
    brief,
    check_count,
    check_tokens,
    kind_of,
    want_bool,
    want_int,
    want_number,
    want_object,
    want_str,
    want_texts,
    whole_text,
)
from tacid.api.request import Limits
from tacid.chat import Sampling
from tacid.errors import RequestError

MAX_BIASES = 1024
#: What an engine's own numbers hold (int32).
_INT32 = 2**31 - 1

#: Efforts of reasoning that mean none.
_NO_EFFORT = frozenset({"none", "minimal"})


def sampling_of(body: Mapping[str, Any]) -> Sampling:
    """What the body says about sampling; all else is left to the server. Raises ``RequestError``."""
    return Sampling(
        temperature=want_number(body, "temperature", low=0),
        top_p=want_number(body, "top_p", low=0, high=1),
        # To llama.cpp nothing and less than nothing mean all tokens.
        top_k=want_int(body, "top_k", low=-1, high=_INT32),
        min_p=want_number(body, "min_p", low=0, high=1),
        presence_penalty=want_number(body, "presence_penalty", low=-2, high=2),
        frequency_penalty=want_number(body, "frequency_penalty", low=-2, high=2),
        repeat_penalty=want_number(body, "repeat_penalty", low=0.01, high=100),
        seed=want_int(body, "seed"),
        stop=want_texts(body, "stop"),
        logit_bias=_biases(body.get("logit_bias")),
    )


def tokens_of(body: Mapping[str, Any], limits: Limits) -> int | None:
    """Tokens at most: ``max_completion_tokens``, or the older ``max_tokens``. Raises ``RequestError``."""
    found = None
    for key in ("max_tokens", "max_completion_tokens"):
        count = want_int(body, key, low=1)
        check_tokens(count, limits, key)
        found = count if count is not None else found
    return found


def streaming_of(body: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether to stream, and whether the stream is to tell the usage. Raises ``RequestError``."""
    options = want_object(body, "stream_options") or {}
    return want_bool(body, "stream") or False, want_bool(options, "include_usage", "stream_options") or False


def think_of(body: Mapping[str, Any]) -> bool | None:
    """Whether the model is to think: ``think``, then ``enable_thinking``, then ``reasoning_effort`` decides.

    Raises ``RequestError``.
    """
    asked = body.get("think")
    if isinstance(asked, str):
        return asked not in _NO_EFFORT
    asked = want_bool(body, "think")
    kwargs = want_object(body, "chat_template_kwargs") or {}
    enabled = want_bool(kwargs, "enable_thinking", "chat_template_kwargs")
    effort = want_str(body, "reasoning_effort")
    for said in (asked, enabled):
        if said is not None:
            return said
    return None if effort is None else effort not in _NO_EFFORT


def refuse(body: Mapping[str, Any], fields: Mapping[str, str]) -> None:
    """Raises ``RequestError`` for the first of these fields that is set; the text says what to do instead.

    Null, false, nothing and what is empty count as not set.
    """
    for key, remedy in fields.items():
        if body.get(key):
            raise RequestError(f"{key} can't be honoured here: {remedy}", param=key, code="unsupported_parameter")


def one_only(body: Mapping[str, Any], key: str) -> None:
    """Raises ``RequestError`` where more than one reply is asked for."""
    count = want_int(body, key, low=1)
    if count is not None and count > 1:
        raise RequestError(
            f"{key} can't be more than 1 here; send the request again for another reply.",
            param=key,
            code="unsupported_parameter",
        )


def _biases(value: Any) -> tuple[tuple[int | str, float], ...]:
    """A map of token to bias, or llama.cpp's list of pairs of them; a token is its id or its text."""
    param = "logit_bias"
    if isinstance(value, list):
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in value):
            raise RequestError("logit_bias holds what is no pair of a token and its bias.", param=param)
        pairs = [(token, bias) for token, bias in value]
    else:
        pairs = list((want_object({param: value}, param) or {}).items())
    check_count(len(pairs), MAX_BIASES, param)
    return tuple((_token(token), _bias(token, bias)) for token, bias in pairs)


def _token(token: Any) -> int | str:
    text = str(token) if isinstance(token, int) and not isinstance(token, bool) else token
    if not isinstance(text, str) or not text:
        raise RequestError(f"logit_bias names {kind_of(token)} as a token; give its id.", param="logit_bias")
    if not (text.isascii() and text.lstrip("-").isdecimal()):
        return whole_text(text, "logit_bias")
    if len(text) > 10 or not 0 <= int(text) <= _INT32:
        raise RequestError(f"logit_bias names {brief(text)}, which is no token's id.", param="logit_bias")
    return int(text)


def _bias(token: Any, bias: Any) -> float:
    if bias is False:
        # llama.cpp's word for never.
        return -math.inf
    number = want_number({"bias": bias}, "bias", f"logit_bias[{brief(token)}]", low=-100, high=100)
    return 0.0 if number is None else number


__all__ = ["MAX_BIASES", "one_only", "refuse", "sampling_of", "streaming_of", "think_of", "tokens_of"]
