"""Bodies of Ollama's routes about models: ``/api/tags``, ``/api/show``, ``/api/ps``, ``/api/version``, ``/``.

Source: Ollama's API documentation, docs/api.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from tacid import __version__
from tacid.api.cards import ModelCard
from tacid.api.messages import want_str
from tacid.api.ollama.encode import stamp
from tacid.errors import RequestError

#: The release of Ollama whose protocol this is. Clients compare it with what they need, so it can't be tacid's own.
OLLAMA_VERSION = "0.13.0"
#: The text of ``GET /``, by which some clients know that they found an Ollama.
RUNNING = "Ollama is running"
#: When a model goes that stays. Farther than 292 years from now Go's durations end.
NEVER = datetime(2300, 1, 1, tzinfo=UTC)

_LATEST = ":latest"
_SCALES = ((1e9, "B", 1), (1e6, "M", 2), (1e3, "K", 0))


def normal_name(name: str) -> str:
    """A model's name as it is compared: in lower case, ``:latest`` being the same as no tag."""
    return name.strip().lower().removesuffix(_LATEST)


def tagged_name(name: str) -> str:
    """A model's name as Ollama lists it: always with a tag."""
    return name if ":" in name.rpartition("/")[2] else name + _LATEST


def wanted_model(body: Mapping[str, Any]) -> str:
    """The model that a body of ``/api/show`` names, in ``model`` or the older ``name``. Raises ``RequestError``."""
    for key in ("model", "name"):
        if name := (want_str(body, key) or "").strip():
            return name
    raise RequestError("model is missing; name the model (GET /api/tags lists them).", param="model")


def tags_body(cards: Iterable[ModelCard]) -> dict[str, Any]:
    """``GET /api/tags``: the models that are served."""
    return {"models": [{**_entry(card), "modified_at": stamp(card.modified)} for card in cards]}


def show_body(card: ModelCard) -> dict[str, Any]:
    """``POST /api/show``: all about one model. Every model here calls tools, since the grammar sees to it.

    The context length is the one that is served: clients size their prompts by it.
    """
    lines = [f"{name:<30} {value:g}" for name, value in card.sampling.items()]
    return {
        "modelfile": _modelfile(card),
        "parameters": "\n".join(lines),
        "template": card.template,
        "license": card.licence,
        "details": _details(card),
        "model_info": {
            **card.info,
            "general.architecture": card.architecture,
            "general.parameter_count": card.parameters,
            f"{card.architecture}.context_length": card.context,
        },
        "capabilities": ["completion", "tools", *(["thinking"] if card.thinking else [])],
        "modified_at": stamp(card.modified),
    }


def ps_body(loaded: Iterable[tuple[ModelCard, datetime]], *, size_vram: int = 0) -> dict[str, Any]:
    """``GET /api/ps``: the models that are loaded, until when, and how many bytes of each lie in a GPU's memory."""
    return {
        "models": [
            {
                **_entry(card),
                "size": card.memory or card.size,
                "expires_at": stamp(expires),
                "size_vram": size_vram,
                "context_length": card.context,
            }
            for card, expires in loaded
        ]
    }


def version_body() -> dict[str, Any]:
    """``GET /api/version``."""
    return {"version": OLLAMA_VERSION, "tacid": __version__}


def parameter_size(count: int) -> str:
    """A count of weights in Ollama's short spelling: ``134.52M``, ``1.5B``."""
    for scale, letter, digits in _SCALES:
        if count >= scale:
            whole = count % scale == 0
            return f"{count / scale:.{0 if whole else digits}f}{letter}"
    return str(count)


def _entry(card: ModelCard) -> dict[str, Any]:
    name = tagged_name(card.name)
    return {"name": name, "model": name, "size": card.size, "digest": card.digest, "details": _details(card)}


def _details(card: ModelCard) -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": card.architecture,
        "families": [card.architecture],
        "parameter_size": parameter_size(card.parameters),
        "quantization_level": card.quantization,
    }


def _modelfile(card: ModelCard) -> str:
    lines = [f"FROM {tagged_name(card.name)}"]
    if card.template:
        lines.append(f'TEMPLATE """{card.template}"""')
    lines += [f"PARAMETER {name} {value:g}" for name, value in card.sampling.items()]
    if card.licence:
        lines.append(f'LICENSE """{card.licence}"""')
    return "\n".join(lines) + "\n"
