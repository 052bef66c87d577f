"""What a completion is asked with: the body of llama-server's ``/completion``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from tacid.chat import Sampling

_FIELDS = (
    "content", "tokens", "stop", "stop_type", "stopping_word", "timings", "tokens_predicted", "tokens_evaluated",
    "id_slot",
)  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")


def completion_body(
    prompt: Sequence[int | str], grammar: str | None, sampling: Sampling, stop: Sequence[str], id_slot: int | None
) -> dict[str, Any]:
    """The body of a ``/completion`` request. Always bounded, streamed, cached, and with the grammar that was given."""
    body: dict[str, Any] = {
        "prompt": _prompt(prompt),
        "n_predict": max(1, sampling.max_tokens),
        "stream": True,
        "cache_prompt": True,
        "return_tokens": True,
        "return_progress": True,
        "response_fields": list(_FIELDS),
    }
    options = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repeat_penalty": sampling.repeat_penalty,
        "seed": None if sampling.seed is None else sampling.seed & 0xFFFFFFFF,
        "id_slot": id_slot,
        "grammar": grammar,
        "stop": [sendable(word) for word in (*sampling.stop, *stop) if word] or None,
        "logit_bias": [[token, _bias(bias)] for token, bias in sampling.logit_bias] or None,
    }
    body.update((key, value) for key, value in options.items() if value is not None)
    return body


def sendable(text: str) -> str:
    """A text as UTF-8 can carry it: lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _prompt(prompt: Sequence[int | str]) -> str | list[int | str]:
    # A list of nothing but texts would be several prompts.
    if all(isinstance(part, str) for part in prompt):
        return sendable("".join(str(part) for part in prompt))
    return [sendable(part) if isinstance(part, str) else part for part in prompt if part != ""]


def _bias(bias: float) -> float | bool:
    if bias == -math.inf:
        return False
    return max(-10_000.0, min(10_000.0, bias))
