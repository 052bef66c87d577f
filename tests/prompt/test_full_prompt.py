"""The prompt of the mode full, byte for byte as it was recorded before there were other modes."""

from __future__ import annotations

from pathlib import Path

from tacid.catalogue import Catalogue, Tool
from tacid.chat import Call, Message
from tacid.prompt.render import render

RECORDED = Path(__file__).parent / "full_prompt.txt"
CATALOGUE = Catalogue(
    tuple(
        Tool(
            name,
            f"Does {name}. And more.",
            {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"enum": ["a", "b"], "description": "Which one."}},
                "required": ["x"],
            },
        )
        for name in ("zebra_set", "apple_get", "lamp_read")
    )
)
MESSAGES = (
    Message("system", "Be brief."),
    Message("user", "Set the zebra to 3."),
    Message("assistant", calls=(Call("zebra_set", {"x": 3}, id="c1"),)),
    Message("tool", "done", call_id="c1"),
    Message("user", "And now?"),
)


def test_it_is_what_it_was() -> None:
    prompt = render(MESSAGES, catalogue=CATALOGUE, facts=("It is a test.",))
    assert prompt.text.encode() == RECORDED.read_bytes()
