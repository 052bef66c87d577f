"""What the documents say holds: examples run, commands and options exist, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacid.cli.app import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


def _blocks(language: str) -> Iterator[tuple[str, str]]:
    for document in DOCUMENTS:
        for number, match in enumerate(_FENCE.finditer(document.read_text(encoding="utf-8"))):
            if match.group(1) == language:
                yield f"{document.name}-{number}", match.group(2)


def _commands() -> Iterator[tuple[str, list[str]]]:
    for name, text in _blocks("sh"):
        # A quoted text may go on over several lines.
        whole = re.sub(r"'[^']*'", lambda quoted: quoted[0].replace("\n", " "), text.replace("\\\n", " "))
        for line in whole.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["tacid"]:
                yield name, words[1:]


@pytest.mark.parametrize("source", [pytest.param(text, id=name) for name, text in _blocks("python")])
def test_a_python_example_runs(source: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", source], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("words", [pytest.param(words, id=" ".join(words)[:60]) for _, words in _commands()])
def test_a_command_in_a_document_has_arguments_that_exist(words: list[str]) -> None:
    # Arguments are parsed before help is shown, so what doesn't exist is refused.
    done = CliRunner().invoke(app, [*words, "--help"])
    assert done.exit_code == 0, done.output


def test_the_readme_has_a_python_example_and_commands() -> None:
    assert any(name.startswith("README") for name, _ in _blocks("python"))
    assert any(name.startswith("README") for name, _ in _commands())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in _LINK.findall(document.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_dependency_has_its_reason_in_the_readme() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [item for group in project["dependency-groups"].values() for item in group if isinstance(item, str)]
    extras = [item for extra in project["project"]["optional-dependencies"].values() for item in extra]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for requirement in (*project["project"]["dependencies"], *extras, *groups):
        name = re.split(r"[^A-Za-z0-9_-]", requirement)[0]
        assert f"`{name}`" in readme, f"the README says nothing about {name}"
