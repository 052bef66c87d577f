"""What is kept of responses: each owner's for itself, bounded, the least lately used goes first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.api.openai.responses_store import ResponseStore
from tacid.chat import Call, Message


def body(identity: str, text: str = "") -> dict[str, Any]:
    return {"id": identity, "output": [{"id": f"msg_{identity}", "type": "message", "content": text}]}


def test_nobody_sees_what_is_anothers() -> None:
    store = ResponseStore()
    store.shelf("a").keep(body("r"), (Message("user", "secret"),))
    other = store.shelf("b")
    assert other.find("r") is None
    assert other.body("r") is None
    assert other.item("msg_r") is None
    assert other.drop("r") is False
    assert store.shelf("a").body("r") == body("r")


def test_the_least_lately_used_goes_first() -> None:
    store = ResponseStore(responses=2)
    shelf = store.shelf("a")
    shelf.keep(body("1"), ())
    shelf.keep(body("2"), ())
    shelf.find("1")
    shelf.keep(body("3"), ())
    assert [shelf.find(each) is not None for each in "123"] == [True, False, True]
    assert shelf.item("msg_2") is None


@pytest.mark.parametrize(
    ("message", "kept"),
    [(Message("user", "x" * 1000), 3), (Message("assistant", calls=(Call("a", {}, "x" * 1000, "i"),)), 0)],
    ids=["words", "arguments"],
)
def test_bytes_are_bounded(message: Message, kept: int) -> None:
    store = ResponseStore(size=5000)
    shelf = store.shelf("a")
    for number in range(20):
        shelf.keep(body(str(number)), (message,))
        assert store.size <= 5000
    assert len(store) == kept


def test_two_requests_at_once_share_a_shelf() -> None:
    store = ResponseStore()
    first, second = store.shelf("a"), store.shelf("a")
    first.keep(body("1"), ())
    second.keep(body("2"), ())
    assert store.shelf("a").find("1") is not None
    assert store.shelf("a").find("2") is not None


def test_one_that_is_larger_than_all_is_not_kept() -> None:
    store = ResponseStore(size=5000)
    store.shelf("a").keep(body("1", "x" * 6000), ())
    assert store.shelf("a").find("1") is None
    assert (len(store), store.size) == (0, 0)


def test_whoever_has_most_makes_room() -> None:
    store = ResponseStore(responses=10)
    store.shelf("small").keep(body("1"), ())
    for number in range(50):
        store.shelf("loud").keep(body(f"l{number}"), ())
    assert store.shelf("small").find("1") is not None
    assert len(store) == 10


def test_the_same_id_again_takes_the_place_of_the_first() -> None:
    shelf = ResponseStore().shelf("a")
    shelf.keep(body("1"), ())
    size = shelf.size
    shelf.keep(body("1"), ())
    assert (len(shelf), shelf.size) == (1, size)


@given(st.lists(st.tuples(st.sampled_from("kfd"), st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 900))))
def test_the_sums_hold_whatever_is_done(steps: list[tuple[str, str, int, int]]) -> None:
    store = ResponseStore(responses=4, size=3000)
    for step, owner, number, size in steps:
        shelf = store.shelf(owner)
        if step == "k":
            shelf.keep(body(f"{owner}{number}", "x" * size), ())
        elif step == "f":
            shelf.find(f"{owner}{number}")
        else:
            shelf.drop(f"{owner}{number}")
        assert len(store) <= 4
        assert store.size <= 3000
    for owner in "ab":
        shelf = store.shelf(owner)
        kept = [shelf.find(f"{owner}{number}") for number in range(7)]
        assert shelf.size == sum(each.size for each in kept if each)
        assert len(shelf) == sum(each is not None for each in kept)
