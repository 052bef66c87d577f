"""The page: what stands in it, and that it stands by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tacid.errors import InputError
from tacid.evaluation.report import load_runs, page
from tacid.evaluation.rows import Run, Tokens
from tests.evaluation.made import GOOD, run_of, text_of


def _with(run: Run, prompt: int, latency: float) -> Run:
    items = {
        key: item.model_copy(
            update={"tokens": Tokens(prompt=prompt, completion=30, cached=prompt // 2), "latency": latency}
        )
        for key, item in run.items.items()
    }
    return run.model_copy(update={"items": items})


def _runs() -> list[Run]:
    some = {name: GOOD[name] for name in ("simple_python", "multiple", "live_multiple")}
    return [
        _with(run_of(GOOD), 1200, 9.5),
        _with(run_of(GOOD, "deferred", hops=1), 700, 7.25),
        _with(run_of(some, pool=50), 8000, 40),
        _with(run_of(some, "deferred", pool=50, hops=2), 2000, 20),
        _with(run_of(some, "direct", pool=50, label="names <only>"), 1500, 12),
    ]


class _Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for key, value in attrs if key == "id" and value]
        if tag == "tr":
            self.rows.append([])
        self.open.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th") and data.strip():
            self.rows[-1].append(data)


def test_modes_stand_side_by_side() -> None:
    parsed = _Parsed(page(_runs()))
    rows = {tuple(row[:2]): row[2:] for row in parsed.rows if len(row) == 12}
    assert rows["full", "0"] == ["406", "57.4", "–", "0", "1,200", "600", "30", "9.50", "9.50", "–"]
    assert rows["deferred", "50"][-1] == "2.00"
    assert ("direct, names <only>", "50") in rows
    scores = next(row for row in parsed.rows if row[0] == "live_parallel")
    assert scores == ["live_parallel", "37.5 of 16", "37.5 of 16", "–", "–", "–"]


def test_averages_of_plots_are_over_what_all_were_asked() -> None:
    assert "Averages over simple_python, multiple, live_multiple, which every run was asked." in page(_runs())


def test_an_unfinished_run_says_so() -> None:
    run = run_of(GOOD)
    short = run.model_copy(update={"items": dict(list(run.items.items())[:100])})
    assert "100 of 406, unfinished" in page([short])


def test_the_page_is_the_same_every_time_and_fetches_nothing() -> None:
    text = page(_runs())
    assert text == page(_runs())
    assert text.count("<svg") == 5
    assert "<script" not in text
    assert "<only>" not in text
    assert not re.search(r'(src|href)="(?!#)[^"]*"', re.sub(r'xmlns(:\w+)?="[^"]*"', "", text))
    parsed = _Parsed(text)
    assert len(parsed.ids) == len(set(parsed.ids))
    # Every clip and marker that is pointed to is there.
    assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', text)) <= set(parsed.ids)


def test_each_model_has_a_section_of_its_own() -> None:
    text = page([run_of(GOOD), run_of(GOOD, model="<b>other")])
    assert text.count("<h2>") == 2
    assert "<b>other" not in text


def test_a_directory_gives_all_its_runs(tmp_path: Path) -> None:
    for index, run in enumerate(_runs()):
        (tmp_path / f"{index}.jsonl").write_text(text_of(run), encoding="utf-8")
    assert len(load_runs([tmp_path])) == 5
    assert len(load_runs([tmp_path / "1.jsonl", tmp_path / "3.jsonl"])) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="There is no run in"):
        load_runs([tmp_path / "empty"])


_ABSENT = """
import sys
sys.modules["matplotlib"] = None
from tacid.errors import InputError
from tacid.evaluation.plots import Line, plot
try:
    plot("t", "x", "y", [Line("a", [(0, 1)])])
except InputError as error:
    print(error)
"""


def test_without_the_plotting_library_the_command_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", _ABSENT], capture_output=True, text=True)
    assert "pip install 'tacid[eval]'" in done.stdout, done.stderr
