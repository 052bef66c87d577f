"""`tacid config`: what is set and where it came from, whether it is right, what can be set."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest

from tacid.config import Config, settings
from tests.cli.run import environment, tacid

ROOT = Path(__file__).parents[2]


def with_file(tmp_path: Path, text: str, **more: str) -> dict[str, str]:
    path = tmp_path / "c.toml"
    path.write_text(text, encoding="utf-8")
    return environment(tmp_path / "home", **more) | {"TACID_CONFIG": str(path)}


def test_show_is_toml_with_every_setting_and_its_origin(tmp_path: Path) -> None:
    env = with_file(tmp_path, '[server]\nqueue = 9\nhosts = ["box.lan"]', TACID_SERVER__PORT="2222")
    ran = tacid("config", "show", env=env)
    assert ran.code == 0, ran.err
    shown = tomllib.loads(ran.out)
    lines = ran.out.splitlines()
    assert lines[0] == f"# file: {tmp_path / 'c.toml'}"
    assert "queue = 9  # file" in lines
    assert "port = 2222  # environment" in lines
    assert "heartbeat = 5.0  # default" in lines
    assert "# url has no value  # default" in lines
    assert Config.model_validate(shown).server.hosts == ("box.lan",)
    for name in settings():
        key = name.rpartition(".")[2]
        assert any(line.startswith((f"{key} = ", f"# {key} has no value", f"# {key}:")) for line in lines), name


def test_show_hides_secrets(tmp_path: Path) -> None:
    env = with_file(
        tmp_path,
        '[engine]\nkey = "secret-word"\nurl = "http://user:secret-word@127.0.0.1:1"\n'
        '[[endpoints]]\nname = "a"\nkind = "remote"\nurl = "https://u:secret-word@x"\nkey = "secret-word"',
    )
    ran = tacid("config", "show", env=env)
    assert "secret-word" not in ran.out + ran.err
    assert 'key = "***"  # file' in ran.out
    shown = tomllib.loads(ran.out)
    assert shown["endpoints"][0]["url"] == "https://***@x"


def test_show_round_trips(tmp_path: Path) -> None:
    text = (
        '[model]\nname = "a\\"b\\\\c\\nd\\u007f"\n[model.aliases]\n"gpt 4" = "x"\nplain = "y"\n[server]\ndrain = 1e3\n'
    )
    ran = tacid(
        "config",
        "show",
        env=with_file(tmp_path, text.replace("[model]", '[engine]\nbinary = "/é/😀/\\u001b[31m"\n[model]')),
    )
    assert "\x1b" not in ran.out
    shown = tomllib.loads(ran.out)
    assert shown["engine"]["binary"] == "/é/😀/\x1b[31m"
    config = Config.model_validate(shown)
    assert config.model.name == 'a"b\\c\nd\x7f'
    assert config.model.aliases == {"gpt 4": "x", "plain": "y"}
    assert config.server.drain == 1000


def test_check_says_that_all_is_well(tmp_path: Path) -> None:
    ran = tacid("config", "check", env=environment(tmp_path / "home"))
    assert (ran.code, ran.err) == (0, "")
    assert "is in order" in ran.out
    example = tacid("config", "check", str(ROOT / "config.example.toml"), env=environment(tmp_path / "home"))
    assert example.code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[server]\nprt = 1", "server.prt: there is no such setting; did you mean server.port?"),
        ("[server]\nport = 0", "server.port: "),
        ("[server", "is not TOML"),
        ('[server]\nhost = "0.0.0.0"', "listen on 0.0.0.0 without keys"),
    ],
)
def test_check_names_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "other.toml"
    file.write_text(text)
    ran = tacid("config", "check", str(file), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert words in ran.complaint()
    assert ran.out == ""


def test_check_of_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ran = tacid("config", "check", str(tmp_path / "pipe"), env=environment(tmp_path / "home"), timeout=30)
    assert ran.code == 1
    assert "no regular file" in ran.complaint()


def test_schema_is_a_json_schema_that_takes_the_example(tmp_path: Path) -> None:
    ran = tacid("config", "schema", env=environment(tmp_path / "home"))
    schema = json.loads(ran.out)
    validator = jsonschema_rs.Draft202012Validator(schema)
    text = (ROOT / "config.example.toml").read_text(encoding="utf-8")
    everything = tomllib.loads(
        "\n".join(line.lstrip("#") if line[1:2] not in ("", " ") else line for line in text.split("\n"))
    )
    assert everything["server"]["port"] == 8017
    assert validator.is_valid(everything)
    assert not validator.is_valid({"server": {"prt": 1}})
    assert not validator.is_valid({"server": {"port": 0}})
    assert str(tmp_path) not in ran.out
