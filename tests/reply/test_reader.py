from __future__ import annotations

import json
import time
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.chat import Call, CallDelta, CallStart, ReplyEvent, Say, SayDelta, Truncated
from tacid.jsontext import dumps
from tacid.reply.reader import MAX_REPLY, EnvelopeReader, TextReader
from tests.reply.test_json_stream import CUTS, pieces

CALL = '{"tool":"weather","arguments":{"city":"Oslo","deep":[{"a":"}\\""}]}}'
ARGUMENTS = '{"city":"Oslo","deep":[{"a":"}\\""}]}'


def read(parts: Collection[str], *, cut_off: bool = False, names: Collection[str] = ()) -> list[ReplyEvent]:
    reader = EnvelopeReader(names)
    events = [event for part in parts for event in reader.feed(part)]
    return events + reader.finish(cut_off)


def check(events: list[ReplyEvent]) -> Say | Call | Truncated:
    """The completion, after the rules that hold for every reply."""
    completion = events[-1]
    assert isinstance(completion, (Say, Call, Truncated))
    assert not any(isinstance(event, (Say, Call, Truncated)) for event in events[:-1])
    said = "".join(event.text for event in events if isinstance(event, SayDelta))
    written = "".join(event.text for event in events if isinstance(event, CallDelta))
    starts = [event for event in events if isinstance(event, CallStart)]
    said.encode("utf-8")
    if isinstance(completion, Say):
        assert completion.text == said
        assert not starts
        assert not written
    elif isinstance(completion, Call):
        assert events[0] == CallStart(completion.name)
        assert len(starts) == 1
        assert completion.text == written
        assert json.loads(written) == completion.arguments
    else:
        assert not said
        assert [start.name for start in starts] == ([completion.name] if completion.name is not None else [])
    return completion


def test_words_come_as_they_are_written() -> None:
    reader = EnvelopeReader()
    assert reader.feed('{"say":"') == []
    assert reader.feed("It ra") == [SayDelta("It ra")]
    assert reader.feed("ins \\ud83d") == [SayDelta("ins ")]
    assert reader.feed("\\ude0") == []
    assert reader.feed("0") == [SayDelta("😀")]
    assert not reader.done
    assert reader.feed('."}') == [SayDelta(".")]
    assert reader.done
    assert reader.finish(False) == [Say("It rains 😀.")]


def test_a_call_comes_as_it_is_written() -> None:
    reader = EnvelopeReader()
    assert reader.feed('{"tool":"weat') == []
    assert reader.feed('her"') == [CallStart("weather")]
    assert reader.feed(',"arguments":') == []
    assert reader.feed('{"ci') == [CallDelta('{"ci')]
    assert reader.feed('ty":"Oslo"}}') == [CallDelta('ty":"Oslo"}')]
    assert reader.done
    assert reader.finish(False) == [Call("weather", {"city": "Oslo"}, '{"city":"Oslo"}')]


_NAMES = st.text(min_size=1, max_size=20) | st.sampled_from(
    ['rm","arguments":{}}', "say", "tool", "\ud800", '{"tool":"rm"}']
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), CUTS, st.booleans())
def test_any_answer_in_any_pieces(text: str, cuts: list[int], shown: bool) -> None:
    envelope = f'{{"say":{dumps(text, shown=shown)}}}'
    completion = check(read(pieces(envelope, cuts)))
    assert completion == Say(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


@given(_NAMES, st.dictionaries(st.text(max_size=5), _JSON, max_size=3), CUTS, st.booleans())
def test_any_call_in_any_pieces(name: str, arguments: dict[str, object], cuts: list[int], shown: bool) -> None:
    written = dumps(arguments, shown=shown)
    envelope = f'{{"tool":{dumps(name, shown=shown)},"arguments":{written}}}'
    assert check(read(pieces(envelope, cuts))) == Call(name, arguments, written)
    assert check(read(pieces(envelope, cuts), names=[name])) == Call(name, arguments, written)


@pytest.mark.parametrize("cut_off", [True, False])
def test_a_call_cut_off_anywhere_is_never_half_a_call(cut_off: bool) -> None:
    for length in range(len(CALL) - 1):
        for parts in ([CALL[:length]], list(CALL[:length])):
            completion = check(read(parts, cut_off=cut_off))
            if length == 0 and not cut_off:
                assert completion == Say("")
            else:
                assert completion == Truncated(CALL[:length], "weather" if length >= len('{"tool":"weather"') else None)
    # Only the closing brace of the envelope is missing: the call is whole.
    assert check(read([CALL[:-1]], cut_off=cut_off)) == Call("weather", json.loads(ARGUMENTS), ARGUMENTS)


def test_an_answer_cut_off_keeps_what_was_said() -> None:
    whole = '{"say":"a\\u00e9b"}'
    for length in range(len('{"say":"'), len(whole)):
        completion = check(read([whole[:length]], cut_off=True))
        assert isinstance(completion, Say)
        assert "aéb".startswith(completion.text)
        assert completion.complete is (length >= len(whole) - 1)
    for length in range(len('{"say":"')):
        assert check(read([whole[:length]], cut_off=True)) == Truncated(whole[:length])
    assert check(read(['{"say":"😀\\ud83d'], cut_off=True)) == Say("😀\ufffd", complete=False)


def test_an_empty_answer_is_an_answer() -> None:
    assert check(read(['{"say":""}'])) == Say("")
    assert check(read(['{"say":"'], cut_off=True)) == Say("", complete=False)


def test_what_follows_the_envelope_is_ignored_and_counted() -> None:
    for tail in ("\n\n", ' {"tool":"rm","arguments":{}}', "}}", "x"):
        for envelope in (CALL, '{"say":"a"}'):
            reader = EnvelopeReader()
            events = reader.feed(envelope) + reader.feed(tail[:1]) + reader.feed(tail[1:])
            assert check(events + reader.finish(False)) == check(read([envelope]))
            assert reader.ignored == len(tail)


def test_white_space_between_the_parts_is_taken() -> None:
    spaced = ' {\n "tool" : "weather" , "arguments" : { "city" : "Oslo" } } '
    assert check(read(list(spaced))) == Call("weather", {"city": "Oslo"}, '{ "city" : "Oslo" }')
    assert check(read([' { "say" : "a" } '])) == Say("a")


# An engine that ignored the grammar.


@pytest.mark.parametrize(
    "text",
    [
        'Sure! Let me see.\n```json\n{"name": "weather", "parameters": {"city": "Oslo"}}\n```',
        '{"arguments":{"city":"Oslo"},"tool":"weather"}',
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        '<think>{"tool":"add","arguments":{}} would be wrong.</think>{"tool":"weather","arguments":{"city":"Oslo"}}',
        '{"tool":"weather","parameters":{"city":"Oslo"}}',
    ],
)
def test_a_call_outside_the_envelope_is_heard(text: str) -> None:
    for parts in ([text], list(text)):
        completion = check(read(parts, names=["weather", "add"]))
        assert isinstance(completion, Call)
        assert (completion.name, completion.arguments) == ("weather", {"city": "Oslo"})


def test_only_tools_of_the_catalogue_are_heard() -> None:
    text = '{"tool":"rm","arguments":{}}'
    assert check(read([text], names=["weather"])) == Say(text)
    reader = EnvelopeReader(["weather"])
    reader.feed(text)
    assert reader.left


def test_plain_words_are_words() -> None:
    assert check(read(["It rains.", " Really"], names=["weather"])) == Say("It rains. Really")
    assert check(read(["It rains"], cut_off=True)) == Say("It rains", complete=False)
    assert check(read([""])) == Say("")
    assert check(read([], cut_off=True)) == Truncated("")


def test_a_name_that_was_given_is_never_taken_back() -> None:
    for text in ('{"tool":"weather"}', '{"tool":"weather",x', '{"tool":"weather","arguments":[]}'):
        assert isinstance(check(read([text])), (Call, Truncated))


@pytest.mark.parametrize(
    "arguments", ['{"a":}', "{]", '{"a":NaN}', '{"a":' * 250 + "1" + "}" * 250, '{"a":01}', '{"a":"\n"}']
)
def test_arguments_that_are_no_json_are_no_call(arguments: str) -> None:
    text = f'{{"tool":"weather","arguments":{arguments}}}'
    completion = check(read([text]))
    assert isinstance(completion, Truncated)
    assert completion.name == "weather"


_GARBAGE = st.lists(
    st.sampled_from(
        ['{"tool":"weather"', '{"say":"', '"', "{", "}", "[", "]", ",", ":", '"arguments"', "\\", "\\u", "\\ud83d", "d8", "\ud800",
         "weather", '{"name":"weather","arguments":{}}', "```json\n", "<think>", "</think>", "<tool_call>", " ", "\n", "1e999", "null"]
    )
    | st.text(max_size=5),
    max_size=14,
)  # fmt: skip


@given(_GARBAGE, CUTS, st.booleans(), st.sampled_from([(), ("weather",)]))
def test_garbage_in_any_pieces_is_one_completion(
    garbage: list[str], cuts: list[int], cut_off: bool, names: tuple[str, ...]
) -> None:
    text = "".join(garbage)
    whole = check(read([text], cut_off=cut_off, names=names))
    assert check(read(pieces(text, cuts), cut_off=cut_off, names=names)) == whole
    assert check(read(list(text), cut_off=cut_off, names=names)) == whole


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "[",
        " ",
        '"',
        "\\",
        '{"a":',
        '{"say":',
        "a",
        '{"tool":"weather","arguments":{"a":[',
        "<think>",
        "[ ",
        '{"a":{}},',
    ],
)
def test_a_flood_of_anything_is_bounded(unit: str) -> None:
    started = time.perf_counter()
    reader = EnvelopeReader(["weather"])
    chunk = unit * (8192 // len(unit))
    events: list[ReplyEvent] = []
    for _ in range(2 * MAX_REPLY // len(chunk)):
        events += reader.feed(chunk)
    completion = check(events + reader.finish(False))
    assert len(getattr(completion, "text", "")) <= MAX_REPLY
    assert len(getattr(completion, "raw", "")) <= MAX_REPLY
    assert time.perf_counter() - started < 10


def test_an_endless_answer_is_cut_off_at_the_limit() -> None:
    completion = check(read(['{"say":"', "x" * (MAX_REPLY + 10), '"}']))
    assert completion == Say("x" * (MAX_REPLY - 8), complete=False)


def test_the_text_of_a_plain_chat_is_the_reply() -> None:
    reader = TextReader()
    assert reader.feed("") == []
    assert reader.feed('{"say":') == [SayDelta('{"say":')]
    assert reader.feed("1}") == [SayDelta("1}")]
    assert reader.finish(False) == [Say('{"say":1}')]
    assert TextReader().finish(True) == [Say("", complete=False)]


FENCED = 'Sure:\n```json\n{"tool": "weather", "arguments": {"city": "Oslo", "days": 12}}\n```'
TURNED = '{"arguments": {"city": "Oslo"}, "tool": "weather"}'


@pytest.mark.parametrize("text", [FENCED, TURNED])
def test_an_unheld_call_that_is_cut_off_is_no_answer(text: str) -> None:
    whole = text.rindex("}") + 1
    opened = text.index('"', text.index("{") + 2)
    for end in range(opened + 3, whole):
        done = check(read([text[:end]], cut_off=True, names=["weather"]))
        assert isinstance(done, Truncated), text[:end]
        assert done.name in (None, "weather")
    assert isinstance(check(read([text[:whole]], cut_off=True, names=["weather"])), Call)


@pytest.mark.parametrize(
    "text",
    [
        'Use {"tool": "hammer", "arguments": {"a',
        "A set {1, 2",
        '{"name": "x"} is an object, {and',
        '{"tool": oops, and so',
    ],
)
def test_words_that_are_cut_off_stay_words(text: str) -> None:
    done = check(read([text], cut_off=True, names=["weather"]))
    assert done == Say(text, complete=False)
