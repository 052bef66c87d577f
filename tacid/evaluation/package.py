"""bfcl-eval as it is installed: its questions, its answers, its checker. Nothing of it is kept here.

It is installed without its dependencies, which are the clients of all vendors: data and checker need none of them.
What the checker asks of them is one thing, whether a model's names may hold dots; a stand-in answers that.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tacid.errors import InputError

VERSION = "2026.3.23"
INSTALL = f"pip install --no-deps bfcl-eval=={VERSION}"

_MODELS = "bfcl_eval.constants.model_config"


@dataclass(frozen=True, slots=True)
class Package:
    """The installed package. ``types`` maps its words for types to those of JSON Schema."""

    version: str
    data: Path
    prefix: str
    types: Mapping[str, str]
    checker: Any
    python: Any

    def questions(self, category: str) -> list[dict[str, Any]]:
        """A category's questions: ``id``, ``question`` (turns of messages), ``function``. Raises ``InputError``."""
        return _lines(self.data / f"{self.prefix}_{category}.json")

    def answers(self, category: str) -> dict[str, list[dict[str, Any]]]:
        """By id, the calls that are right, each argument with its possible values. Raises ``InputError``."""
        rows = _lines(self.data / "possible_answer" / f"{self.prefix}_{category}.json")
        return {row["id"]: row["ground_truth"] for row in rows}

    def check(
        self,
        functions: Sequence[Mapping[str, Any]],
        calls: Sequence[Mapping[str, Mapping[str, Any]]],
        answer: Sequence[Mapping[str, Any]],
        category: str,
    ) -> str | None:
        """What the AST checker has against these calls (``{name: arguments}``, names without dots), or nothing."""
        try:
            verdict = self.checker(list(functions), list(calls), list(answer), self.python, category, "tacid")
        except Exception as error:  # it takes some values apart without looking what they are
            return f"checker: {type(error).__name__}: {error}"
        if verdict["valid"]:
            return None
        return f"{verdict.get('error_type', 'wrong')}: {'; '.join(map(str, verdict['error']))}"[:500]


def load_package() -> Package:
    """The installed package. Raises ``InputError`` that says how to install it."""
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or not found.submodule_search_locations:
        raise InputError(f"bfcl-eval, whose questions and checker are used, is not installed; install it: {INSTALL}")
    try:
        with _stand_in():
            checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker").ast_checker
        types = importlib.import_module("bfcl_eval.constants.type_mappings").GORILLA_TO_OPENAPI
        prefix = importlib.import_module("bfcl_eval.constants.category_mapping").VERSION_PREFIX
        python = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
        version = importlib.metadata.version("bfcl-eval")
    except (ImportError, AttributeError) as error:
        raise InputError(f"The installed bfcl-eval is none that tacid knows ({error}); install: {INSTALL}") from None
    return Package(version, Path(next(iter(found.submodule_search_locations))) / "data", prefix, types, checker, python)


class _AnyModel(dict[str, Any]):
    """Every model takes names without dots only, as all OpenAI endpoints do."""

    def __missing__(self, key: str) -> SimpleNamespace:
        return SimpleNamespace(underscore_to_dot=True)


@contextmanager
def _stand_in() -> Iterator[None]:
    """In place of the table of models, which imports all vendors' clients."""
    module = ModuleType(_MODELS)
    module.__dict__["MODEL_CONFIG_MAPPING"] = _AnyModel()
    before = sys.modules.get(_MODELS)
    sys.modules[_MODELS] = module
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop(_MODELS, None)
        else:
            sys.modules[_MODELS] = before


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"The installed bfcl-eval has no readable {path.name} ({error}); install: {INSTALL}") from None


__all__ = ["INSTALL", "VERSION", "Package", "load_package"]
