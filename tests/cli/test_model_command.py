"""`tacid model`: what a person reads of the pins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacid.engine.pins import PINS
from tests.cli.run import environment, tacid


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_list_is_readable_on_80_columns(columns: str, tmp_path: Path) -> None:
    ran = tacid("model", "list", env=environment(tmp_path / "home", COLUMNS=columns))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    for pin in PINS:
        place = next(index for index, line in enumerate(lines) if line.startswith(f"{pin.name} "))
        assert pin.licence in lines[place]
        assert lines[place + 1].strip() == pin.about


def test_the_list_is_json_for_scripts(tmp_path: Path) -> None:
    ran = tacid("model", "list", "--json", env=environment(tmp_path / "home"))
    assert [row["name"] for row in json.loads(ran.out)] == [pin.name for pin in PINS]


def test_pull_takes_the_configured_model_where_none_is_named(tmp_path: Path) -> None:
    env = environment(tmp_path / "home", TACID_MODEL__NAME="no-such-model")
    assert "No model is called 'no-such-model'" in tacid("model", "pull", env=env).complaint()
    assert "[NAME]" in tacid("model", "pull", "--help", env=env).out


def test_a_name_with_markup_in_it_is_text(tmp_path: Path) -> None:
    file = tmp_path / "[bold]a[b].gguf"
    file.write_bytes(b"GGUF")
    ran = tacid("model", "verify", str(file), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert "[bold]a[b].gguf" in ran.complaint()
    assert ran.err.startswith("[bold]a[b].gguf")
