"""Data flows one way: a module imports only from its own floor's package or from floors below."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tacid

ROOT = Path(tacid.__file__).parent

FLOORS = {
    "errors": -1,
    "deadline": -1,
    "jsontext": 0,
    "systemd": 0,
    "catalogue": 1,
    "chat": 1,
    "config": 1,
    "metrics": 1,
    "patterns": 1,
    "schema": 2,
    "grammar": 2,
    "search": 3,
    "prompt": 3,
    "reply": 3,
    "engine": 3,
    "endpoints": 4,
    "machine": 4,
    "turn": 5,
    "api": 6,
    "evaluation": 7,
    "cli": 8,
    "__main__": 9,
    "__init__": 9,
}

#: Imports between packages of one floor, each with its reason.
SIDEWAYS: dict[tuple[str, str], str] = {
    ("grammar", "schema"): "a schema is understood (references, merging) before it becomes a grammar",
}


def _package(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tacid."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "tacid":
            found |= {alias.name for alias in node.names if alias.name in FLOORS}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tacid.")}
    return found


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_from_below(path: Path) -> None:
    own = _package(path)
    for other in _imports(path):
        if other == own:
            continue
        below = FLOORS[other] < FLOORS[own]
        assert below or (own, other) in SIDEWAYS, f"{path.name} ({own}) imports {other}, which is not below it"


def test_every_package_has_a_floor() -> None:
    assert {_package(path) for path in MODULES} <= set(FLOORS)
