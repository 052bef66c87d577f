"""The prompt of a turn: system turn, history, and the marker that opens the reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tacid.catalogue import AUTO, Catalogue, Choice, Schema
from tacid.chat import Message
from tacid.prompt.families import CHATML, Family, Markers
from tacid.prompt.history import Turn, history_turns
from tacid.prompt.segments import Prompt, Segment, join
from tacid.prompt.words import DEFAULT_WORDS, Index, Words, balanced_examples, plain_system_text, system_text, worded

#: Some template that nobody has seen, so as strict as templates are.
_ANY = replace(CHATML, alternates=True)


def render(
    messages: Sequence[Message],
    *,
    catalogue: Catalogue,
    family: Family = CHATML,
    facts: Sequence[str] = (),
    choice: Choice = AUTO,
    words: Words = DEFAULT_WORDS,
    answer: Schema | None = None,
    several: bool = False,
    think: bool = False,
    index: Index | None = None,
    spliced: Mapping[str, str] | None = None,
) -> Prompt:
    """The prompt for these messages; the same input gives the same bytes.

    ``facts`` are lines about the machine, those that change last. Leading system messages become part of the system
    turn, which depends on nothing that the user says. With the choice ``none``, or without tools, it is a plain chat
    without an envelope, so no grammar of one belongs to it. ``answer`` is the schema that an answer has to fit,
    ``several`` says that more than one call may be made at once, ``think`` leaves the reply open for a thought.
    ``index`` is shown in the catalogue's place; ``spliced``: what stands in the first call of a tool that was made,
    between its name and its arguments.
    """
    turns = _turns(messages, catalogue, facts, choice, words, answer, several, index, spliced or {})
    reply = family.thinking.reply if think and family.thinking is not None else family.reply
    return join(_segments(_arranged(turns, family), family, reply))


def chat_turns(
    messages: Sequence[Message],
    *,
    catalogue: Catalogue,
    shown: bool,
    facts: Sequence[str] = (),
    choice: Choice = AUTO,
    words: Words = DEFAULT_WORDS,
    answer: Schema | None = None,
    several: bool = False,
) -> list[Turn]:
    """The same conversation for a server that frames it by itself; never two turns of the user in a row.

    ``shown``: the catalogue stands in the system turn; else the server's own template shows its tools.
    """
    if not shown:
        words = replace(words, order=tuple(part for part in words.order if part != "catalogue"))
    return list(_arranged(_turns(messages, catalogue, facts, choice, words, answer, several), _ANY))


def _turns(
    messages: Sequence[Message],
    catalogue: Catalogue,
    facts: Sequence[str],
    choice: Choice,
    words: Words,
    answer: Schema | None,
    several: bool,
    index: Index | None = None,
    spliced: Mapping[str, str] = MappingProxyType({}),
) -> list[Turn]:
    offered = len(catalogue) > 0 and choice.mode != "none"
    lead = 0
    while lead < len(messages) and messages[lead].role == "system":
        lead += 1
    caller = "\n\n".join(message.content for message in messages[:lead] if message.content)
    if offered:
        words = worded(words, answer=answer, several=several, index=index)
        system = system_text(words, catalogue, facts, caller, index)
    else:
        system = plain_system_text(words, facts, caller, answer)
    turns = [Turn("system", system)] if system else []
    if offered and words.as_turns:
        for example in balanced_examples(words, catalogue, index):
            turns += [Turn("user", example.request), Turn("assistant", example.reply)]
    return turns + history_turns(messages[lead:], envelope=offered, value=answer is not None, spliced=spliced)


def _arranged(turns: Sequence[Turn], family: Family) -> Iterator[Turn]:
    """The turns as the family can hold them: system text in the user's turn, the user's turns joined, if need be."""
    ahead: list[str] = []
    for index, turn in enumerate(turns):
        if turn.speaker == "system" and family.system is None:
            ahead.append(turn.text)
            continue
        following = turns[index + 1].speaker if index + 1 < len(turns) else None
        if turn.speaker == "user" and family.alternates and following in ("user", "system"):
            ahead.append(turn.text)
            continue
        if ahead and turn.speaker == "user":
            yield Turn("user", "\n\n".join([*ahead, turn.text]))
            ahead = []
            continue
        if ahead:
            yield Turn("user", "\n\n".join(ahead))
            ahead = []
        yield turn
    if ahead:
        yield Turn("user", "\n\n".join(ahead))


def _segments(turns: Iterator[Turn], family: Family, reply: str) -> Iterator[Segment]:
    yield Segment(family.bos, True)
    for turn in turns:
        markers = _markers(family, turn)
        yield Segment(markers.before, True)
        yield Segment(turn.text, False)
        yield Segment(markers.after, True)
    yield Segment(reply, True)


def _markers(family: Family, turn: Turn) -> Markers:
    if turn.speaker == "assistant":
        return family.assistant
    return family.system if turn.speaker == "system" and family.system is not None else family.user
