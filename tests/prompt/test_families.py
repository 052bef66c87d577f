from __future__ import annotations

import pytest

from tacid.catalogue import Catalogue
from tacid.chat import Message
from tacid.prompt.families import (
    CHATML,
    FAMILIES,
    GEMMA,
    LLAMA3,
    PROBES,
    QWEN3,
    Family,
    family_from_template,
    probe_family,
)
from tacid.prompt.render import render
from tests.prompt import templates
from tests.prompt.templates import Template, applied

TALK = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
SYSTEM_TALK = (Message("system", "s"), *TALK)


def as_talk(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


@pytest.mark.parametrize(
    ("template", "family"),
    [
        (templates.CHATML, CHATML),
        (templates.default_system(templates.CHATML, "You are Qwen, made to help."), CHATML),
        (templates.QWEN3, QWEN3),
        (templates.LLAMA3_TURNS, LLAMA3),
        (templates.llama31, LLAMA3),
        (templates.refuses_system(templates.GEMMA_TURNS), GEMMA),
        (templates.system_in_user(templates.GEMMA_TURNS), GEMMA),
    ],
)
def test_a_known_family_is_recognised(template: Template, family: Family) -> None:
    assert family_from_template(applied(template)) == (family, None)


@pytest.mark.parametrize(
    ("template", "system"),
    [
        (templates.ZEPHYR, True),
        (templates.VICUNA, True),
        (templates.THINKER, True),
        (templates.MISTRAL, False),
        (templates.LLAMA2, False),
        (templates.turns("### {role}:\n{content}\n\n", "### assistant:\n"), True),
        (templates.default_system(templates.ZEPHYR, "Be kind."), True),
        (templates.refuses_system(templates.ZEPHYR), False),
        (lambda talk: templates.ZEPHYR([m for m in talk if m["role"] != "system"]), False),
    ],
)
def test_an_unknown_template_is_followed_to_the_byte(template: Template, system: bool) -> None:
    family, notice = family_from_template(applied(template))
    assert notice is None
    assert family.name == "template"
    assert (family.system is not None) is system
    ours = render(TALK, catalogue=Catalogue(), family=family).text
    theirs = template(as_talk(TALK))
    # What the template adds of its own: a default system turn before, an open thought after, which ours closes.
    assert theirs.endswith(ours.removeprefix(family.bos).removesuffix("\n</think>\n\n"))
    if system:
        ours = render(SYSTEM_TALK, catalogue=Catalogue(), family=family).text
        assert ours.removesuffix("\n</think>\n\n") == template(as_talk(SYSTEM_TALK))


@pytest.mark.parametrize(
    "template",
    [
        templates.refuses_all,
        lambda talk: "",
        lambda talk: templates.ZEPHYR(talk).upper(),
        lambda talk: templates.ZEPHYR([*talk, *talk]),
        lambda talk: templates.ZEPHYR(talk[::-1]),
        lambda talk: templates.ZEPHYR(talk[-1:]),
        lambda talk: "".join(m["content"] for m in talk),
        lambda talk: "Today is 2031-05-04.\n" + templates.ZEPHYR(talk),
        templates.turns("<|{role}|>\nSee https://example.org\n{content}</s>\n", "<|assistant|>\n"),
        templates.turns("<|{role}|>" + "x" * 500 + "{content}</s>\n", "<|assistant|>\n"),
        lambda talk: repr(talk),
    ],
)
def test_a_template_that_cannot_be_read_gives_chatml_and_a_notice(template: Template) -> None:
    family, notice = family_from_template(applied(template))
    assert family == CHATML
    assert notice is not None
    assert "ChatML" in notice


def test_no_probes_at_all_give_chatml_and_a_notice() -> None:
    family, notice = family_from_template({})
    assert family == CHATML
    assert notice


@pytest.mark.parametrize("written", [True, False])
def test_a_bos_token_stands_once_whether_the_template_or_the_engine_writes_it(written: bool) -> None:
    template = templates.turns(
        "<|im_start|>{role}\n{content}<|im_end|>\n", "<|im_start|>assistant\n", "<s>" if written else ""
    )
    for bos in ("<s>",) if not written else ("<s>", ""):
        family, notice = family_from_template(applied(template), bos=bos)
        assert notice is None
        assert family.bos == "<s>"
        assert family.user == CHATML.user
        prompt = render(TALK, catalogue=Catalogue(), family=family)
        assert prompt.text.count("<s>") == 1
        assert prompt.segments[0].text.startswith("<s><|im_start|>")
        assert prompt.segments[0].special


def test_an_open_thought_is_closed_before_the_envelope() -> None:
    family, _ = family_from_template(applied(templates.THINKER))
    assert family.reply.endswith("<think>\n\n</think>\n\n")


def test_a_read_family_stops_where_the_turn_of_the_assistant_ends() -> None:
    family, _ = family_from_template(applied(templates.ZEPHYR))
    assert family.stop == ("</s>", "<|user|>")


async def test_a_template_is_probed_through_the_engine() -> None:
    asked: list[int] = []

    async def apply(messages: object) -> str:
        talk = next(talk for talk in PROBES.values() if talk is messages)
        asked.append(len(talk))
        if len(talk) == 4:
            raise ConnectionError("500: System role not supported")
        return templates.GEMMA_TURNS(talk)

    assert await probe_family(apply, failures=(ConnectionError,)) == (GEMMA, None)
    assert asked == [4, 3]
    with pytest.raises(ConnectionError):
        await probe_family(apply)


def test_every_family_stands_under_its_name_and_closes_what_it_opens() -> None:
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family.reply.startswith(family.assistant.before)
        assert family.user.before
        assert all(family.stop)
