"""`tacid ask` and `tacid grammar` as people and scripts use them, on the real engine."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tacid.engine.process import Engine
from tests.cli.run import environment, tacid
from tests.serving import joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]

EXAMPLES = Path(__file__).parents[2] / "examples"
MACHINE = ("--tools", str(EXAMPLES / "tools.json"), "--services", str(EXAMPLES / "services.json"))


@pytest.fixture
def env(tmp_path: Path, smollm2: Path) -> dict[str, str]:
    return environment(tmp_path / "home", models=smollm2.parent)


def test_json_gives_the_call_and_what_it_cost(env: dict[str, str]) -> None:
    ran = tacid("ask", "Turn on nginx, please", *MACHINE, "--json", "--temperature", "0", env=env)
    assert ran.code == 0, ran.err
    reply = json.loads(ran.out)
    assert reply["tool"] == "propose_changes"
    assert reply["arguments"] == {"changes": [{"kind": "service_enable", "name": "nginx"}]}
    assert reply["usage"]["prompt_tokens"] > reply["usage"]["completion_tokens"] > reply["forced_tokens"] > 0
    assert reply["timings"]["seconds"] > 0
    assert reply["model"] == "smollm2-135m-instruct"
    assert {"widenings", "engine", "retries"} <= set(reply)


def test_words_show_the_call_and_one_line_of_cost(env: dict[str, str]) -> None:
    ran = tacid("ask", "-", *MACHINE, "--choice", "propose_changes", env=env, stdin="Turn on nginx, please")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "propose_changes"
    assert "tokens read" in lines[-1]
    assert "\x1b" not in ran.out


def test_an_answer_is_written_as_it_is(env: dict[str, str]) -> None:
    ran = tacid("ask", "Say hello.", "--choice", "none", "--temperature", "0", "--max-tokens", "24", env=env)
    assert ran.code == 0, ran.err
    assert ran.out.strip()


def test_a_call_that_is_cut_off_fails_with_the_remedy(env: dict[str, str]) -> None:
    ran = tacid("ask", "Turn on nginx", *MACHINE, "--choice", "required", "--max-tokens", "3", env=env)
    assert ran.code == 1
    assert "--max-tokens" in ran.complaint()


def test_a_missing_list_is_said_and_the_machine_is_not_offered(tmp_path: Path, env: dict[str, str]) -> None:
    missing = tmp_path / "none.json"
    ran = tacid("ask", "Hello", "--services", str(missing), "--choice", "none", "--max-tokens", "8", env=env)
    assert ran.code == 0, ran.err
    assert str(missing) in ran.err
    assert "propose_changes is not offered" in ran.err


def test_a_list_that_breaks_leaves_the_last_good_one_in_force(tmp_path: Path, env: dict[str, str]) -> None:
    services = tmp_path / "services.json"
    services.write_text('["only-daemon"]', encoding="utf-8")
    arguments = ("ask", "Enable it", "--services", str(services), "--choice", "propose_changes", "--json")
    arguments += ("--temperature", "2", "--max-tokens", "48")
    assert tacid(*arguments, env=env).code in (0, 1)
    services.write_text("[broken", encoding="utf-8")
    ran = tacid(*arguments, "--seed", "4", env=env)
    assert "The last list that worked is used" in ran.err
    if ran.code == 0:
        for change in json.loads(ran.out)["arguments"]["changes"]:
            assert not change["kind"].startswith("service_") or change["name"] == "only-daemon"


def test_the_engine_takes_the_grammar_of_the_example(env: dict[str, str]) -> None:
    ran = tacid("grammar", MACHINE[1], "--services", MACHINE[3], "--check", env=env)
    assert ran.code == 0, ran.err
    assert "taken by the engine" in ran.out


def test_the_report_names_tool_pointer_keyword_and_reason(tmp_path: Path, env: dict[str, str]) -> None:
    file = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    file.write_text(json.dumps([{"name": "odd", "parameters": schema}]), encoding="utf-8")
    ran = tacid("grammar", str(file), "--report", env=env)
    assert ran.code == 0, ran.err
    assert "/properties/a" in ran.out
    assert "uniqueItems" in ran.out
    assert "1 widenings" in ran.out


def with_endpoint(env: dict[str, str], url: str) -> dict[str, str]:
    file = Path(env["TACID_CONFIG"])
    section = f'\n[[endpoints]]\nname = "other"\nkind = "remote"\nurl = "{url}"\n'
    file.write_text(file.read_text(encoding="utf-8") + section, encoding="utf-8")
    return env


def test_a_configured_endpoint_is_asked(env: dict[str, str], engine: Engine) -> None:
    with serving(joined(engine)) as server:
        env = with_endpoint(env, server.url + "/v1")
        ask = ("ask", "Turn on nginx, please", *MACHINE, "--json", "--temperature", "0", "--choice", "propose_changes")
        ran = tacid(*ask, env=env)
        assert ran.code == 0, ran.err
        reply = json.loads(ran.out)
        assert (reply["tool"], reply["engine"]) == ("propose_changes", "other")
        assert len([line for line in server.log() if line.get("path") == "/v1/chat/completions"]) == 1


def test_a_configured_endpoint_that_is_not_there_is_named(env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    env = with_endpoint(env, f"http://127.0.0.1:{port}/v1")
    ran = tacid("ask", "Hello", "--choice", "none", "--max-tokens", "8", env=env)
    assert ran.code == 1
    assert "other" in ran.complaint()
    # Who names a model means that one.
    ran = tacid("ask", "Hello", "--choice", "none", "--max-tokens", "8", "--model", "smollm2-135m-instruct", env=env)
    assert ran.code == 0, ran.err
