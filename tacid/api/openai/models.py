"""``/v1/models`` and ``/v1/models/{id}``. Source: OpenAI API reference, Models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tacid.errors import ModelUnknown
from tacid.jsontext import quote


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A served model: its name, Unix seconds of its file, whose it is, and its context in tokens where known."""

    name: str
    created: int
    owned_by: str = "tacid"
    context: int | None = None


def model_body(entry: ModelEntry) -> dict[str, Any]:
    """One model. The context is told as vLLM (``max_model_len``) and llama-server (``meta.n_ctx``) tell it."""
    body: dict[str, Any] = {
        "id": entry.name,
        "object": "model",
        "created": int(entry.created),
        "owned_by": entry.owned_by,
    }
    if entry.context is not None:
        body |= {"max_model_len": entry.context, "meta": {"n_ctx": entry.context}}
    return body


def models_body(entries: Iterable[ModelEntry]) -> dict[str, Any]:
    """The list of models."""
    return {"object": "list", "data": [model_body(entry) for entry in entries]}


def find_model(entries: Iterable[ModelEntry], name: str) -> ModelEntry:
    """The model of this name. Raises ``ModelUnknown`` that names those which there are."""
    served = list(entries)
    for entry in served:
        if entry.name == name:
            return entry
    there = ", ".join(quote(entry.name, shown=True) for entry in served[:20]) or "none"
    raise ModelUnknown(f"The model {quote(name[:200], shown=True)} is not served here; there is {there}.")


__all__ = ["ModelEntry", "find_model", "model_body", "models_body"]
