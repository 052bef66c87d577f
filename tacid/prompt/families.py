"""How the turns of a conversation are marked, by family of models: a table of data.

Sources: the chat templates that publishers ship in ``tokenizer_config.json`` and GGUF metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Markers:
    """What stands before and after the body of a turn."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Family:
    """The turn markers of a family of models.

    ``system`` is ``None`` where the family has no such turn: its text then opens the first turn of the user.
    ``reply`` opens the turn that the model writes. ``bos`` is the text of the token that a prompt begins with, empty
    where the family wants none. ``stop`` ends a reply in plain words should the end-of-turn token come as text.
    ``alternates``: two turns of the user in a row are joined to one.
    """

    name: str
    system: Markers | None
    user: Markers
    assistant: Markers
    reply: str
    stop: tuple[str, ...]
    bos: str = ""
    alternates: bool = False


CHATML = Family(
    name="chatml",
    system=Markers("<|im_start|>system\n", "<|im_end|>\n"),
    user=Markers("<|im_start|>user\n", "<|im_end|>\n"),
    assistant=Markers("<|im_start|>assistant\n", "<|im_end|>\n"),
    reply="<|im_start|>assistant\n",
    stop=("<|im_end|>",),
)

#: Qwen3 thinks before it speaks unless its turn opens with an empty thought; the envelope leaves no room for one.
QWEN3 = replace(CHATML, name="qwen3", reply=CHATML.reply + "<think>\n\n</think>\n\n")

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
