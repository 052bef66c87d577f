"""How the turns of a conversation are marked, by family of models: a table of data.

A GGUF file that is no pin of ours says how its turns are marked by what its template makes of `PROBES`.
Sources: the chat templates that publishers ship in ``tokenizer_config.json`` and GGUF metadata.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Markers:
    """What stands before and after the body of a turn."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """How a reasoning model's thought is framed.

    ``reply`` opens the model's turn with its thought begun, ``end`` is what the model ends it with, ``after`` stands
    between that end and the reply.
    """

    reply: str
    end: str = "</think>"
    after: str = "\n\n"


@dataclass(frozen=True, slots=True)
class Family:
    """The turn markers of a family of models.

    ``system`` is ``None`` where the family has no such turn: its text then opens the first turn of the user.
    ``reply`` opens the turn that the model writes. ``bos`` is the text of the token that a prompt begins with, empty
    where the family wants none. ``stop`` ends a reply in plain words should the end-of-turn token come as text.
    ``alternates``: two turns of the user in a row are joined to one. ``thinking``: how it thinks, if it does; the plain
    ``reply`` then opens a turn without a thought.
    """

    name: str
    system: Markers | None
    user: Markers
    assistant: Markers
    reply: str
    stop: tuple[str, ...]
    bos: str = ""
    alternates: bool = False
    thinking: Thinking | None = None


CHATML = Family(
    name="chatml",
    system=Markers("<|im_start|>system\n", "<|im_end|>\n"),
    user=Markers("<|im_start|>user\n", "<|im_end|>\n"),
    assistant=Markers("<|im_start|>assistant\n", "<|im_end|>\n"),
    reply="<|im_start|>assistant\n",
    stop=("<|im_end|>",),
)

#: Qwen3 thinks before it speaks unless its turn opens with an empty thought; the envelope leaves no room for one.
QWEN3 = replace(
    CHATML,
    name="qwen3",
    reply=CHATML.reply + "<think>\n\n</think>\n\n",
    thinking=Thinking(CHATML.reply + "<think>\n"),
)

LLAMA3 = Family(
    name="llama3",
    system=Markers("<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"),
    user=Markers("<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"),
    assistant=Markers("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    reply="<|start_header_id|>assistant<|end_header_id|>\n\n",
    stop=("<|eot_id|>", "<|eom_id|>"),
    bos="<|begin_of_text|>",
)

GEMMA = Family(
    name="gemma",
    system=None,
    user=Markers("<start_of_turn>user\n", "<end_of_turn>\n"),
    assistant=Markers("<start_of_turn>model\n", "<end_of_turn>\n"),
    reply="<start_of_turn>model\n",
    stop=("<end_of_turn>",),
    bos="<bos>",
    alternates=True,
)

#: For weights without any chat training. Bodies begin after a newline, where no token crosses into them.
PLAIN = Family(
    name="plain",
    system=Markers("", "\n\n"),
    user=Markers("User:\n", "\n\n"),
    assistant=Markers("Assistant:\n", "\n\n"),
    reply="Assistant:\n",
    stop=("\n\nUser:\n",),
)

FAMILIES: dict[str, Family] = {family.name: family for family in (CHATML, QWEN3, LLAMA3, GEMMA, PLAIN)}


def thinks(family: Family, template: str) -> Family:
    """The family with its way to think, as far as the model's own chat template speaks of one.

    A template that opens every turn with a thought gets a plain ``reply`` with an empty one.
    """
    if family.thinking is not None or "</think>" not in template:
        return family
    begun = family.reply.rstrip()
    if begun.endswith("<think>"):
        return replace(family, reply=begun + "\n\n</think>\n\n", thinking=Thinking(begun + "\n"))
    return replace(
        family, reply=family.reply + "<think>\n\n</think>\n\n", thinking=Thinking(family.reply + "<think>\n")
    )


ChatMessages: TypeAlias = Sequence[Mapping[str, str]]

_SYSTEM, _FIRST, _ANSWER, _SECOND = "Zqsystemavo", "Zqfirstibex", "Zqanswerolm", "Zqsecondyak"
_TALK = (
    {"role": "user", "content": _FIRST},
    {"role": "assistant", "content": _ANSWER},
    {"role": "user", "content": _SECOND},
)
#: Conversations whose bodies are words that no template writes, for ``/apply-template``.
PROBES: Mapping[str, ChatMessages] = {"system": ({"role": "system", "content": _SYSTEM}, *_TALK), "talk": _TALK}

#: Characters that a marker between two bodies may have; what is longer holds more than markers.
MAX_MARKER = 160
#: A marker with one of these says something that is no marker: a date, a web address.
_ODD = re.compile(r"\b(19|20)\d\d\b|\bdate\b|https?:", re.IGNORECASE)


def family_from_template(applied: Mapping[str, str | None], *, bos: str = "") -> tuple[Family, str | None]:
    """The family of a model, read off what its chat template made of `PROBES`, and a notice for a person, if any.

    ``applied`` holds the text for each probe, ``None`` where the template failed on it. ``bos`` is the text of the
    token that the engine would put before a prompt by itself, which templates are shown without. A template that
    can't be read (it repeats, changes or drops what it is given) gives ChatML, and the notice says so.
    """
    whole, talk = applied.get("system"), applied.get("talk")
    start = bos or (_lead(whole, talk) if whole and talk else "")
    pieces = _split(whole.removeprefix(start), (_SYSTEM, _FIRST, _ANSWER, _SECOND)) if whole else None
    bare = _split(talk.removeprefix(start), (_FIRST, _ANSWER, _SECOND)) if talk else None
    for family in FAMILIES.values():
        if _is(family, pieces, bare):
            return replace(family, bos=start or family.bos), None
    derived = _derived(pieces, bare)
    if derived is not None:
        return replace(derived, bos=start), None
    return replace(CHATML, bos=bos), (
        "The chat template of this model can't be read; its prompt is written as ChatML, which it may follow badly."
    )


async def probe_family(
    apply: Callable[[ChatMessages], Awaitable[str]], *, bos: str = "", failures: tuple[type[Exception], ...] = ()
) -> tuple[Family, str | None]:
    """`family_from_template` with the texts that ``apply`` gives; its ``failures`` mean that the template failed."""
    applied: dict[str, str | None] = {}
    for name, messages in PROBES.items():
        try:
            applied[name] = await apply(messages)
        except failures:
            applied[name] = None
    return family_from_template(applied, bos=bos)


def _split(text: str, bodies: Sequence[str]) -> list[str] | None:
    """What stands before, between and after the bodies; ``None`` unless each is there once, in order."""
    if any(text.count(body) != 1 for body in bodies):
        return None
    pieces = []
    for body in bodies:
        before, found, text = text.partition(body)
        if not found:
            return None
        pieces.append(before)
    return [*pieces, text]


def _lead(whole: str, talk: str) -> str:
    """A BOS token that the template itself writes: a marker that begins both texts and is nowhere else in them."""
    found = re.match(r"<[^<>\s]{1,32}>", whole)
    lead = found.group() if found else ""
    return lead if talk.startswith(lead) and whole.count(lead) == talk.count(lead) == 1 else ""


def _is(family: Family, pieces: list[str] | None, bare: list[str] | None) -> bool:
    """Whether a family writes the probes so, whatever words the template adds to a system turn, or as one."""
    turns = [family.user.after + family.assistant.before, family.assistant.after + family.user.before]
    turns.append(family.user.after + family.reply)
    if bare is None or bare[1:] != turns or not bare[0].endswith(family.user.before):
        return False
    if pieces is None:
        return family.system is None
    if pieces[2:] != turns:
        return False
    if family.system is None:
        return pieces[0] == family.user.before and not pieces[1].strip()
    return pieces[0].startswith(family.system.before) and pieces[1] == family.system.after + family.user.before


def _derived(pieces: list[str] | None, bare: list[str] | None) -> Family | None:
    """A family of the markers that stand between the bodies; ``None`` where they are more, or less, than markers."""
    if bare is None or (pieces is not None and pieces[2:] != bare[1:]):
        return None
    asked, answered, tail = bare[1:]
    if any(not piece or len(piece) > MAX_MARKER or _ODD.search(piece) for piece in bare[1:]):
        return None
    own = pieces[:2] if pieces is not None and pieces[1].strip() else None
    if own and any(len(piece) > MAX_MARKER or _ODD.search(piece) for piece in own):
        return None
    # The template may write a system turn of its own before the first user: only the common end is the marker.
    before = _common([answered[::-1], bare[0][::-1]])[::-1]
    before = before[_opening(own[0] if own else before, before) :]
    if not before.strip():
        return None
    cut = _opening(before, asked) or len(_common([asked, tail]))
    user, reply, end = Markers(before, asked[:cut]), tail[cut:], answered.removesuffix(before)
    if not tail.startswith(user.after) or not (user.after + reply).strip():
        return None
    system = None
    if own and own[1].endswith(before):
        system = Markers(own[0], own[1].removesuffix(before))
    if reply.rstrip().endswith("<think>"):
        # The envelope has no room for a thought: close the one that the template opens.
        reply = reply.rstrip() + "\n\n</think>\n\n"
    stop = tuple(dict.fromkeys(text for text in (end.strip(), before.strip()) if len(text) >= 2))
    return Family("template", system, user, Markers(asked[cut:], end), reply, stop, alternates=True)


def _common(texts: Sequence[str]) -> str:
    """The longest beginning of two texts that they share."""
    first, second = texts
    length = next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(map(len, texts)))
    return first[:length]


def _opening(opener: str, text: str) -> int:
    """Where in ``text`` a turn opens as ``opener`` does: the last place of the longest beginning that is there."""
    for length in range(len(opener), 1, -1):
        place = text.rfind(opener[:length])
        if place >= 0:
            return place
    return 0
