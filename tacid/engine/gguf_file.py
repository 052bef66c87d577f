"""Reads the head of a GGUF file: is it one, is it whole, and what does it say about its model.

Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3, little endian.
"""

from __future__ import annotations

import errno
import math
import mmap
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacid.errors import ModelError

MAGIC = b"GGUF"
#: Bounds of what a head may claim: keys, tensors, nesting of arrays.
MAX_COUNT = 1_000_000
MAX_ARRAY = 20_000_000

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
#: Tensor type: weights in a block, bytes of a block (ggml.h, ggml-common.h).
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
    34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufHead:
    """What a GGUF file says about itself.

    ``needed`` is how many bytes the file must have at least, ``weights`` the numbers in all its tensors together.
    """

    metadata: Mapping[str, Any]
    tensors: int
    size: int
    needed: int
    weights: int

    @property
    def architecture(self) -> str:
        """The kind of network (``llama``, ``qwen3``)."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def context(self) -> int | None:
        """The tokens of context that the model was trained for."""
        value = self.metadata.get(f"{self.architecture}.context_length")
        return value if isinstance(value, int) and value > 0 else None


def read_head(path: Path) -> GgufHead:
    """Read the head of a model file: strings and numbers of its metadata, lists left out.

    Raises ``ModelError`` that names the file and the remedy: missing, a folder, empty, no GGUF, cut short.
    """
    try:
        # A pipe would be waited for.
        if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        with path.open("rb") as file:
            size = path.stat().st_size
            if size == 0:
                raise ModelError(f"The model {path} is empty; fetch it again (tacid model pull) or correct the path.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                head = _head(path, data, size)
    except FileNotFoundError:
        raise ModelError(
            f"The model {path} does not exist; fetch one (tacid model pull) or correct the path."
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no regular file"
        raise ModelError(f"The model {path} can't be read: {reason}; correct the path.") from None
    if head.size < head.needed:
        raise ModelError(
            f"The model {path} is cut short: {head.size:,} of at least {head.needed:,} bytes; fetch it again "
            "(tacid model pull)."
        )
    return head


def _head(path: Path, data: mmap.mmap, size: int) -> GgufHead:
    if data[:4] != MAGIC:
        raise ModelError(f"The model {path} is no GGUF file; llama.cpp takes only those. Choose another file.")
    reader = _Reader(data, 4)
    try:
        version = reader.number("I")
        if version not in (2, 3):
            raise ModelError(f"The model {path} is GGUF version {version}; versions 2 and 3 can be used.")
        tensors, keys = reader.number("Q"), reader.number("Q")
        if tensors > MAX_COUNT or keys > MAX_COUNT:
            raise _Junk
        metadata = {reader.string(): reader.value(reader.number("I")) for _ in range(keys)}
        found = [reader.tensor() for _ in range(tensors)]
    except (struct.error, _CutShort):
        raise ModelError(
            f"The model {path} is cut short: it ends within its own head; fetch it again (tacid model pull)."
        ) from None
    except _Junk:
        raise ModelError(
            f"The model {path} is damaged: its head makes no sense; fetch it again (tacid model pull)."
        ) from None
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0:
        alignment = 32
    start = math.ceil(reader.at / alignment) * alignment if tensors else reader.at
    return GgufHead(
        {k: v for k, v in metadata.items() if v is not None},
        tensors,
        size,
        start + max((end for end, _ in found), default=0),
        sum(weights for _, weights in found),
    )


class _Junk(Exception):
    pass


class _CutShort(Exception):
    pass


class _Reader:
    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data = data
        self.at = at

    def number(self, kind: str) -> Any:
        (value,) = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def string(self) -> str:
        length = self.number("Q")
        if self.at + length > len(self.data):
            raise _CutShort
        text = self.data[self.at : self.at + length].decode("utf-8", errors="replace")
        self.at += length
        return text

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY or depth > 3:
            raise _Junk
        inner, count = self.number("I"), self.number("Q")
        if count > MAX_ARRAY:
            raise _Junk
        if inner in _SCALARS:
            self.at += count * struct.calcsize("<" + _SCALARS[inner])
        elif inner == _STRING:
            unpack, data, at = struct.Struct("<Q").unpack_from, self.data, self.at
            for _ in range(count):
                at += 8 + unpack(data, at)[0]
            self.at = at
        else:
            for _ in range(count):
                self.value(inner, depth + 1)
        if self.at > len(self.data):
            raise _CutShort
        return None

    def tensor(self) -> tuple[int, int]:
        """Skip one tensor's entry; where its data ends, counted from the start of all data, and its numbers."""
        self.string()
        dimensions = self.number("I")
        if dimensions > 8:
            raise _Junk
        weights = math.prod(self.number("Q") for _ in range(dimensions))
        kind, offset = self.number("I"), self.number("Q")
        block, size = _BLOCKS.get(kind, (1, 0))
        return int(offset + weights // block * size), weights
