"""``llm`` from PyPI: a model of ``extra-openai-models.yaml``, in Python and on the command line.

It has no choice of tools: that a tool must be called, or which one, can't be said in it. So there are several questions,
and at one of them the model calls; a single tool stands for a named one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llm
import openai
import pytest
import yaml
from click.testing import CliRunner
from llm.cli import cli

from tests.clients.common import ANSWER, ASKING, CITY, KEY, LIGHT, MODEL, NOBODY, RESULT, WEATHER, WORDS, judged
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

#: By name: server, model and kind.
MODELS = {
    "smol": ("served", MODEL, {}),
    "smol-responses": ("served", MODEL, {"responses": True}),
    "quick": ("quick", MODEL, {}),
    "quick-responses": ("quick", MODEL, {"responses": True}),
    "nobody": ("quick", NOBODY, {}),
    "locked": ("locked", MODEL, {"api_key_name": "tacid"}),
}


@pytest.fixture(scope="module", autouse=True)
def models(served: Served, quick: Served, locked: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of its settings, with our models."""
    home = tmp_path_factory.mktemp("llm")
    servers = {"served": served, "quick": quick, "locked": locked}
    entries = [
        {
            "model_id": name, "model_name": model, "api_base": f"{servers[server].url}/v1", "supports_tools": True,
            "supports_schema": True, **more,
        }
        for name, (server, model, more) in MODELS.items()
    ]  # fmt: skip
    (home / "extra-openai-models.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_USER_PATH", str(home))
        yield home


def tools(ran: list[tuple[str, dict[str, Any]]]) -> list[llm.Tool]:
    def tool(name: str, schema: dict[str, Any], result: str) -> llm.Tool:
        def implementation(**arguments: Any) -> str:
            ran.append((name, arguments))
            return result

        return llm.Tool(name=name, description=WORDS[name], input_schema=schema, implementation=implementation)

    return [tool("weather", WEATHER, RESULT), tool("light_set", LIGHT, "Done.")]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ["smol", "smol-responses"])
def test_a_call_its_result_and_an_answer(name: str, streamed: bool) -> None:
    model = llm.get_model(name)
    ran: list[tuple[str, dict[str, Any]]] = []
    for question in ASKING:
        conversation = model.conversation(tools=tools(ran))
        first = conversation.prompt(question, stream=streamed, temperature=0, max_tokens=ANSWER)
        first.text()
        if first.tool_calls():
            break
    results = first.execute_tool_calls()
    judged(*ran[0])
    conversation.tools = []
    answered = conversation.prompt(
        "", tool_results=results, tools=[], stream=streamed, temperature=0, max_tokens=ANSWER
    )
    assert "".join(answered)


@pytest.mark.parametrize("name", ["quick", "quick-responses"])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_schema_holds_the_answer(name: str, streamed: bool) -> None:
    text = llm.get_model(name).prompt("Hello", schema=CITY, stream=streamed).text()
    assert set(json.loads(text)) == {"name", "cold"}


def test_the_command_line() -> None:
    done = CliRunner().invoke(cli, ["-m", "quick", "Hello", "--schema", json.dumps(CITY), "--no-log"])
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)) == {"name", "cold"}
    unknown = CliRunner().invoke(cli, ["-m", "nobody", "Hello", "--no-log"])
    assert unknown.exit_code == 1
    assert NOBODY in unknown.output


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(models: Path, streamed: bool) -> None:
    """In Python it hands on those of the SDK below it."""

    def ask(name: str, **options: Any) -> None:
        llm.get_model(name).prompt("Hello", stream=streamed, **{"max_tokens": 4, **options}).text()

    with pytest.raises(openai.NotFoundError, match=NOBODY):
        ask("nobody")
    with pytest.raises(openai.BadRequestError, match="max_tokens"):
        ask("quick", max_tokens=10**9)
    with pytest.raises(openai.AuthenticationError, match="key"):
        ask("locked", key="wrong-key-0123456789")
    ask("locked", key=KEY)
