"""Embeddings, from an engine that gives them: OpenAI's ``/v1/embeddings``, Ollama's ``/api/embed`` and its older name.

Sources: OpenAI API reference, Embeddings; Ollama's API documentation, docs/api.md.
"""

from __future__ import annotations

import base64
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tacid.api.messages import brief, kind_of, want_int, want_str
from tacid.api.service import Service, Who
from tacid.engine.body import sendable
from tacid.errors import ContextExceeded, EngineDied, EngineError, RequestError

#: Texts of one request.
MAX_INPUTS = 2048

Inputs: TypeAlias = str | list[str] | list[int] | list[list[int]]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each input, in their order, and the tokens that all of them had."""

    vectors: tuple[tuple[float, ...], ...]
    tokens: int


async def embed(
    service: Service, inputs: Inputs, who: Who, *, model: str | None, dimensions: int | None = None
) -> Embedded:
    """The vectors of ``inputs``. Raises ``RequestError`` where the engine gives none, or none of that length."""
    if not inputs:
        return Embedded((), 0)
    async with service.pool_of(model).lease((), who=who.name, patience=service.patience) as lease:
        try:
            answer = await lease.served.endpoint.client.embeddings(
                {"input": _sendable(inputs), "encoding_format": "float"}
            )
        except (EngineDied, ContextExceeded):
            raise
        except EngineError as error:
            raise RequestError(
                f"The engine gives no embeddings of this ({str(error).rstrip('.')}); start it for them, "
                'with engine.extra_args = ["--embeddings"].',
                param="input",
                code="embeddings_unavailable",
            ) from None
    embedded = _embedded(answer)
    if dimensions is not None and any(len(vector) != dimensions for vector in embedded.vectors):
        raise RequestError(
            f"dimensions is {dimensions:,}, but the vectors of this model have {len(embedded.vectors[0]):,}; leave it "
            "out.",
            param="dimensions",
            code="unsupported",
        )
    return embedded


def openai_inputs(body: Mapping[str, Any]) -> Inputs:
    """What a body of OpenAI's wants embedded: a text, tokens, or a list of either. Raises ``RequestError``."""
    value = body.get("input")
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and 0 < len(value) <= MAX_INPUTS:
        if all(isinstance(part, str) and part for part in value) or _tokens(value):
            return value
        if all(isinstance(part, list) and _tokens(part) for part in value):
            return value
    raise _no_inputs(value)


def openai_body(body: Mapping[str, Any], model: str, embedded: Embedded) -> dict[str, Any]:
    """The reply in OpenAI's shape, the vectors as ``encoding_format`` wants them."""
    packed = body.get("encoding_format") == "base64"
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else list(vector)}
            for index, vector in enumerate(embedded.vectors)
        ],
        "model": model,
        "usage": {"prompt_tokens": embedded.tokens, "total_tokens": embedded.tokens},
    }


def check_openai(body: Mapping[str, Any]) -> int | None:
    """How long the vectors shall be, if that was said. Raises ``RequestError``, also for an unknown encoding."""
    encoding = want_str(body, "encoding_format")
    if encoding not in (None, "float", "base64"):
        raise RequestError(f'encoding_format is {brief(encoding)}; give "float" or "base64".', param="encoding_format")
    return want_int(body, "dimensions", low=1)


def ollama_inputs(body: Mapping[str, Any], *, older: bool) -> Inputs:
    """What a body of Ollama's wants embedded; ``older`` for ``/api/embeddings``, which has one ``prompt``."""
    if older:
        return want_str(body, "prompt") or ""
    value = body.get("input")
    if value is None or value == "" or value == []:
        return []
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) <= MAX_INPUTS and all(isinstance(part, str) and part for part in value):
        return value
    raise _no_inputs(value)


def ollama_body(model: str, embedded: Embedded, *, older: bool, started: float) -> dict[str, Any]:
    """The reply in Ollama's shape; durations in nanoseconds since ``started`` (`time.perf_counter`)."""
    if older:
        return {"embedding": list(embedded.vectors[0]) if embedded.vectors else []}
    return {
        "model": model,
        "embeddings": [list(vector) for vector in embedded.vectors],
        "total_duration": int((time.perf_counter() - started) * 1e9),
        "load_duration": 0,
        "prompt_eval_count": embedded.tokens,
    }


def _embedded(answer: Mapping[str, Any]) -> Embedded:
    try:
        entries = sorted(answer["data"], key=lambda entry: entry["index"])
        vectors = tuple(tuple(float(number) for number in entry["embedding"]) for entry in entries)
        return Embedded(vectors, int((answer.get("usage") or {}).get("prompt_tokens") or 0))
    except (KeyError, TypeError, ValueError):
        raise EngineError("The engine answered with something else than embeddings; is it a llama-server?") from None


def _sendable(inputs: Inputs) -> Any:
    """The same with what no engine takes in a text replaced."""
    if isinstance(inputs, str):
        return sendable(inputs)
    return [sendable(part) if isinstance(part, str) else part for part in inputs]


def _tokens(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(part, int) and not isinstance(part, bool) and part >= 0 for part in value)


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _no_inputs(value: Any) -> RequestError:
    if value is None or value in ("", []):
        return RequestError("input is missing; give a text or a list of texts.", param="input")
    if isinstance(value, list) and len(value) > MAX_INPUTS:
        return RequestError(f"input has {len(value):,} texts; {MAX_INPUTS:,} is the limit.", param="input")
    return RequestError(
        f"input is {kind_of(value)}; give a text or a list of texts, none of them empty.", param="input"
    )


__all__ = [
    "Embedded",
    "check_openai",
    "embed",
    "ollama_body",
    "ollama_inputs",
    "openai_body",
    "openai_inputs",
]
