"""Bad input: one sentence that names the thing and the remedy, no traceback, the exit code for scripts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import command, environment, tacid


def _tool(name: str, parameters: Any = None) -> dict[str, Any]:
    return {"name": name, "description": "d", "parameters": parameters or {"type": "object", "properties": {}}}


def _deep(levels: int) -> str:
    return '{"type":"object","properties":{"x":' * levels + '{"type":"string"}' + "}}" * levels


FILES: dict[str, tuple[str, str]] = {
    "not JSON": ("{tools: }", "is not JSON"),
    "JSON of another shape": ('{"weather": 1}', '"tools"'),
    "a number": ("7", "no list of tools"),
    "an entry that is no tool": ('[{"description": "d"}]', 'tool 0 has no "name"'),
    "10,000 tools": (json.dumps([_tool(f"t{i}") for i in range(10_000)]), "10,000 tools; the limit is"),
    "a schema 1,000 deep": (f'[{{"name":"deep","parameters":{_deep(1000)}}}]', "deep; the limit is"),
    "a name twice": (
        json.dumps([_tool("twin"), _tool("other"), _tool("twin")]),
        'Tools 0 and 2 are both called "twin"',
    ),
    "a 50 MB file": (" " * 50_000_000 + "[]", "50,000,002 bytes; the limit is"),
    "another encoding": ("\x00", "is not"),
}


@pytest.mark.parametrize("command", ["ask", "grammar"])
@pytest.mark.parametrize("name", FILES)
def test_a_bad_catalogue_is_one_sentence(command: str, name: str, tmp_path: Path) -> None:
    text, said = FILES[name]
    file = tmp_path / "tools.json"
    file.write_text(text, encoding="utf-8")
    arguments = ("ask", "hello", "--tools", str(file)) if command == "ask" else ("grammar", str(file))
    ran = tacid(*arguments, env=environment(tmp_path / "home"))
    assert ran.code == 1
    complaint = ran.complaint()
    assert said in complaint
    assert str(file) in complaint or "twin" in complaint
    assert ran.err.count("\n") <= 2, ran.err


def test_a_missing_catalogue_is_named(tmp_path: Path) -> None:
    ran = tacid("grammar", str(tmp_path / "none.json"), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert f"{tmp_path / 'none.json'} does not exist" in ran.complaint()


@pytest.mark.parametrize("command", ["catalogue", "services", "config"])
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "tools.json").write_text("[]", encoding="utf-8")
    env = environment(tmp_path / "home")
    arguments = [str(tmp_path / ("pipe" if command == "catalogue" else "tools.json"))]
    if command == "services":
        arguments += ["--services", str(tmp_path / "pipe")]
    if command == "config":
        env["TACID_CONFIG"], arguments = str(tmp_path / "pipe"), ["--check", *arguments]
    ran = tacid("grammar", *arguments, env=env)
    assert ran.code == 1
    assert f"{tmp_path / 'pipe'}" in ran.complaint()
    assert "no regular file" in ran.complaint()


@pytest.mark.parametrize("command", [("ask", "hi", "--model"), ("model", "verify")])
def test_a_pipe_is_no_model(command: tuple[str, ...], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    ran = tacid(*command, str(tmp_path / "pipe.gguf"), env=environment(tmp_path / "home"), timeout=60)
    assert ran.code == 1
    assert "no regular file" in ran.complaint()


def test_a_tool_that_is_called_like_one_of_the_machine_is_named_with_its_file(tmp_path: Path) -> None:
    file, services = tmp_path / "tools.json", tmp_path / "services.json"
    file.write_text(json.dumps([_tool("facts_get")]), encoding="utf-8")
    services.write_text('["nginx"]', encoding="utf-8")
    for arguments in (("ask", "hi", "--tools", str(file)), ("grammar", str(file), "--services", str(services))):
        ran = tacid(*arguments, env=environment(tmp_path / "home"))
        assert ran.code == 1
        assert f'{file} has a tool "facts_get"' in ran.complaint()


@pytest.mark.engine
@pytest.mark.model
def test_standard_input_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    env = environment(tmp_path / "home", PYTHONIOENCODING="utf-8:strict")
    done = subprocess.run(command("ask", "-"), input=b"hi \xff", capture_output=True, env=env)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == (
        "tacid: Standard input is not UTF-8 text (byte 3); give it as UTF-8."
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_output_of_any_encoding_takes_any_name(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(r'[{"name":"\u65e5\u672c \ud800 \ud83d\ude00","parameters":{"type":"object"}}]', encoding="utf-8")
    env = environment(tmp_path / "home", PYTHONIOENCODING=encoding)
    for more in ((), ("--report",)):
        ran = tacid("grammar", str(file), *more, env=env)
        assert ran.code == 0, ran.err


@pytest.mark.engine
@pytest.mark.model
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_reply_with_half_a_character_is_json(encoding: str, tmp_path: Path, random_model: Path) -> None:
    file = tmp_path / "tools.json"
    # Left out, with its reason: half a surrogate pair comes back in the report.
    file.write_text(r'[{"name":"\ud800 \u65e5","parameters":{"type":"object","not":{}}}]', encoding="utf-8")
    arguments = ("ask", "hi", "--model", str(random_model), "--tools", str(file), "--json", "--max-tokens", "3")
    ran = tacid(*arguments, env=environment(tmp_path / "home", PYTHONIOENCODING=encoding))
    assert "Traceback" not in ran.err, ran.err
    assert [left["tool"] for left in json.loads(ran.out)["left_out"]] == ["\ud800 \u65e5"]


def test_a_directory_as_a_catalogue_is_named(tmp_path: Path) -> None:
    ran = tacid("grammar", str(tmp_path), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert "can't be read" in ran.complaint()


def test_a_schema_that_refers_to_itself_only_leaves_the_tool_out_and_the_others_in(tmp_path: Path) -> None:
    loop = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}
    loop["$defs"] = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([_tool("loop", loop), _tool("fine")]), encoding="utf-8")
    ran = tacid("grammar", str(file), "--report", env=environment(tmp_path / "home"))
    assert ran.code == 0, ran.err
    assert "loop" in ran.out + ran.err
    grammar = tacid("grammar", str(file), env=environment(tmp_path / "home"))
    assert "fine" in grammar.out


BROKEN_LISTS = {
    "not JSON": ("[", "is not JSON"),
    "another shape": ("7", ""),
    "a name with a newline": ('["ngi\\nnx"]', "0"),
    "another version": ('{"version": 99, "services": []}', "99"),
}


@pytest.mark.parametrize("name", BROKEN_LISTS)
def test_a_broken_list_of_services_is_an_error_and_never_an_empty_list(name: str, tmp_path: Path) -> None:
    text, said = BROKEN_LISTS[name]
    tools, services = tmp_path / "tools.json", tmp_path / "services.json"
    tools.write_text(json.dumps([_tool("fine")]), encoding="utf-8")
    services.write_text(text, encoding="utf-8")
    ran = tacid("grammar", str(tools), "--services", str(services), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert str(services) in ran.complaint()
    assert said in ran.complaint()
    assert ran.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ask",), "TEXT"),
        (("ask", ""), "TEXT"),
        (("ask", "hi", "--temperature", "9"), "temperature"),
        (("ask", "hi", "--seed", "x"), "seed"),
        (("ask", "hi", "--max-tokens", "0"), "max-tokens"),
        (("grammar",), "FILE"),
        (("nonsense",), "nonsense"),
        (("model", "nonsense"), "nonsense"),
    ],
)
def test_wrong_usage_is_2(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = tacid(*arguments, env=environment(tmp_path / "home"))
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_an_unknown_model_is_named_with_what_there_is(tmp_path: Path) -> None:
    ran = tacid("ask", "hello", "--model", "nonesuch", env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert "nonesuch" in ran.complaint()
    assert "smollm2-135m-instruct" in ran.complaint()


def test_a_model_that_is_not_fetched_yet_says_how_to_fetch_it(tmp_path: Path) -> None:
    ran = tacid("ask", "hello", env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert "tacid model pull smollm2-135m-instruct" in ran.complaint()


@pytest.mark.parametrize("content", [b"", b"junk, no model", b"GGUF"])
def test_a_file_that_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    ran = tacid("ask", "hello", "--model", str(file), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert str(file) in ran.complaint()


@pytest.mark.model
def test_a_model_that_is_cut_short_is_refused(tmp_path: Path, smollm2: Path) -> None:
    file = tmp_path / "short.gguf"
    data = smollm2.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    ran = tacid("ask", "hello", "--model", str(file), env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert str(file) in ran.complaint()
    assert "cut short" in ran.complaint() or "shorter" in ran.complaint()


def test_an_engine_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = tacid("ask", "hello", "--engine", "http://127.0.0.1:9", env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert "127.0.0.1:9" in ran.complaint()


def test_a_configured_binary_that_is_not_there_is_named(tmp_path: Path, random_model: Path) -> None:
    home = tmp_path / "home"
    env = environment(home)
    with (home / "config.toml").open("a", encoding="utf-8") as config:
        config.write('[engine]\nbinary = "/nowhere/llama-server"\n')
    ran = tacid("ask", "hello", "--model", str(random_model), env=env)
    assert ran.code == 1
    assert "/nowhere/llama-server" in ran.complaint()


def test_an_unknown_key_of_the_configuration_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home)
    with (home / "config.toml").open("a", encoding="utf-8") as config:
        config.write("[engine]\nthread = 2\n")
    ran = tacid("ask", "hello", env=env)
    assert ran.code == 1
    assert "engine.thread" in ran.complaint()


def test_extra_arguments_that_would_undo_ours_are_refused_by_name(tmp_path: Path, random_model: Path) -> None:
    home = tmp_path / "home"
    env = environment(home)
    with (home / "config.toml").open("a", encoding="utf-8") as config:
        config.write('[engine]\nextra_args = ["--host", "0.0.0.0"]\n')
    ran = tacid("ask", "hello", "--model", str(random_model), env=env)
    assert ran.code == 1
    assert "--host" in ran.complaint()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://xn--",
        "http://a\nb",
        "http://user:secret@127.0.0.1:1",
    ],
)
def test_an_address_that_is_none_is_one_sentence(url: str, tmp_path: Path) -> None:
    ran = tacid("ask", "hello", "--engine", url, env=environment(tmp_path / "home"))
    assert ran.code == 1
    assert "engine.url" in ran.complaint() or "Nothing answers" in ran.complaint()
    assert "secret" not in ran.err


def test_markup_in_a_name_is_text_in_the_report(tmp_path: Path) -> None:
    names = ["a[/]b", "[link=http://evil]safe[/link]"]
    schema = {"type": "object", "properties": {"x[/red]": {"type": "string", "pattern": "a"}}}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([_tool(name, schema) for name in names]), encoding="utf-8")
    ran = tacid(
        "grammar", str(file), "--report", env={**environment(tmp_path / "home"), "FORCE_COLOR": "1", "COLUMNS": "200"}
    )
    assert ran.code == 0, ran.err
    assert all(name in ran.out for name in names)
    assert "\x1b]8" not in ran.out


def test_a_choice_that_is_not_offered_is_said_before_an_engine_is_started(tmp_path: Path) -> None:
    ran = tacid(
        "ask", "hello", "--choice", "nosuch", "--engine", "http://127.0.0.1:1", env=environment(tmp_path / "home")
    )
    assert ran.code == 1
    assert "nosuch" in ran.complaint()


def test_a_full_device_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([_tool("fine")]), encoding="utf-8")
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            command("grammar", str(file)),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path / "home"),
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
