"""Lines of a log: whole, escaped, and never in the way of a request."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from pathlib import Path

import pytest

from tacid.api.logs import Lines, LogHandler, call_record, failure, open_lines
from tacid.chat import Call
from tacid.errors import EngineDied, InputError


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_lines_are_added_in_order(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text('{"old": 1}\n')
    lines = open_lines(path)
    for number in range(1000):
        lines.write({"n": number})
    lines.close()
    assert read(path) == [{"old": 1}, *({"n": number} for number in range(1000))]
    assert open_lines(path).close() is None


def test_a_new_file_is_only_for_its_owner(tmp_path: Path) -> None:
    open_lines(tmp_path / "log").close()
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0


def test_what_others_wrote_stays_one_ascii_line(tmp_path: Path) -> None:
    text = 'a"\n{"forged": true}\r\x1b[31m\x7f\x85\u2028\u202e\ud800 é 😀'
    lines = open_lines(tmp_path / "log")
    lines.write({"path": text, text: 1})
    lines.close()
    data = (tmp_path / "log").read_bytes()
    assert data.count(b"\n") == 1
    assert all(0x20 <= byte < 0x7F for byte in data[:-1])
    assert read(tmp_path / "log") == [{"path": text, text: 1}]


def test_a_full_disk_loses_lines_and_nothing_else() -> None:
    lines = Lines(os.open("/dev/full", os.O_WRONLY), owned=True)
    for number in range(100):
        lines.write({"n": number})
    lines.close()


def test_lines_that_were_lost_are_counted_in_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    lines = Lines(descriptor)
    full = os.open("/dev/full", os.O_WRONLY)
    kept = os.dup(descriptor)
    os.dup2(full, descriptor)
    for number in range(3):
        lines.write({"n": number})
    deadline = time.monotonic() + 5
    while lines._lost < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.dup2(kept, descriptor)
    lines.write({"n": 3})
    lines.close()
    first, second = read(path)
    assert first["lost"] == 3
    assert second == {"n": 3}
    for each in (descriptor, full, kept):
        os.close(each)


def test_a_reader_that_hangs_holds_nobody_up() -> None:
    reading, writing = os.pipe()
    lines = Lines(writing)
    started = time.monotonic()
    for _ in range(200):
        lines.write({"text": "x" * 10_000})
    lines.close(within=0.2)
    assert time.monotonic() - started < 5
    os.close(reading)


def test_what_is_no_json_is_lost_alone(tmp_path: Path) -> None:
    lines = open_lines(tmp_path / "log")
    lines.write({"n": float("nan")})
    lines.write({"n": object()})
    lines.write({"n": 1})
    lines.close()
    assert read(tmp_path / "log")[-1] == {"n": 1}


@pytest.mark.parametrize("name", [".", "none/log"])
def test_a_file_that_can_not_be_written_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"can't be written: .*server\.audit"):
        open_lines(tmp_path / name)


def test_a_call_is_recorded_by_the_hash_of_its_arguments() -> None:
    call = Call("light", {"on": True}, '{"on": true}', "call_1")
    record = call_record(call, valid=False, key="phone", model="m", contents=False)
    assert record["arguments_sha256"] == hashlib.sha256(b'{"on": true}').hexdigest()
    assert (record["tool"], record["key"], record["model"], record["valid"]) == ("light", "phone", "m", False)
    assert "arguments" not in record
    assert call_record(call, valid=True, key=None, model=None, contents=True)["arguments"] == '{"on": true}'
    bare = call_record(Call("light", {"on": True}), valid=True, key=None, model=None, contents=False)
    assert bare["arguments_sha256"] == hashlib.sha256(b'{"on":true}').hexdigest()


def test_an_error_of_others_keeps_its_words_to_itself() -> None:
    for error, contents, shown in (
        (ValueError("what a person wrote"), False, False),
        (ValueError("what a person wrote"), True, True),
        (EngineDied("The engine ended."), False, True),
    ):
        try:
            raise error
        except Exception as caught:
            record = failure(caught, contents=contents)
        assert record["error"] == type(error).__name__
        assert "test_logs.py" in record["where"][-1]
        assert ("message" in record) == shown


def test_logging_ends_in_the_same_lines(tmp_path: Path) -> None:
    lines = open_lines(tmp_path / "log")
    logger = logging.Logger("x")
    logger.addHandler(LogHandler(lines, contents=False))
    logger.warning("a %s", "b")
    logger.warning("a %s %s", "b")
    try:
        raise ValueError("what a person wrote")
    except ValueError:
        logger.exception("It failed.")
    lines.close()
    first, second, third = read(tmp_path / "log")
    assert (first["message"], first["level"], first["logger"]) == ("a b", "warning", "x")
    assert second["message"] == "a %s %s"
    assert (third["message"], third["error"]) == ("It failed.", "ValueError")
    assert "what a person wrote" not in (tmp_path / "log").read_text()
