"""A run: what is sent, what is kept, and how it goes on after an interruption."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacid.errors import InputError, TacidError
from tacid.evaluation.categories import read_categories
from tacid.evaluation.client import Client, EndpointLost
from tacid.evaluation.journal import open_journal
from tacid.evaluation.rows import Item, Run, read_run
from tacid.evaluation.session import Options
from tacid.evaluation.summary import percentile
from tests.evaluation.endpoint import endpoint, reply
from tests.evaluation.made import GOOD, run_of, settings_of, text_of


class Seen:
    """A watcher that notes what it hears."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.steps: list[tuple[int, int, str, float | None]] = []
        self.done: list[str] = []
        self._stop = stop_after

    def at(self, done: int, total: int, category: str, score: float | None) -> None:
        self.steps.append((done, total, category, score))
        if self._stop == done:
            raise KeyboardInterrupt

    def finished(self, category: str, items: list[Item]) -> None:
        self.done.append(category)


def _run(url: str, out: Path, seen: Seen | None = None, **more: Any) -> Run:
    categories = more.pop("categories", "simple_python,irrelevance,parallel")
    given: dict[str, Any] = {"limit": 4, "base_url": url, **more}
    options = Options(read_categories(categories), out, **given)
    return asyncio.run(options.perform(*options.prepare(), seen or Seen()))


def _rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def _words(_: dict[str, Any]) -> tuple[int, Any]:
    return reply(said="No.")


def test_every_reply_is_a_row_and_every_category_a_summary(tmp_path: Path) -> None:
    seen = Seen()
    with endpoint(_words) as served:
        done = _run(served.url, tmp_path / "a.jsonl", seen, model_name="m", key="secret")
    rows = _rows(tmp_path / "a.jsonl")
    assert [row["kind"] for row in rows] == ["run"] + ["item"] * 12 + ["summary"] * 4
    assert done.items == read_run(tmp_path / "a.jsonl").items
    assert done.complete
    scores = {row["name"]: row["score"] for row in rows if row["kind"] == "summary"}
    assert scores == {"bfcl/simple_python": 0, "bfcl/parallel": 0, "bfcl/irrelevance": 100, "bfcl/average": 33.333}
    assert rows[1]["tokens"] == {"prompt": 10, "completion": 2, "cached": 4}
    assert rows[-1]["tokens"] == {"prompt": 10.0, "completion": 2.0, "cached": 4.0}
    assert rows[1]["latency"] > 0
    assert seen.done == ["simple_python", "parallel", "irrelevance"]
    assert seen.steps[-1] == (12, 12, "irrelevance", 33.333)
    assert {body["_key"] for body in served.asked} == {"Bearer secret"}
    assert "secret" not in (tmp_path / "a.jsonl").read_text(encoding="utf-8")


def test_streams_ask_side_by_side_and_never_more(tmp_path: Path) -> None:
    at_once: list[int] = []
    now = [0]
    lock = threading.Lock()
    two = threading.Event()

    def slow(_: dict[str, Any]) -> tuple[int, Any]:
        with lock:
            now[0] += 1
            at_once.append(now[0])
            if now[0] == 3:
                two.set()
        two.wait(10)
        with lock:
            now[0] -= 1
        return reply(said="No.")

    with endpoint(slow) as served:
        done = _run(served.url, tmp_path / "a.jsonl", streams=3)
    assert max(at_once) == 3
    assert done.complete
    assert done.settings.streams == 3
    assert done.items == read_run(tmp_path / "a.jsonl").items


def test_a_failure_in_one_stream_ends_all_and_is_told_as_it_is(tmp_path: Path) -> None:
    with endpoint(lambda _: (401, {"error": {"message": "who are you?"}})) as served, pytest.raises(InputError) as told:
        _run(served.url, tmp_path / "a.jsonl", streams=3)
    assert "who are you?" in str(told.value)


def test_only_parallel_categories_are_asked_for_several_calls(tmp_path: Path) -> None:
    with endpoint(_words) as served:
        _run(served.url, tmp_path / "a.jsonl")
    flags = [body.get("parallel_tool_calls") for body in served.asked]
    assert flags == [None] * 4 + [True] * 4 + [None] * 4


def test_the_mode_is_sent_only_where_it_is_not_full(tmp_path: Path) -> None:
    with endpoint(_words) as served:
        for mode in ("full", "deferred", "direct"):
            _run(served.url, tmp_path / f"{mode}.jsonl", tool_mode=mode, categories="multiple", limit=1)
    assert [body.get("tool_mode") for body in served.asked] == [None, "deferred", "direct"]
    assert all(body["temperature"] == 0 and body["seed"] == 0 and body["model"] == "scripted" for body in served.asked)


def test_the_pool_stands_first_in_every_request(tmp_path: Path) -> None:
    with endpoint(_words) as served:
        _run(served.url, tmp_path / "a.jsonl", pool=7)
    heads = {json.dumps(body["tools"][:7]) for body in served.asked}
    assert len(heads) == 1
    assert all(len(body["tools"]) > 7 for body in served.asked)


def test_a_deferred_run_has_a_row_of_hops(tmp_path: Path) -> None:
    hops = iter([1, 2, 1, 0])
    with endpoint(lambda _: reply(said="No.", get_tool_info_hops=next(hops))) as served:
        _run(served.url, tmp_path / "a.jsonl", tool_mode="deferred", categories="multiple")
    assert _rows(tmp_path / "a.jsonl")[-1] == {
        "kind": "summary", "name": "bfcl/deferred_tools/get_tool_info_hops", "value": 1.0, "n": 4,
    }  # fmt: skip


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    with endpoint(_words) as served:
        with pytest.raises(KeyboardInterrupt):
            _run(served.url, out, Seen(stop_after=5))
        assert len(served.asked) == 5
        first = out.read_text(encoding="utf-8")
        assert [row["kind"] for row in _rows(out)] == ["run"] + ["item"] * 5
        seen = Seen()
        _run(served.url, out, seen)
        assert len(served.asked) == 12
        assert [step[0] for step in seen.steps] == list(range(1, 13))
        # Once more: nothing is asked, nothing is written.
        whole = out.read_text(encoding="utf-8")
        _run(served.url, out)
        assert len(served.asked) == 12
    assert whole.startswith(first)
    assert out.read_text(encoding="utf-8") == whole
    assert len(read_run(out).items) == 12


def test_a_row_that_was_broken_off_is_asked_again(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    with endpoint(_words) as served:
        with pytest.raises(KeyboardInterrupt):
            _run(served.url, out, Seen(stop_after=3))
        data = out.read_bytes()
        out.write_bytes(data[:-30])
        _run(served.url, out)
        assert len(served.asked) == 3 + 10
    assert read_run(out).complete


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", 1), ("pool", 3), ("limit", 5), ("tool_mode", "direct"), ("max_tokens", 9), ("label", "x"), ("model_name", "y"), ("categories", "parallel")],
)  # fmt: skip
def test_a_run_with_other_settings_never_goes_into_the_same_file(key: str, value: Any, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    with endpoint(_words) as served:
        _run(served.url, out)
        before = out.read_bytes()
        with pytest.raises(InputError, match="name another file"):
            _run(served.url, out, **{key: value})
        assert len(served.asked) == 12
    assert out.read_bytes() == before


@pytest.mark.parametrize("content", ["something", "something\n", "{}\n", '{"kind":"summary"}\n'])
def test_a_file_that_is_no_run_is_left_alone(content: str, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    out.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl"), open_journal(out, settings_of(GOOD, "full")):
        pass
    assert out.read_text(encoding="utf-8") == content


def test_two_processes_never_write_one_file(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    settings = settings_of(GOOD, "full")
    with (
        open_journal(out, settings),
        pytest.raises(InputError, match="Another process"),
        open_journal(out, settings),
    ):
        pass


def test_a_row_is_on_the_disk_before_the_next_question(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    there: list[int] = []

    def say(_: dict[str, Any]) -> tuple[int, Any]:
        there.append(out.read_bytes().count(b'"kind": "item"'))
        return reply(said="No.")

    with endpoint(say) as served:
        _run(served.url, out)
    assert there == list(range(12))


ODD: dict[str, tuple[Callable[[dict[str, Any]], tuple[int, Any]], str]] = {
    "arguments that are no JSON": (lambda _: reply(("f", '{"a": ')), "undecodable"),
    "arguments that are a list": (lambda _: reply(("f", "[1]")), "undecodable"),
    "no text at all": (lambda _: reply(finish="length"), "cut off"),
    "another shape": (lambda _: (200, {"choices": []}), "no reply"),
    "no JSON": (lambda _: (200, b"<html>"), "no reply"),
    "a refusal": (
        lambda _: (400, {"error": {"message": "the prompt is too long"}}),
        "HTTP 400: the prompt is too long",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_can_not_be_read_is_an_error_of_its_item_and_never_right(name: str, tmp_path: Path) -> None:
    say, told = ODD[name]
    # The first reply is good, so that it isn't taken for a fault of the endpoint.
    first = iter([reply(said="No.")])
    with endpoint(lambda body: next(first, None) or say(body)) as served:
        done = _run(served.url, tmp_path / "a.jsonl", categories="irrelevance", limit=8)
    errors = [item.error for item in done.items.values()]
    assert errors[0] is None
    assert all(error is not None and told in error for error in errors[1:])
    assert [item.counts for item in done.items.values()] == [True] + [False] * 7


def test_where_every_reply_fails_nothing_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    with endpoint(lambda _: (400, {"error": {"message": "unknown field"}})) as served:
        with pytest.raises(TacidError, match=r"all failed.*unknown field"):
            _run(served.url, out)
        assert len(served.asked) == 5
    assert [row["kind"] for row in _rows(out)] == ["run"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_path_ends_the_run_at_once(status: int, tmp_path: Path) -> None:
    with endpoint(lambda _: (status, {"error": {"message": "go away"}})) as served:
        with pytest.raises(InputError, match=r"go away.*OPENAI_API_KEY"):
            _run(served.url, tmp_path / "a.jsonl")
        assert len(served.asked) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_what_passes_is_waited_for(status: int) -> None:
    replies = iter([(status, {}), (status, {})])
    with endpoint(lambda _: next(replies, None) or reply(said="Yes.")) as served:
        async with Client(served.url, pause=0.01) as asked:
            assert (await asked.ask({})).said == "Yes."
    assert len(served.asked) == 3


async def test_nobody_there_says_that_the_run_goes_on() -> None:
    with endpoint(_words) as served:
        url = served.url
    async with Client(url, pause=0.001) as asked:
        with pytest.raises(EndpointLost, match="goes on from here"):
            await asked.ask({})
        with pytest.raises(InputError, match="is --base-url right"):
            await asked.model()


async def test_half_a_character_is_a_row(tmp_path: Path) -> None:
    body = b'{"choices":[{"message":{"content":"\\ud83d x","tool_calls":[{"function":{"name":"a","arguments":"{\\"b\\":\\"\\\\ud83d\\"}"}}]}}]}'
    with endpoint(lambda _: (200, body)) as served:
        async with Client(served.url) as asked:
            got = await asked.ask({})
    assert got.said == "? x"
    assert got.called[0].arguments == {"b": "?"}
    item = Item(id="i", category="multiple", right=False, called=got.called, said=got.said)
    with open_journal(tmp_path / "a.jsonl", settings_of(GOOD, "full")) as journal:
        journal.add(item)
    assert read_run(tmp_path / "a.jsonl").items["i"] == item


def test_an_item_that_stands_twice_in_a_file_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    text = text_of(run_of(GOOD))
    out.write_text(text + text.splitlines()[1] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="stands there twice"):
        read_run(out)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(value) for value in range(1, 21)]
    assert percentile(values, 50) == 10
    assert percentile(values, 95) == 19
    assert percentile([3.0], 95) == 3
    assert percentile([], 50) is None
