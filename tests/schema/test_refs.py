"""References within a document: pointers with their escapes, anchors, its own identifier; nothing is ever fetched."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.schema.refs import Resolver, escape_token

DOCUMENT: dict[str, Any] = {
    "$id": "https://example.org/tool",
    "properties": {"a/b": {"const": 1}, "t~u": {"const": 2}, "%25": {"const": 3}, "": {"const": 4}},
    "anyOf": [{"const": 5}, {"items": [{"const": 6}]}],
    "$defs": {"A": {"$anchor": "here", "const": 7}, "B": True, "é": {"const": 8}, "01": {"const": 9}},
    "enum": [{"$anchor": "data"}],
}


@pytest.mark.parametrize(
    ("ref", "pointer", "const"),
    [
        ("#/properties/a~1b", "/properties/a~1b", 1),
        ("#/properties/t~0u", "/properties/t~0u", 2),
        ("#/properties/%2525", "/properties/%25", 3),
        ("#/properties/", "/properties/", 4),
        ("#/anyOf/0", "/anyOf/0", 5),
        ("#/anyOf/1/items/0", "/anyOf/1/items/0", 6),
        ("#here", "/$defs/A", 7),
        ("#/$defs/%C3%A9", "/$defs/é", 8),
        ("#/$defs/é", "/$defs/é", 8),
        ("#/$defs/01", "/$defs/01", 9),
        ("https://example.org/tool#/$defs/A", "/$defs/A", 7),
    ],
)
def test_leads_to_the_schema(ref: str, pointer: str, const: int) -> None:
    assert Resolver(DOCUMENT).resolve(ref) == (pointer, Resolver(DOCUMENT).resolve(ref)[1])  # type: ignore[index]
    found = Resolver(DOCUMENT).resolve(ref)
    assert found is not None
    assert found[0] == pointer
    assert isinstance(found[1], dict)
    assert found[1]["const"] == const


@pytest.mark.parametrize("ref", ["#", "https://example.org/tool", "https://example.org/tool#"])
def test_leads_to_the_whole_document(ref: str) -> None:
    assert Resolver(DOCUMENT).resolve(ref) == ("", DOCUMENT)


def test_leads_to_a_boolean() -> None:
    assert Resolver(DOCUMENT).resolve("#/$defs/B") == ("/$defs/B", True)


@pytest.mark.parametrize(
    "ref",
    ["", "#gone", "#data", "#/gone", "#/anyOf", "#/anyOf/2", "#/anyOf/-1", "#/anyOf/00", "#/anyOf/" + "9" * 5000, "/$defs/A",
     "other.json#/$defs/A", "https://example.org/tool2", "http://127.0.0.1/x", "file:///etc/passwd", "#/%FF", "#/$id", "#/enum/0/x"],
)  # fmt: skip
def test_leads_nowhere(ref: str) -> None:
    assert Resolver(DOCUMENT).resolve(ref) is None


def test_within_further_documents_every_reference_leads_nowhere() -> None:
    document = {"$defs": {"A": {"$id": "inner", "$defs": {"B": {}}}, "B": {}}}
    assert Resolver(document).resolve("#/$defs/B") is None


def test_an_old_identifier_that_is_a_fragment_is_an_anchor() -> None:
    document = {"definitions": {"A": {"$id": "#a"}, "B": {"id": "#b"}}, "properties": {"id": {"type": "string"}}}
    assert Resolver(document).resolve("#a") == ("/definitions/A", {"$id": "#a"})
    assert Resolver(document).resolve("#b") == ("/definitions/B", {"id": "#b"})


def test_a_property_may_be_called_like_a_keyword() -> None:
    document = {"properties": {"$id": {"type": "string"}, "enum": {"$anchor": "x"}}, "$defs": {"A": {}}}
    assert Resolver(document).resolve("#/$defs/A") == ("/$defs/A", {})
    assert Resolver(document).resolve("#x") == ("/properties/enum", {"$anchor": "x"})


@pytest.mark.parametrize(
    ("schema", "legacy"),
    [("http://json-schema.org/draft-07/schema#", True), ("http://json-schema.org/draft-04/schema", True),
     ("https://json-schema.org/draft/2019-09/schema", False), ("https://json-schema.org/draft/2020-12/schema", False), (7, False)],
)  # fmt: skip
def test_knows_in_which_drafts_nothing_stands_beside_a_reference(schema: Any, legacy: bool) -> None:
    assert Resolver({"$schema": schema}).legacy is legacy


def test_a_boolean_document_has_itself() -> None:
    assert Resolver(True).resolve("#") == ("", True)
    assert not Resolver(True).legacy


def test_a_deep_document_is_no_recursion() -> None:
    document: dict[str, Any] = {"$anchor": "bottom"}
    for _ in range(5000):
        document = {"properties": {"x": document}}
    found = Resolver(document).resolve("#bottom")
    assert found is not None
    assert found[1] == {"$anchor": "bottom"}


@pytest.mark.parametrize("key", ["a/b", "~", "~1", "plain", ""])
def test_tokens_come_back(key: str) -> None:
    document = {"properties": {key: {"const": key}}}
    assert Resolver(document).resolve("#/properties/" + escape_token(key)) == (
        "/properties/" + escape_token(key),
        {"const": key},
    )
