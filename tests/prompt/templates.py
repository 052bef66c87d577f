"""Chat templates as functions of the messages, shaped after ones in the wild and after ones gone wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tacid.prompt.families import PROBES

Talk: TypeAlias = Sequence[Mapping[str, str]]
Template: TypeAlias = Callable[[Talk], str]


def turns(form: str, reply: str, start: str = "") -> Template:
    """One form (``{role}``, ``{content}``) for every turn."""
    return lambda talk: start + "".join(form.format(**message) for message in talk) + reply


def forms(by_role: Mapping[str, str], reply: str, start: str = "") -> Template:
    """A form of its own for each role."""
    return lambda talk: start + "".join(by_role[m["role"]].format(m["content"]) for m in talk) + reply


def system_in_user(template: Template, form: str = "{system}\n\n{user}") -> Template:
    """The system text put before the first user's."""

    def applied(talk: Talk) -> str:
        if talk[0]["role"] != "system":
            return template(talk)
        first = {"role": "user", "content": form.format(system=talk[0]["content"], user=talk[1]["content"])}
        return template([first, *talk[2:]])

    return applied


def default_system(template: Template, text: str) -> Template:
    """A system turn of the template's own where there is none."""
    return lambda talk: template(talk if talk[0]["role"] == "system" else [{"role": "system", "content": text}, *talk])


def refuses_system(template: Template) -> Template:
    def applied(talk: Talk) -> str:
        if talk[0]["role"] == "system":
            raise ValueError("System role not supported")
        return template(talk)

    return applied


def refuses_all(talk: Talk) -> str:
    raise ValueError("Conversation roles must alternate")


CHATML = turns("<|im_start|>{role}\n{content}<|im_end|>\n", "<|im_start|>assistant\n")
QWEN3 = turns(
    "<|im_start|>{role}\n{content}<|im_end|>\n", "<|im_start|>assistant\n<think>\n\n</think>\n\n"
)  # thinking switched off
LLAMA3_TURNS = turns(
    "<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
)
GEMMA_TURNS = forms(
    {
        "user": "<start_of_turn>user\n{}<end_of_turn>\n",
        "assistant": "<start_of_turn>model\n{}<end_of_turn>\n",
    },
    "<start_of_turn>model\n",
)
ZEPHYR = turns("<|{role}|>\n{content}</s>\n", "<|assistant|>\n")
MISTRAL = system_in_user(forms({"user": "[INST] {}[/INST]", "assistant": " {}</s>"}, "", "<s>"))
LLAMA2 = system_in_user(
    forms({"user": "<s>[INST] {} [/INST]", "assistant": " {} </s>"}, ""), "<<SYS>>\n{system}\n<</SYS>>\n\n{user}"
)
VICUNA = default_system(
    forms({"system": "{}\n\n", "user": "USER: {} ", "assistant": "ASSISTANT: {}</s>"}, "ASSISTANT:"),
    "A chat between a curious user and an assistant.",
)
THINKER = forms(
    {"system": "{}", "user": "<|User|>{}", "assistant": "<|Assistant|>{}<|end|>"}, "<|Assistant|><think>\n", "<|begin|>"
)


def llama31(talk: Talk) -> str:
    """Writes the date into a system turn of its own making."""
    system = talk[0]["content"] if talk[0]["role"] == "system" else ""
    dated = f"Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n{system}"
    rest = talk[1:] if talk[0]["role"] == "system" else talk
    return "<|begin_of_text|>" + LLAMA3_TURNS([{"role": "system", "content": dated}, *rest])


def applied(template: Template) -> dict[str, str | None]:
    """What ``/apply-template`` would say for each probe."""
    texts: dict[str, str | None] = {}
    for name, talk in PROBES.items():
        try:
            texts[name] = template(talk)
        except ValueError:
            texts[name] = None
    return texts
