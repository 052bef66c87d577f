"""JSON text in and out: bounded, canonical, and the same character for character after a round trip."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.errors import InputError
from tacid.jsontext import (
    MAX_BYTES,
    MAX_DEPTH,
    deeper_than,
    dumps,
    escape_char,
    load_file,
    loads,
    must_escape,
    quote,
    shown_escaped,
)

ANY_TEXT = st.text(alphabet=st.characters())  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


@given(VALUES)
def test_canonical_text_comes_back_as_it_went_in(value: Any) -> None:
    for shown in (False, True):
        assert loads(dumps(value, shown=shown), "x") == value


@given(ANY_TEXT)
def test_quoted_text_is_ascii_safe_where_it_must_be(text: str) -> None:
    quoted = quote(text)
    quoted.encode()
    assert not any(char < " " for char in quoted)
    assert not any(shown_escaped(char) for char in quote(text, shown=True))
    assert json.loads(quoted) == json.loads(quote(text, shown=True)) == text


def test_canonical_text_is_compact_keeps_order_and_writes_letters_raw() -> None:
    assert dumps({"b": [1, 2.5, True, None], "a": "é/\u2603"}) == '{"b":[1,2.5,true,null],"a":"é/\u2603"}'


@pytest.mark.parametrize(
    ("char", "escape"), [("\n", "\\n"), ("\x00", "\\u0000"), ("😀", "\\ud83d\\ude00"), ("<", "\\u003c")]
)
def test_escapes(char: str, escape: str) -> None:
    assert escape_char(char) == escape


def test_what_the_prompt_shows_escaped() -> None:
    assert [c for c in "a<>é\u200b\u202e\x7f\ue000 " if shown_escaped(c)] == ["<", "\u200b", "\u202e", "\x7f", "\ue000"]
    assert [c for c in 'a"\\\n\ud800\u2028' if must_escape(c)] == ['"', "\\", "\n", "\ud800"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_not_written(value: float) -> None:
    with pytest.raises(ValueError):
        dumps(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The thing is not JSON: Expecting value at line 1, column 1."),
        ("{'a': 1}", "at line 1, column 2"),
        ('"a', "not JSON"),
        ("[1,]", "not JSON"),
        ("NaN", "no JSON number"),
        ("[-Infinity]", "no JSON number"),
        ("1e999", "one too large"),
        ("1" * 5000, "too many digits"),
        (b'"\xed\xa0\x80"', "not UTF-8 text (byte 1)"),
        ('"x"'.encode("utf-16"), "not UTF-8 text (byte 0)"),
        ("[" * 1000 + "]" * 1000, "too deep; the limit is 200"),
        ("[" * 8_000_000, "too deep; the limit is 200"),
        ('{"a":' * 201 + "1" + "}" * 201, "too deep; the limit is 200"),
    ],
)  # fmt: skip
def test_bad_text_is_one_sentence_that_names_it(text: str | bytes, words: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(text, "The thing")
    message = str(caught.value)
    assert message.startswith("The thing ")
    assert words in message
    assert len(message) < 200
    assert "\n" not in message


def test_depth_is_counted_exactly() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH, "x")
    with pytest.raises(InputError):
        loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "x")
    assert not deeper_than({"a": [1]}, 2)
    assert deeper_than({"a": [[]]}, 2)
    assert loads('["' + "[" * 1000 + '"]', "x") == ["[" * 1000]


def test_a_byte_order_mark_is_no_harm() -> None:
    assert loads(b"\xef\xbb\xbf[1]", "x") == [1]


def test_one_huge_string_is_read_quickly() -> None:
    start = time.monotonic()
    assert len(loads('"' + "a" * (MAX_BYTES - 2) + '"', "x")) == MAX_BYTES - 2
    assert time.monotonic() - start < 5


def test_too_many_bytes() -> None:
    with pytest.raises(InputError, match="has 16,777,217 bytes; the limit is 16,777,216"):
        loads(" " * (MAX_BYTES + 1), "The thing")


def test_files(tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_text('{"a": 1}', encoding="utf-8")
    assert load_file(good, "list") == {"a": 1}
    with pytest.raises(InputError, match=r"The list .*/none.json does not exist; check the path."):
        load_file(tmp_path / "none.json", "list")
    with pytest.raises(InputError, match="can't be read: Is a directory"):
        load_file(tmp_path, "list")
    with pytest.raises(InputError, match="can't be read: Not a directory"):
        load_file(good / "below", "list")
    with pytest.raises(InputError, match="is no path"):
        load_file(Path("a\0b"), "list")


def test_a_pipe_or_a_device_is_no_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", Path("/dev/null"), Path("/dev/zero")):
        with pytest.raises(InputError, match=f"The list {path} can't be read: it is no regular file; write it to one"):
            load_file(path, "list")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(InputError, match="can't be read: No such device or address"):
            load_file(tmp_path / "socket", "list")


def test_a_pipe_that_this_process_was_given_is_read() -> None:
    reader, writer = os.pipe()
    thread = threading.Timer(0.2, lambda: (os.write(writer, b'{"a": 1}'), os.close(writer)))
    thread.start()
    try:
        assert load_file(Path(f"/dev/fd/{reader}"), "list") == {"a": 1}
    finally:
        thread.join()
        os.close(reader)
    code = "from tacid.jsontext import *; print(load_file(Path('/dev/stdin'), 'list'))"
    done = subprocess.run([sys.executable, "-c", code], input=b"[1]", capture_output=True, timeout=60, check=True)
    assert done.stdout == b"[1]\n"


@pytest.mark.parametrize("text", ['{"a":1,"b":2,"a":1}', '[{"x":{"a":[],"a":[]}}]', '{"a":1,"\\u0061":2}'])
def test_a_key_twice_counts_the_last_time_or_is_an_error(text: str) -> None:
    assert loads(text, "The thing") == json.loads(text)
    with pytest.raises(InputError, match=r'The thing has the key "a" twice in one object; keep one\.'):
        loads(text, "The thing", unique_keys=True)
    assert loads('[{"a":{"a":1}},{"a":2}]', "x", unique_keys=True) == [{"a": {"a": 1}}, {"a": 2}]


def test_a_file_of_50_megabytes_is_not_read_whole(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(InputError, match=r"huge\.json has 50,000,000 bytes; the limit is"):
        load_file(huge, "list")
