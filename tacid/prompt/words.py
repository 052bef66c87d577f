"""The words of the system turn, as data that can be swapped by name, and the turn made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, TypeAlias

from tacid.catalogue import Catalogue, Schema, Tool
from tacid.jsontext import dumps, escape_char, shown_escaped
from tacid.prompt.examples import Example, call, call_examples, say
from tacid.prompt.shown import tool_line

#: The tools that we answer ourselves: they give a tool's schema, and tools that serve a purpose.
INFO = "get_tool_info"
SEARCH = "search_tools"

#: Catalogues whose words are kept.
CACHED = 64

Part: TypeAlias = Literal["catalogue", "facts", "rule", "examples", "caller"]


@dataclass(frozen=True, slots=True)
class Words:
    """One wording of the system turn.

    ``order`` says which part stands where; a part that is not named, or has nothing to say, is left out, and parts
    are joined by an empty line. ``catalogue``, ``facts``, ``caller`` and ``examples`` are the frames around what is
    inserted at ``{}``; ``example`` is one example (``{request}``, ``{reply}``). ``calls`` examples of calls come
    from the catalogue, as many of ``answers`` (request, answer) stand beside them, in turns, ``last`` at the end.
    ``as_turns`` shows them as turns of the conversation instead of lines of the system turn.
    """

    rule: str
    calls: int
    answers: tuple[tuple[str, str], ...]
    order: tuple[Part, ...] = ("catalogue", "facts", "rule", "examples", "caller")
    catalogue: str = "Tools, one a line:\n<tools>\n{}\n</tools>"
    facts: str = "Facts about this machine:\n{}"
    examples: str = "Examples:\n{}"
    example: str = "Request: {request}\nReply: {reply}"
    caller: str = "{}"
    as_turns: bool = False
    last: Literal["answer", "call"] = "answer"
    index: str = "More tools, one a line, each with what it is for:\n<index>\n{}\n</index>"
    missing: str = "({} more tools have no line here.)"
    fetch: str = (
        "The tools of the index are shown without their parameters. Before you call one of them, read what it takes:\n"
        '{"tool":"get_tool_info","arguments":{"name":"NAME"}}'
    )
    search: str = 'Tools without a line are found by {"tool":"search_tools","arguments":{"query":"WORDS"}}'


@dataclass(frozen=True, slots=True)
class Index:
    """What a prompt shows of a catalogue that isn't shown in full.

    ``whole``: the tools shown with their schemas, those that we answer ourselves among them. ``lines``: a line for
    each of the others, less ``missing`` that have none. ``fetch`` and ``search`` say which of ours are offered.
    """

    whole: Catalogue
    lines: tuple[str, ...]
    missing: int = 0
    fetch: bool = False
    search: bool = False


_RULE = """\
Reply to each request with one JSON object, in one of two forms:
{"tool":"NAME","arguments":{...}} when a tool serves the request. Only a call does anything: never say that something \
is done, or will be done, when you have not called the tool.
{"say":"TEXT"} when no tool serves it: greetings, thanks, questions that you can answer by yourself."""
#: The same, against arguments that nobody asked for.
_SPARING = _RULE.replace(
    "serves the request. Only", "serves the request, with those arguments alone that the request speaks of. Only"
)

_ANSWERS = (
    ("Good morning!", "Good morning! What can I do for you?"),
    ("How many days are there in a week?", "There are seven days in a week."),
    ("Can you walk my dog?", "No, I have no tool for that."),
)

WORDS: dict[str, Words] = {
    "balanced6": Words(rule=_RULE, calls=3, answers=_ANSWERS),
}
WORDS["balanced4"] = replace(WORDS["balanced6"], calls=2)
WORDS["balanced2"] = replace(WORDS["balanced6"], calls=1)
WORDS["no_examples"] = replace(WORDS["balanced6"], calls=0)
WORDS["balanced6_turns"] = replace(WORDS["balanced6"], as_turns=True)
WORDS["balanced6_call_last"] = replace(WORDS["balanced6"], last="call")
WORDS["balanced6_turns_call_last"] = replace(WORDS["balanced6_turns"], last="call")
WORDS["balanced4_turns"] = replace(WORDS["balanced4"], as_turns=True)
WORDS["balanced4_turns_call_last"] = replace(WORDS["balanced4_turns"], last="call")
WORDS["rule_first"] = replace(WORDS["balanced6"], order=("rule", "catalogue", "facts", "examples", "caller"))
WORDS["sparing6_turns_call_last"] = replace(WORDS["balanced6_turns_call_last"], rule=_SPARING)

#: The best of them for models of more than one family; docs/words.md has the figures.
DEFAULT_WORDS = WORDS["sparing6_turns_call_last"]


#: Said where an answer is held to a schema: beside tools, and alone.
_TYPED = '{}\nIn place of "TEXT" stands a JSON value that fits this JSON Schema: {}'
_TYPED_ALONE = "Reply with nothing but one JSON value that fits this JSON Schema: {}"
#: Said where several calls may stand in one reply.
_SEVERAL = '{}\nSeveral calls at once are a JSON list of such objects: [{{"tool":...}},{{"tool":...}}]'


def worded(words: Words, *, answer: Schema | None = None, several: bool = False, index: Index | None = None) -> Words:
    """The wording for answers that fit a schema, several calls at once, an index; typed answers have no examples."""
    rule = words.rule
    if index is not None and index.fetch:
        rule = f"{rule}\n{words.fetch}"
    if index is not None and index.search:
        rule = f"{rule}\n{words.search}"
    if answer is not None:
        rule = _TYPED.format(rule, dumps(answer, shown=True))
    if several:
        rule = _SEVERAL.format(rule)
    return replace(words, rule=rule, answers=words.answers if answer is None else ())


def balanced_examples(words: Words, catalogue: Catalogue, index: Index | None = None) -> tuple[Example, ...]:
    """Calls and answers by turns, as many of the one as of the other, as far as the catalogue gives them.

    Where schemas are to be fetched first, what is called is that.
    """
    fetched = frozenset(tool.name for tool in index.whole) if index is not None and index.fetch else None
    return _balanced(words, _key(catalogue), fetched)


def tool_lines(catalogue: Catalogue) -> str:
    """The tools as the prompt shows them in full, one a line; kept for catalogues that say the same."""
    return _lines(_key(catalogue))


def _key(catalogue: Catalogue) -> str:
    """The catalogue as JSON text: what is made of it is kept under this."""
    return json.dumps([[tool.name, tool.description, tool.parameters] for tool in catalogue])


def _tools(key: str) -> Catalogue:
    return Catalogue(tuple(Tool(*entry) for entry in json.loads(key)))


@lru_cache(maxsize=CACHED)
def _lines(key: str) -> str:
    return "\n".join(map(tool_line, _tools(key)))


@lru_cache(maxsize=CACHED)
def _balanced(words: Words, key: str, fetched: frozenset[str] | None) -> tuple[Example, ...]:
    calls = list(call_examples(_tools(key), words.calls))
    if fetched is not None:
        calls = [one if one.tool in fetched else replace(one, reply=call(INFO, {"name": one.tool})) for one in calls]
    if words.last == "call":
        # Small models follow the nearest example most: the one that matters most (call_examples' first) stands last.
        calls.reverse()
    answers = [Example(request, say(text)) for request, text in words.answers[: len(calls) or words.calls]]
    first, second = (calls, answers) if words.last == "answer" else (answers, calls)
    return tuple(one for pair in zip_longest(first, second) for one in pair if one is not None)


def system_text(
    words: Words, catalogue: Catalogue, facts: Sequence[str], caller: str, index: Index | None = None
) -> str:
    """The body of the system turn when tools are offered. The same input gives the same bytes."""
    shown = () if words.as_turns else balanced_examples(words, catalogue, index)
    parts: dict[Part, str] = {
        "catalogue": _catalogue(words, catalogue) if index is None else _indexed(words, index),
        "facts": words.facts.replace("{}", "\n".join(map(_line, facts))) if facts else "",
        "rule": words.rule,
        "examples": words.examples.replace("{}", "\n".join(_example(words, one) for one in shown)) if shown else "",
        "caller": words.caller.replace("{}", caller) if caller else "",
    }
    return "\n\n".join(parts[part] for part in words.order if parts[part])


def _catalogue(words: Words, catalogue: Catalogue) -> str:
    return words.catalogue.replace("{}", tool_lines(catalogue))


def _indexed(words: Words, index: Index) -> str:
    """The tools that are shown in full, then a line for each of the others."""
    lines = "\n".join((*index.lines, *([words.missing.replace("{}", f"{index.missing:,}")] if index.missing else ())))
    whole = _catalogue(words, index.whole) if len(index.whole) else ""
    return "\n\n".join(part for part in (whole, words.index.replace("{}", lines) if lines else "") if part)


def plain_system_text(words: Words, facts: Sequence[str], caller: str, answer: Schema | None = None) -> str:
    """The body of the system turn of a plain chat, without tools; empty where nobody has anything to say."""
    told = words.facts.replace("{}", "\n".join(map(_line, facts))) if facts else ""
    typed = _TYPED_ALONE.format(dumps(answer, shown=True)) if answer is not None else ""
    return "\n\n".join(part for part in (told, caller, typed) if part)


def _example(words: Words, example: Example) -> str:
    values = {"{request}": example.request, "{reply}": example.reply}
    return re.sub(r"\{request\}|\{reply\}", lambda match: values[match.group()], words.example)


def _line(fact: str) -> str:
    """A fact as one line: what can't be seen, or opens a marker, as its escape."""
    return "".join(escape_char(char) if shown_escaped(char) else char for char in fact)
