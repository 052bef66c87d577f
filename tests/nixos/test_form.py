"""Nix files have the form that nixfmt gives, as far as it can be told here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nixos.form import faults, nix_faults
from tests.nixos.nix import ROOT, nix_files

#: A file is one thing.
LINES = 120


@pytest.mark.parametrize("path", nix_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_the_form_and_is_short(path: Path) -> None:
    assert nix_faults(path) == []
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES or "standin" in path.parts
    assert text.startswith("#") or path.name == "flake.nix", "the first line says what the file is"


@pytest.mark.parametrize(
    "text",
    [
        "{ a = [ 1 2 ]; }\n",
        "{ a = 1; b = 2; }\n",
        "{ inherit a b c d; }\n",
        "{ inherit (x) a b c d; }\n",
        "{ a, b, c }:\na\n",
        "{ a ? 1 }:\na\n",
        "{\n  a,\n  ...\n}:\na\n",
        "{\n  a = { b = 1; };\n}\n",
        "{\n  a =\n    b;\n}\n",
        "{ f = a: b: c: a; }\n",
        "{ a, b }: a\n",
        "{\n  f = { a }: a;\n}\n",
        "{\n   a = 1;\n}\n",
        "{\n  a = 1; \n}\n",
        "{\n\ta = 1;\n}\n",
        "{ a = 1; }",
        "{ a = 1; }\n\n",
        "[ 1\n",
        "[ 1 }\n",
        "{\n  a = " + "b + " * 30 + "c;\n}\n",
    ],
)
def test_what_has_another_form_is_found(text: str) -> None:
    assert list(faults(text))


@pytest.mark.parametrize(
    "text",
    [
        "{ a = [ 1 ]; }\n",
        "{ inherit (x) a b c; }\n",
        "{\n  a,\n  b,\n  c,\n}:\na\n",
        "{ f = a: b: a; }\n",
        "{ a, b, ... }:\n{ a = b.c.${d}; }\n",
        "{\n  f =\n    { a }:\n    a;\n}\n",
        "{\n  a = ''\n     odd ${b} 'quoted' ''${c} { x = 1; y = 2; }\n  '';\n}\n",
        '{ a = "[ 1 2 ] \\" ${f "x"} # no comment"; }\n',
        "#" + " long" * 40 + "\n{ }\n",
        "[ (a b c) ]\n",
    ],
)
def test_what_has_the_form_is_not_found(text: str) -> None:
    assert list(faults(text)) == []
