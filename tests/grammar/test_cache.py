"""Grammars are kept by their catalogue and by what it says."""

from __future__ import annotations

import copy

from tacid.catalogue import AUTO, Catalogue, Choice, Tool
from tacid.grammar import compile_catalogue, compiled_catalogue
from tacid.grammar.cache import Cache, Settings
from tacid.grammar.content import content_key
from tacid.grammar.fit import MAX_BYTES, MAX_SECONDS

PLAIN = Settings(AUTO, False, 1, frozenset(), None, MAX_SECONDS, MAX_BYTES)


def catalogue(kind: str = "string", name: str = "look") -> Catalogue:
    return Catalogue((Tool(name, "", {"type": "object", "properties": {"what": {"type": kind}}}),))


def test_the_same_catalogue_and_one_that_says_the_same_have_one_grammar() -> None:
    tools = catalogue()
    grammar = compile_catalogue(tools)
    assert compile_catalogue(tools) is grammar
    assert compile_catalogue(copy.deepcopy(tools)) is grammar
    assert compiled_catalogue(catalogue()) is grammar


def test_other_tools_names_and_settings_have_grammars_of_their_own() -> None:
    tools = catalogue()
    grammars = [
        compile_catalogue(tools),
        compile_catalogue(catalogue("integer")),
        compile_catalogue(catalogue(name="find")),
        compile_catalogue(tools, choice=Choice("required")),
        compile_catalogue(tools, open_objects=True),
        compile_catalogue(tools, max_calls=3),
        compile_catalogue(tools, answer={"type": "integer"}),
        compile_catalogue(tools, answer={"type": "boolean"}),
    ]
    assert len({grammar.text for grammar in grammars}) == len(grammars)
    assert compile_catalogue(tools).text == grammars[0].text


def test_other_bounds_have_grammars_of_their_own() -> None:
    tools = catalogue()
    bounded = [
        compile_catalogue(tools),
        compile_catalogue(tools, max_bytes=50_000),
        compile_catalogue(tools, max_seconds=9),
    ]
    assert len({id(grammar) for grammar in bounded}) == 3


def test_a_catalogue_in_the_place_of_one_that_is_gone_is_another() -> None:
    cache = Cache(8)
    grammars = {}
    for number in range(50):
        # Catalogues that nothing holds any more are mostly made at the same address.
        tools = catalogue(name=f"tool{number}")
        assert cache.get(tools, PLAIN) is None
        grammars[number] = compile_catalogue(tools)
        cache.put(tools, PLAIN, grammars[number])
        assert cache.get(tools, PLAIN) is grammars[number]
        del tools


def test_only_so_many_are_kept() -> None:
    cache = Cache(2)
    several = [catalogue(name=f"tool{number}") for number in range(3)]
    for tools in several:
        cache.put(tools, PLAIN, compile_catalogue(tools))
    assert [cache.get(tools, PLAIN) is not None for tools in several] == [False, True, True]


def test_content_is_told_apart_by_kind_and_not_by_whose_it_is() -> None:
    assert content_key({"a": [1, "x"]}) == content_key(copy.deepcopy({"a": [1, "x"]}))
    text = "".join(["ab", "c"])
    assert content_key([text, text]) == content_key(["abc", "".join(["a", "bc"])])
    assert len({content_key(value) for value in (1, 1.0, True, "1", [1], None)}) == 6
    assert content_key(object()) is None


def test_what_has_no_key_is_compiled_each_time() -> None:
    deep: dict[str, object] = {}
    for _ in range(3000):
        deep = {"not": deep}
    tools = Catalogue((Tool("deep", "", {"type": "object", "default": deep}),))
    assert compile_catalogue(tools).text == compile_catalogue(tools).text
    assert compiled_catalogue(tools) is None
