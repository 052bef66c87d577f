"""bfcl-eval as it is installed: what is taken of it, and what is said where it isn't there."""

from __future__ import annotations

import ast
import copy
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacid.evaluation.categories import CATEGORIES
from tacid.evaluation.convert import HINT, tool_of
from tacid.evaluation.package import INSTALL, VERSION, Package

NAMES = [category.name for category in CATEGORIES] + ["live_irrelevance"]


def test_it_is_the_version_that_is_named(package: Package) -> None:
    assert package.version == VERSION


def test_all_ten_categories_are_there(package: Package) -> None:
    counts = {category.name: len(package.questions(category.name)) for category in CATEGORIES}
    assert counts == {
        "simple_python": 400, "multiple": 200, "parallel": 200, "parallel_multiple": 200, "irrelevance": 240,
        "live_simple": 258, "live_multiple": 1053, "live_parallel": 16, "live_parallel_multiple": 24,
        "live_relevance": 16,
    }  # fmt: skip


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_a_question_has_an_answer_where_one_is_checked(category: Any, package: Package) -> None:
    if category.wants != "calls":
        return
    answers = package.answers(category.name)
    for row in package.questions(category.name):
        assert answers[row["id"]], row["id"]
        assert len(answers[row["id"]]) == 1 or category.parallel, row["id"]


def _converter(package: Package) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """The package's own, out of a module that can't be imported without all of its dependencies."""
    from bfcl_eval.constants.enums import ModelStyle

    source = ast.parse((package.data.parent / "model_handler" / "utils.py").read_text(encoding="utf-8"))
    wanted = [
        node
        for node in source.body
        if isinstance(node, ast.FunctionDef) and node.name in ("convert_to_tool", "_cast_to_openai_type")
    ]
    assert len(wanted) == 2
    names: dict[str, Any] = {
        "GORILLA_TO_OPENAPI": package.types, "ModelStyle": ModelStyle, "copy": copy, "re": re,
    }  # fmt: skip
    exec(compile(ast.Module(wanted, []), "utils.py", "exec"), names)
    return lambda functions: names["convert_to_tool"](functions, package.types, ModelStyle.OPENAI_COMPLETIONS)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_converted_as_the_package_does(name: str, package: Package) -> None:
    convert = _converter(package)
    utils = (package.data.parent / "utils.py").read_text(encoding="utf-8")
    assert f'return "{HINT}"' in utils
    for row in package.questions(name):
        before = copy.deepcopy(row["function"])
        ours = [tool_of(function, package.types) for function in row["function"]]
        assert row["function"] == before
        # The package adds its hint while it loads.
        hinted = [{**function, "description": function["description"] + HINT} for function in row["function"]]
        assert ours == convert(hinted), row["id"]


def _pythons(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_pythons, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["type"]} if isinstance(schema.get("type"), str) else set()
    return own.union(*(_pythons(value) for key, value in schema.items() if key not in ("enum", "default")))


@pytest.mark.parametrize("name", NAMES)
def test_no_type_is_left_that_json_schema_does_not_know(name: str, package: Package) -> None:
    known = {"object", "array", "string", "integer", "number", "boolean"}
    for row in package.questions(name):
        for function in row["function"]:
            tool = tool_of(function, package.types)["function"]
            assert "." not in tool["name"]
            assert _pythons(tool["parameters"]) - known <= set(_names(tool["parameters"])), row["id"]


def _names(schema: Any) -> list[str]:
    """Properties that are called ``type``, whose schema's words aren't types of ours."""
    return ["type"] if isinstance(schema, dict) and "type" in schema.get("properties", {}) else []


_ALONE = """
import sys
taken = set(sys.stdlib_module_names) | {"bfcl_eval", "tacid"}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in taken:
            raise ImportError(f"{name} is not of the standard library")
sys.meta_path.insert(0, Refuse())
from tacid.evaluation.package import load_package
package = load_package()
print(package.check([{"name": "a.b", "parameters": {"properties": {}, "required": []}}], [{"a_b": {}}], [{"a.b": {}}], "simple_python"))
print(sorted(name for name in sys.modules if name == "bfcl_eval.constants.model_config"))
"""


def test_the_checker_needs_nothing_but_the_standard_library() -> None:
    done = subprocess.run([sys.executable, "-c", _ALONE], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["None", "[]"], done.stderr


_ABSENT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        return None
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == "bfcl_eval" else find(name, *rest))
from tacid.errors import InputError
from tacid.evaluation.package import load_package
try:
    load_package()
except InputError as error:
    print(error)
"""


def test_where_it_is_not_installed_the_command_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", _ABSENT], capture_output=True, text=True)
    assert done.stdout.strip().endswith(f"install it: {INSTALL}"), done.stderr


def test_the_command_is_the_one_that_the_tests_and_the_readme_name() -> None:
    root = Path(__file__).parents[2]
    for name in ("scripts/test", "README.md", "docs/evaluation.md"):
        assert f"--no-deps bfcl-eval=={VERSION}" in (root / name).read_text(encoding="utf-8"), name
