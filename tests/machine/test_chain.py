"""The chain: from the file on disk to the enum in the schema to the only alternatives that the grammar has."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tacid.catalogue import Catalogue, load_catalogue
from tacid.config import MachineConfig
from tacid.grammar.compile import compile_catalogue
from tacid.grammar.walk import Walk
from tacid.jsontext import dumps
from tacid.machine.facts import facts
from tacid.machine.protocol import PROPOSE_CHANGES, SERVICE_KINDS, protocol_problems, protocol_tools
from tacid.machine.services import service_narrowings, services_for
from tacid.schema.narrow import narrow
from tacid.schema.validate import Validators

EXAMPLES = Path(__file__).parents[2] / "examples"
ODD = ["getty@tty1", "dev-disk-by\\x2dlabel-a.device", 'a"b', "x y", "-", "café", "nginx", "nginx-extra", "<b>"]


def offered(path: Path, state_dir: Path) -> Catalogue:
    state = services_for(MachineConfig(services=path, state_dir=state_dir))
    catalogue = load_catalogue(EXAMPLES / "tools.json") + protocol_tools(propose=state.offered)
    return narrow(catalogue, service_narrowings(state.list))


def call(kind: str, name: Any) -> dict[str, Any]:
    return {"changes": [{"kind": kind, "name": name}]}


def admits(walk: Walk, text: str) -> bool:
    walk = walk.copy()
    return walk.feed(text) and walk.complete


@pytest.mark.parametrize("names", [["nginx", "sshd", "postgresql"], ODD], ids=["plain", "odd"])
def test_what_the_file_lists_is_all_that_can_be_said(names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    path.write_text(json.dumps({"version": 1, "services": names}), encoding="utf-8")
    catalogue = offered(path, tmp_path / "state")
    validators = Validators(catalogue)
    grammar = compile_catalogue(catalogue)
    start = Walk(grammar.rules)
    assert not [widening for widening in grammar.report.widenings if "name" in widening.pointer.split("/")]
    assert not grammar.report.left_out
    others = [*(name[:-1] for name in names), *(f"{name}2" for name in names), "apache", "", " nginx", "NGINX", "ssh"]
    for kind in SERVICE_KINDS:
        for name in names:
            arguments = call(kind, name)
            assert validators.problems(PROPOSE_CHANGES, arguments) == ()
            assert protocol_problems(PROPOSE_CHANGES, arguments) == ()
            assert admits(start, f'{{"tool":"propose_changes","arguments":{dumps(arguments)}}}'), name
        for name in set(others) - set(names):
            arguments = call(kind, name)
            assert validators.problems(PROPOSE_CHANGES, arguments)
            assert not admits(start, f'{{"tool":"propose_changes","arguments":{dumps(arguments)}}}'), name
        for bad in (None, 1, ["nginx"], {"name": "nginx"}):
            assert not admits(start, f'{{"tool":"propose_changes","arguments":{dumps(call(kind, bad))}}}')
    for kind in ("package_add", "user_add"):
        assert admits(start, f'{{"tool":"propose_changes","arguments":{dumps(call(kind, "anything"))}}}')


def test_the_list_changes_between_two_turns(tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    said = '{"tool":"propose_changes","arguments":{"changes":[{"kind":"service_enable","name":"%s"}]}}'
    for names, refused in ((["nginx"], "sshd"), (["sshd"], "nginx"), (["sshd", "nginx2"], "nginx")):
        path.write_text(json.dumps(names), encoding="utf-8")
        start = Walk(compile_catalogue(offered(path, tmp_path / "state")).rules)
        for name in names:
            assert admits(start, said % name)
        assert not admits(start, said % refused)


def test_a_list_that_broke_leaves_the_last_good_one_in_force(tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    path.write_text('["nginx"]', encoding="utf-8")
    before = compile_catalogue(offered(path, tmp_path / "state"))
    path.write_text("[]junk", encoding="utf-8")
    assert compile_catalogue(offered(path, tmp_path / "state")).text == before.text


def test_without_any_list_that_worked_nothing_can_be_proposed(tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    path.write_text("[]junk", encoding="utf-8")
    catalogue = offered(path, tmp_path / "state")
    assert PROPOSE_CHANGES not in catalogue
    walk = Walk(compile_catalogue(catalogue).rules)
    assert not walk.feed('{"tool":"propose_changes"')


def test_the_example_machine_reaches_prompt_schema_and_grammar_alike(tmp_path: Path) -> None:
    state = services_for(MachineConfig(services=EXAMPLES / "services.json", state_dir=tmp_path))
    assert state.list is not None
    catalogue = offered(EXAMPLES / "services.json", tmp_path)
    lines = facts(state.list)
    assert [line.removeprefix("- ").partition(":")[0] for line in lines[1:]] == list(state.list.names)
    enums = {
        tuple(definition["properties"]["name"]["enum"])
        for definition in catalogue[PROPOSE_CHANGES].parameters["$defs"].values()
        if "enum" in definition.get("properties", {}).get("name", {})
    }
    assert enums == {state.list.names}
    assert compile_catalogue(catalogue).text == compile_catalogue(offered(EXAMPLES / "services.json", tmp_path)).text


@pytest.mark.parametrize("count", [1000, 20_000])
def test_a_long_list_is_never_cut_nor_widened(count: int, tmp_path: Path) -> None:
    names = [f"{hashlib.sha256(str(n).encode()).hexdigest()[:12]}-{n}" for n in range(count)]
    path = tmp_path / "services.json"
    path.write_text(json.dumps(names), encoding="utf-8")
    catalogue = offered(path, tmp_path / "state")
    grammar = compile_catalogue(catalogue)
    assert not grammar.report.left_out
    start = Walk(grammar.rules, through_gates=True)
    validators = Validators(catalogue)
    said = '{"tool":"propose_changes","arguments":{"changes":[{"kind":"service_restart","name":"%s"}]}}'
    for name in (names[0], names[-1], names[count // 2]):
        assert admits(start, said % name), name
    for name in (names[0][:-1], names[-1] + "0", "nginx"):
        assert not admits(start, said % name), name
    [problem] = validators.problems(PROPOSE_CHANGES, call("service_restart", "nginx"))
    assert problem.pointer == "/changes/0/name"
    assert len(problem.message) < 600
