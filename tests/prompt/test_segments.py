from __future__ import annotations

from tacid.prompt.segments import Prompt, Segment, join


def test_neighbours_of_one_kind_are_one_segment() -> None:
    joined = join([Segment("a", True), Segment("b", True), Segment("c", False), Segment("d", False)])
    assert joined == Prompt((Segment("ab", True), Segment("cd", False)))


def test_an_empty_segment_is_no_seam() -> None:
    assert join([Segment("", True), Segment("a", False), Segment("", True), Segment("b", False)]) == Prompt(
        (Segment("ab", False),)
    )
    assert join([]) == Prompt(())


def test_the_text_is_all_of_it() -> None:
    assert Prompt((Segment("a", True), Segment("b", False))).text == "ab"
