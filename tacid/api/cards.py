"""What is told of a model that is served: its card, read from the head of its file and from its pin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacid.endpoints.backend import Served
from tacid.engine.gguf_file import GgufHead, read_head
from tacid.engine.pins import Pin
from tacid.engine.store import pin_of, sha256_of

#: What "general.file_type" stands for (llama.h, llama_ftype).
FILE_TYPES: Mapping[int, str] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS",
    20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
    28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
    39: "NVFP4", 40: "Q1_0",
}  # fmt: skip
UNKNOWN = "unknown"
#: Characters of one text of a head that are told.
MAX_TEXT = 1024


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One model as clients are told of it.

    ``name`` is the name by which it is served, ``size`` the bytes of its file, ``memory`` what it takes while it
    answers, ``digest`` the file's SHA-256 in hexadecimal, ``context`` the tokens of a request that are served,
    ``parameters`` the count of its weights. ``sampling`` has its publisher's defaults, ``info`` further figures of
    the file's head.
    """

    name: str
    size: int
    digest: str
    modified: datetime
    architecture: str
    parameters: int
    quantization: str
    context: int
    licence: str = ""
    thinking: bool = False
    memory: int = 0
    template: str = ""
    sampling: Mapping[str, float] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)


def card_of(
    path: Path,
    pin: Pin | None = None,
    *,
    name: str | None = None,
    context: int | None = None,
    thinking: bool | None = None,
    digest: str | None = None,
) -> ModelCard:
    """The card of a model's file.

    ``context``: what the engine serves, where that is less than the model's own; ``thinking``: as its chat template
    says, unless given. The digest of a file without a pin is read from the whole file, which takes seconds for each
    gigabyte: give it where it is known. Raises ``ModelError``.
    """
    head = read_head(path)
    pin = pin or pin_of(path)
    template = head.metadata.get("tokenizer.chat_template")
    template = template if isinstance(template, str) else ""
    own = head.context or (pin.context if pin else None)
    return ModelCard(
        name=name or (pin.name if pin else path.stem),
        size=head.size,
        digest=digest or (pin.sha256 if pin else sha256_of(path)),
        modified=datetime.fromtimestamp(path.stat().st_mtime, UTC),
        architecture=head.architecture or UNKNOWN,
        parameters=head.weights,
        quantization=_quantization(head),
        context=min(context, own) if context and own else (context or own or 0),
        licence=pin.licence if pin else str(head.metadata.get("general.license") or ""),
        thinking="<think>" in template if thinking is None else thinking,
        memory=pin.memory if pin else head.size,
        template=template,
        sampling={} if pin is None else pin.sampling.model_dump(exclude_none=True),
        info=_info(head),
    )


def _quantization(head: GgufHead) -> str:
    kind = head.metadata.get("general.file_type")
    return FILE_TYPES.get(kind, UNKNOWN) if isinstance(kind, int) else UNKNOWN


def _info(head: GgufHead) -> dict[str, Any]:
    """Figures and short texts of the head; words of the tokenizer and the template are no figures."""
    return {
        key: value
        for key, value in head.metadata.items()
        if key.startswith(("general.", f"{head.architecture}.")) and _told(value)
    }


def _told(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return not isinstance(value, float) or math.isfinite(value)


def unknown_card(name: str, context: int = 0, *, thinking: bool = False) -> ModelCard:
    """The card of a model whose file isn't ours to read."""
    return ModelCard(
        name, 0, "0" * 64, datetime.fromtimestamp(0, UTC), "unknown", 0, "unknown", context, thinking=thinking
    )


def card_of_served(served: Served) -> ModelCard:
    """The card of what an engine serves; reads the model's file. Raises ``ModelError`` where it can't be one."""
    endpoint = served.endpoint
    thinking = endpoint.family.thinking is not None
    if served.path is None:
        return unknown_card(endpoint.model, served.context, thinking=thinking)
    return card_of(served.path, served.pin, name=endpoint.model, context=served.context, thinking=thinking)
