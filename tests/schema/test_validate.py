"""Arguments against their schema: fetching nothing, naming the field, saying it shortly."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tacid.catalogue import Catalogue, Tool, read_tools
from tacid.schema.validate import MAX_MESSAGE, MAX_PROBLEMS, Validators, compile_validator, pointer_of

CASES = Path(__file__).parent.parent / "cases"


def problems(schema: dict[str, Any], arguments: Any) -> list[tuple[str, str]]:
    validators = Validators(Catalogue((Tool("t", "", schema),)))
    found = validators.problems("t", arguments)
    assert validators.unchecked == {}
    return [(problem.pointer, problem.message) for problem in found]


def unchecked(schema: dict[str, Any], arguments: Any = None) -> str:
    validators = Validators(Catalogue((Tool("t", "", schema),)))
    assert validators.problems("t", arguments or {}) == ()
    return validators.unchecked["t"]


def test_good_arguments_have_no_problems() -> None:
    assert problems({"properties": {"q": {"type": "string"}}, "required": ["q"]}, {"q": "x"}) == []


@pytest.mark.parametrize(
    ("schema", "arguments", "pointer", "words"),
    [
        ({"required": ["q"]}, {}, "", 'lacks "q"'),
        ({"properties": {"n": {"type": "integer"}}}, {"n": "x"}, "/n", 'is "x" and must be of type integer'),
        ({"properties": {"n": {"type": ["string", "null"]}}}, {"n": []}, "/n", "a list"),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [4, 1]}, "/a/1", "below the minimum 3"),
        ({"properties": {"a/b~c": {"const": 1}}}, {"a/b~c": 2}, "/a~1b~0c", "is 2 and must be 1"),
        ({"properties": {}, "additionalProperties": False}, {"x": 1}, "", 'nobody declared: "x"'),
        ({"properties": {"s": {"pattern": "^a$"}}}, {"s": "b"}, "/s", 'the pattern "^a$"'),
        ({"properties": {"s": {"maxLength": 2}}}, {"s": "bbb"}, "/s", "more than 2 characters"),
        ({"properties": {"s": {"not": {}}}}, {"s": 1}, "/s", "excludes"),
        ({"properties": {"s": False}}, {"s": 1}, "/s", "must not be given"),
        ({"properties": {"s": {"multipleOf": 3}}}, {"s": 4}, "/s", "no multiple of 3"),
        ({"properties": {"s": {"uniqueItems": True}}}, {"s": [1, 1]}, "/s", "twice"),
        ({"properties": {"s": {"contains": {"type": "null"}}}}, {"s": [1]}, "/s", "lacks an item"),
        ({"unevaluatedProperties": False}, {"x": 1}, "", 'nobody declared: "x"'),
        ({"properties": {"s": {"enum": ["a", "b"]}}}, {"s": "c"}, "/s", 'is "c", which is none of "a", "b"'),
    ],
)
def test_a_problem_names_its_field(schema: dict[str, Any], arguments: Any, pointer: str, words: str) -> None:
    [(where, message)] = problems(schema, arguments)
    assert where == pointer
    assert words in message


def test_a_huge_enum_is_not_printed_whole() -> None:
    names = [f"service-{n}" for n in range(5000)]
    [(pointer, message)] = problems({"properties": {"s": {"enum": names}}}, {"s": "x" * 10_000})
    assert pointer == "/s"
    assert "and 4,988 more" in message
    assert len(message) < 1000


def test_messages_and_their_number_are_bounded() -> None:
    names = [f"n{i}" * 50 for i in range(100)]
    found = problems({"properties": {n: {"type": "null"} for n in names}}, dict.fromkeys(names, "y" * 9999))
    assert len(found) == MAX_PROBLEMS
    assert all(len(message) <= MAX_MESSAGE for _, message in found)


def test_a_control_character_in_a_value_is_told_as_an_escape() -> None:
    [(_, message)] = problems({"properties": {"s": {"enum": ["a"]}}}, {"s": "\x1b[2J<|im_end|>"})
    assert "\x1b" not in message
    assert "<" not in message


def test_a_tagged_union_names_the_field_of_the_branch_that_was_meant() -> None:
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{n}"}, "name": {"enum": ["nginx"]}},
            "required": ["kind", "name"],
            "additionalProperties": False,
        }
        for n in range(12)
    ]
    schema = {"properties": {"changes": {"items": {"$ref": "#/$defs/C"}}}, "$defs": {"C": {"oneOf": branches}}}
    [(pointer, message)] = problems(schema, {"changes": [{"kind": "k3", "name": "apache"}]})
    assert pointer == "/changes/0/name"
    assert message == 'is "apache", which is none of "nginx"'
    [(pointer, message)] = problems(schema, {"changes": [{"kind": "other", "name": "nginx"}]})
    assert pointer in ("/changes/0", "/changes/0/kind")


def test_an_unknown_tool_is_a_problem() -> None:
    [problem] = Validators(Catalogue()).problems("nobody", {})
    assert str(problem) == 'the arguments: there is no tool "nobody"'


def test_formats_are_not_asserted() -> None:
    assert problems({"properties": {"d": {"type": "string", "format": "date"}}}, {"d": "tomorrow"}) == []


def test_the_draft_is_what_schema_says_and_else_2020_12() -> None:
    tuple_items = {"properties": {"a": {"items": [{"type": "integer"}]}}}
    [(pointer, _)] = problems({"$schema": "http://json-schema.org/draft-07/schema#", **tuple_items}, {"a": ["x"]})
    assert pointer == "/a/0"
    assert problems({"properties": {"a": {"prefixItems": [{"type": "integer"}]}}}, {"a": ["x"]})


def test_a_file_reference_is_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"enum": ["hidden-word"]}', encoding="utf-8")
    reason = unchecked({"properties": {"s": {"$ref": secret.as_uri()}}}, {"s": "x"})
    assert "nothing is fetched" in reason
    assert "hidden-word" not in reason


def test_an_http_reference_is_never_fetched() -> None:
    hits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            base = f"http://127.0.0.1:{server.server_port}"
            for schema in (
                {"properties": {"s": {"$ref": f"{base}/a.json"}}},
                {"$schema": f"{base}/meta.json"},
                {"$id": f"{base}/root.json", "properties": {"s": {"$ref": "other.json"}}},
                {"properties": {"s": {"$dynamicRef": f"{base}/b.json#x"}}},
            ):
                assert unchecked(schema, {"s": 1})
        finally:
            server.shutdown()
            thread.join()
    assert hits == []


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"s": {"$ref": "#/$defs/no"}}},
        {"type": "objekt"},
        {"properties": {"s": {"pattern": "("}}},
        {"$schema": "http://example.invalid/own"},
        {"properties": {"s": {"enum": ["\ud800"]}}},
    ],
)
def test_a_schema_that_can_not_be_compiled_leaves_the_call_unchecked(schema: dict[str, Any]) -> None:
    reason = unchecked(schema)
    assert 0 < len(reason) <= MAX_MESSAGE
    assert "\n" not in reason


def test_one_schema_that_can_not_be_compiled_harms_no_other_tool() -> None:
    validators = Validators(Catalogue((Tool("bad", "", {"type": "objekt"}), Tool("good", "", {"required": ["q"]}))))
    assert validators.problems("bad", {}) == ()
    assert validators.problems("good", {}) != ()
    assert list(validators.unchecked) == ["bad"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}},
    ],
)
def test_a_schema_that_only_refers_to_itself_ends(schema: dict[str, Any]) -> None:
    validators = Validators(Catalogue((Tool("t", "", schema),)))
    validators.problems("t", {"x": {}})


def test_schemas_and_arguments_of_any_depth_end() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1000):
        schema = {"type": "object", "properties": {"x": schema}}
    assert "ecursion" in unchecked(schema)
    arguments: Any = 1
    for _ in range(5000):
        arguments = {"x": arguments}
    [(_, message)] = problems({"additionalProperties": {"$ref": "#"}}, arguments)
    assert "deeper than 200" in message


def test_a_pattern_that_explodes_ends() -> None:
    schema = {"properties": {"s": {"type": "string", "pattern": "^(a+)+(?=b)$"}}}
    problems(schema, {"s": "a" * 200 + "c"})


def test_lone_surrogates_in_arguments_are_checked() -> None:
    schema = {"properties": {"s": {"type": "string"}}, "additionalProperties": False}
    assert problems(schema, {"s": "\ud800"}) == []
    assert [pointer for pointer, _ in problems(schema, {"\ud800": 1})] == [""]


def test_the_schema_is_not_changed() -> None:
    schema = {"properties": {"s": {"enum": ["a"]}}}
    before = json.dumps(schema)
    problems(schema, {"s": "a"})
    assert json.dumps(schema) == before


def test_pointers_escape_as_rfc_6901_says() -> None:
    assert pointer_of([]) == ""
    assert pointer_of(["a/b", 0, "~", ""]) == "/a~1b/0/~0/"


def test_every_case_with_a_schema_is_judged_as_json_schema_does() -> None:
    judged = 0
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        schema, expect = case["input"].get("schema"), case["expect"]
        if schema is None or "$generate" in schema or expect.get("selfcheck") is False:
            continue
        try:
            validator = compile_validator(schema)
        except ValueError:
            assert expect["outcome"] != "compiles", path.name
            continue
        for key, valid in (("accept", True), ("refuse", False), ("stretch", False), ("late", False)):
            for instance in expect.get(key, []):
                judged += 1
                assert validator.is_valid(instance) is valid, (path.name, key, instance)
    assert judged > 150


def test_every_call_of_the_cases_is_judged_as_json_schema_does() -> None:
    judged = 0
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        expect = case["expect"]
        if (
            not isinstance(case["input"].get("tools"), list)
            or "calls_accept" not in expect
            or "narrow" in case["input"]
        ):
            continue
        validators = Validators(read_tools(case["input"]["tools"]))
        for key, valid in (
            ("calls_accept", True),
            ("calls_refuse", False),
            ("calls_stretch", False),
            ("calls_late", False),
        ):
            for call in expect.get(key, []):
                judged += 1
                found = validators.problems(call["name"], call["arguments"])
                assert (not found) is valid, (path.name, key, call, validators.unchecked)
    assert judged > 50
