"""llama.cpp's own grammar engine as a library: built from an unpacked source tree with our shim, called by ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

_SOURCES = ("src/llama-grammar.cpp", "src/unicode.cpp", "src/unicode-data.cpp")
_INCLUDES = ("include", "src", "common", "ggml/include", "vendor")
_HUSH = """#include <cstdio>
#include <cstdlib>
#include <string>
#include <functional>
extern "C" int sb_fprintf(FILE *, const char *, ...);
#define fprintf sb_fprintf
"""


def build(tree: Path, library: Path) -> None:
    """Compile the engine's grammar code and the shim into ``library`` (about half a minute)."""
    with tempfile.TemporaryDirectory() as folder:
        hush = Path(folder) / "hush.h"
        hush.write_text(_HUSH, encoding="utf-8")
        flags = ["-std=c++17", "-O2", "-fPIC", "-w", *(f"-I{tree / one}" for one in _INCLUDES)]
        objects = []
        for source in (*(tree / one for one in _SOURCES), Path(__file__).with_name("gbnf_shim.cpp")):
            made = Path(folder) / f"{source.stem}.o"
            # What the parser says on stderr is collected instead.
            extra = ["-include", str(hush)] if source.stem == "llama-grammar" else []
            subprocess.run(["g++", *flags, *extra, "-c", str(source), "-o", str(made)], check=True)
            objects.append(str(made))
        subprocess.run(["g++", "-shared", "-o", str(library), *objects, "-Wl,-Bsymbolic"], check=True)


class EngineGrammarError(Exception):
    """The engine refuses a grammar's text."""


class GbnfEngine:
    """The library, loaded."""

    def __init__(self, library: Path) -> None:
        lib = ctypes.CDLL(str(library.resolve()))
        size = ctypes.POINTER(ctypes.c_size_t)
        lib.sb_open.restype = ctypes.c_void_p
        lib.sb_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        lib.sb_close.argtypes = [ctypes.c_void_p]
        lib.sb_match.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_size_t, size, size]
        lib.sb_size.argtypes = [ctypes.c_void_p, size, size, size]
        lib.sb_random.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
        self.lib = lib

    def open(self, text: str) -> OpenedGrammar:
        """The grammar of a GBNF text. Raises `EngineGrammarError`."""
        error = ctypes.create_string_buffer(16384)
        handle = self.lib.sb_open(text.encode(), error, len(error))
        if not handle:
            raise EngineGrammarError(error.value.decode("utf-8", "replace"))
        return OpenedGrammar(self.lib, handle)


class OpenedGrammar:
    """A grammar within the engine; freed with the object."""

    def __init__(self, lib: ctypes.CDLL, handle: int) -> None:
        self._lib, self._handle = lib, handle
        self._stopped, self._peak = ctypes.c_size_t(), ctypes.c_size_t()
        #: Most stacks that were alive at once, in all texts so far.
        self.peak = 0

    def match(self, text: str, deadline: float = 2.0, max_stacks: int = 200_000) -> int:
        """1: taken; 0: refused; -1: an error; -2: over the deadline (seconds); -3: too many stacks."""
        data = text.encode("utf-8", "surrogatepass")
        stopped, peak = ctypes.byref(self._stopped), ctypes.byref(self._peak)
        answer: int = self._lib.sb_match(self._handle, data, deadline, max_stacks, stopped, peak)
        self.peak = max(self.peak, self._peak.value)
        return answer

    def elements(self) -> int:
        """Elements of all rules once repeats are unrolled."""
        sizes = [ctypes.c_size_t() for _ in range(3)]
        self._lib.sb_size(self._handle, *map(ctypes.byref, sizes))
        return sizes[1].value

    def random(self, seed: int, size: int = 4000) -> bytes | None:
        """A random text, or ``None`` where none was complete within ``size`` characters."""
        buffer = ctypes.create_string_buffer(size * 4 + 8)
        length = self._lib.sb_random(self._handle, seed, size, buffer, len(buffer))
        return buffer.raw[:length] if length >= 0 else None

    def __del__(self) -> None:
        if self._handle:
            self._lib.sb_close(self._handle)
            self._handle = 0
