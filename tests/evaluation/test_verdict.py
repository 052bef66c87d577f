"""What is right and what is wrong, by the checker of the installed package."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tacid.evaluation.categories import CATEGORIES, find_category
from tacid.evaluation.client import Reply
from tacid.evaluation.convert import tool_name, tool_of
from tacid.evaluation.package import Package
from tacid.evaluation.questions import Question
from tacid.evaluation.rows import Called, Item
from tacid.evaluation.verdict import item_of


def _question(package: Package, category: str, index: int = 0) -> Question:
    row = package.questions(category)[index]
    found = find_category(category)
    answer = package.answers(category)[row["id"]] if found.wants == "calls" else []
    tools = tuple(tool_of(function, package.types) for function in row["function"])
    return Question(row["id"], found, tuple(row["question"][0]), tuple(row["function"]), tools, tuple(answer))


def _filled(values: list[Any]) -> Any:
    """One of the possible values; what an answer says of the members of an object is a list of values again."""
    value = next(value for value in values if value != "")
    if isinstance(value, dict):
        return {key: _filled(inner) for key, inner in value.items() if inner != [""]}
    if isinstance(value, list):
        return [_filled([item]) if isinstance(item, dict) else item for item in value]
    return value


def _right(question: Question) -> list[Called]:
    """The answer's calls, without the arguments that may be left out."""
    required = {function["name"]: function["parameters"].get("required", ()) for function in question.functions}
    return [
        Called(
            name=tool_name(name),
            arguments={
                key: _filled(values) for key, values in arguments.items() if "" not in values or key in required[name]
            },
        )
        for answer in question.answer
        for name, arguments in answer.items()
    ]


def _judged(package: Package, question: Question, calls: list[Called], **more: Any) -> Item:
    return item_of(question, question.tools, Reply(tuple(calls), **more), package)


CHECKED = [category.name for category in CATEGORIES if category.wants == "calls"]


#: Answers that don't fit the functions that they are about, or that `_filled` can't make a value of.
IMPOSSIBLE = {
    "live_simple_106-63-0",
    "live_simple_112-68-0",
    "live_multiple_121-46-0",
    "live_multiple_507-149-4",
    "live_multiple_862-181-3",
    "live_multiple_964-207-0",
}
#: Percent of the right calls of a category that the schemas of their tools don't admit.
MISFITS = 5.0


@pytest.mark.parametrize("category", CHECKED)
def test_the_answer_itself_is_right_and_can_be_written(category: str, package: Package) -> None:
    wrong, misfits = {}, []
    count = len(package.questions(category))
    for index in range(0, count, max(1, count // 100)):
        question = _question(package, category, index)
        if question.id not in IMPOSSIBLE:
            item = _judged(package, question, _right(question))
            if not item.right:
                wrong[item.id] = item.why
            if not item.valid:
                misfits.append(item.id)
    assert not wrong
    assert len(misfits) <= count * MISFITS / 100, misfits


@pytest.mark.parametrize("category", CHECKED)
def test_a_value_that_is_not_possible_is_wrong(category: str, package: Package) -> None:
    question = _question(package, category, 1)
    calls = _right(question)
    arguments = copy.deepcopy(calls[-1].arguments)
    key = next(iter(arguments))
    arguments[key] = "nothing of the kind" if isinstance(arguments[key], str) else -12345
    item = _judged(package, question, [*calls[:-1], Called(name=calls[-1].name, arguments=arguments)])
    assert not item.right
    assert item.why


@pytest.mark.parametrize("category", CHECKED)
def test_a_call_too_few_or_too_many_is_wrong(category: str, package: Package) -> None:
    question = _question(package, category, 0)
    calls = _right(question)
    assert not _judged(package, question, calls[1:]).right
    assert not _judged(package, question, [*calls, calls[0]]).right


def test_the_order_of_parallel_calls_is_free(package: Package) -> None:
    question = _question(package, "parallel_multiple")
    assert _judged(package, question, _right(question)[::-1]).right


def test_a_name_with_dots_comes_back_without_them_and_is_right(package: Package) -> None:
    question = _question(package, "multiple")
    assert question.functions[0]["name"] == "triangle_properties.get"
    (call,) = _right(question)
    assert call.name == "triangle_properties_get"
    assert _judged(package, question, [call]).right
    dotted = Called(name="triangle_properties.get", arguments=call.arguments)
    assert not _judged(package, question, [dotted]).right


def test_a_tool_of_the_pool_is_the_wrong_one(package: Package) -> None:
    question = _question(package, "simple_python")
    other = _question(package, "simple_python", 7)
    item = item_of(question, [*other.tools, *question.tools], Reply(tuple(_right(other))), package)
    assert (item.right, item.valid) == (False, True)


def test_where_nothing_fits_no_call_is_right(package: Package) -> None:
    question = _question(package, "irrelevance")
    assert _judged(package, question, [], said="I can't do that.").right
    call = Called(name=question.tools[0]["function"]["name"], arguments={})
    assert not _judged(package, question, [call]).right


def test_what_nobody_can_read_is_never_right(package: Package) -> None:
    item = _judged(package, _question(package, "irrelevance"), [], error="undecodable")
    assert (item.right, item.error) == (False, "undecodable")


def test_where_something_fits_any_call_is_right(package: Package) -> None:
    question = _question(package, "live_relevance")
    call = Called(name=question.tools[0]["function"]["name"], arguments={})
    item = _judged(package, question, [call])
    assert (item.right, item.valid) == (True, False)
    assert not _judged(package, question, [], said="Sure!").right


def test_arguments_are_valid_by_their_schema_whatever_the_checker_says(package: Package) -> None:
    question = _question(package, "simple_python")
    name = question.tools[0]["function"]["name"]
    for arguments, valid in (
        ({"base": 1, "height": 1}, True),
        ({"base": "1", "height": 1}, False),
        ({"base": 1}, False),
    ):
        assert _judged(package, question, [Called(name=name, arguments=arguments)]).valid is valid
    assert _judged(package, question, [Called(name="nobody", arguments={})]).valid is False
    assert _judged(package, question, []).valid is None


@pytest.mark.parametrize("value", [None, [], {"a": None}, [None], "x", 1e400])
def test_nothing_that_a_model_writes_ends_the_checker(value: Any, package: Package) -> None:
    for category in CHECKED:
        question = _question(package, category, 3)
        calls = [Called(name=call.name, arguments=dict.fromkeys(call.arguments, value)) for call in _right(question)]
        assert not _judged(package, question, calls).right
