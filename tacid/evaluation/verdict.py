"""Whether a reply is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacid.catalogue import read_tools
from tacid.evaluation.client import Reply
from tacid.evaluation.package import Package
from tacid.evaluation.questions import Question
from tacid.evaluation.rows import Item
from tacid.schema.validate import Validators

#: Characters of an answer in words that a row keeps.
MAX_SAID = 200


def item_of(question: Question, tools: Sequence[Mapping[str, Any]], reply: Reply, package: Package) -> Item:
    """The row of a reply to a question that saw these tools."""
    why = None if reply.error is not None else _why(question, reply, package)
    return Item(
        id=question.id,
        category=question.category.name,
        right=reply.error is None and why is None,
        why=why,
        valid=_valid(tools, reply),
        error=reply.error,
        latency=round(reply.latency, 3),
        tokens=reply.tokens,
        hops=reply.hops,
        called=reply.called,
        said=reply.said[:MAX_SAID] if reply.said else None,
    )


def _why(question: Question, reply: Reply, package: Package) -> str | None:
    """What is wrong with a readable reply, or nothing."""
    wants = question.category.wants
    if wants == "none":
        return f"called {reply.called[0].name}, where nothing fits" if reply.called else None
    if not reply.called:
        return "called nothing"
    if wants == "any":
        return None
    calls = [{call.name: call.arguments} for call in reply.called]
    return package.check(question.functions, calls, question.answer, question.category.name)


def _valid(tools: Sequence[Mapping[str, Any]], reply: Reply) -> bool | None:
    """Whether all calls fit the schemas that were offered; nothing where there is no call."""
    if not reply.called:
        return None
    names = {call.name for call in reply.called}
    offered = [tool for tool in tools if tool["function"]["name"] in names]
    validators = Validators(read_tools(offered))
    return not any(validators.problems(call.name, call.arguments) for call in reply.called)


__all__ = ["item_of"]
