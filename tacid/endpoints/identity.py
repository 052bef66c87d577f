"""Which model an engine serves, told by the engine itself, so that a pool is made only of engines with the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tacid.engine.client import EngineClient
from tacid.errors import EngineDied, EngineError
from tacid.jsontext import dumps

#: Figures of a model that llama-server tells (``/v1/models``, ``data[0].meta``).
_FIGURES = ("n_vocab", "vocab_type", "n_embd", "n_params", "size", "n_ctx_train")
#: Text whose tokens tell one vocabulary from another.
_SPOKEN = 'Größe 3.14 <|im_end|> {"tool":"x"} 東京 \U0001f600 unbelievably\n\tdef f(): return'


@dataclass(frozen=True, slots=True)
class Identity:
    """A model: its file's name, its figures, and a hash of its template and of how it cuts a text into tokens."""

    file: str
    figures: tuple[tuple[str, int], ...]
    words: str

    def __str__(self) -> str:
        size = dict(self.figures).get("size")
        return self.file + (f" ({size:,} bytes)" if size else "")

    def differs(self, other: Identity) -> str | None:
        """In what two models differ, as a clause; none where they are the same."""
        if self.figures != other.figures:
            mine, theirs = dict(self.figures), dict(other.figures)
            names = [name for name in _FIGURES if mine.get(name) != theirs.get(name)]
            return ", ".join(f"{name} is {mine.get(name, 0):,}, not {theirs.get(name, 0):,}" for name in names)
        if self.words != other.words:
            return "its vocabulary or its chat template is another one"
        if self.file != other.file:
            return f"its file is called {self.file}, not {other.file}"
        return None


async def identity_of(client: EngineClient) -> Identity:
    """The model that an engine serves. Raises ``EngineError``."""
    props = await client.props()
    meta: Mapping[str, Any]
    try:
        meta = await client.model_meta()
    except EngineDied:
        raise
    except EngineError:
        meta = {}  # an older one, that has no such route
    figures = tuple((name, value) for name in _FIGURES if isinstance(value := meta.get(name), int))
    words = dumps([await client.tokenize(_SPOKEN, special=True), props.chat_template, props.bos, props.eos])
    file = PurePath(props.model_path.replace("\\", "/")).name
    return Identity(file, figures, hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest())


__all__ = ["Identity", "identity_of"]
