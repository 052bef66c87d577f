"""What a prompt begins with, as keys: requests that share one are best taken by the slot that has read it."""

from __future__ import annotations

import hashlib

from tacid.api.request import ChatRequest
from tacid.chat import Message
from tacid.jsontext import dumps


def conversation(chat: ChatRequest) -> tuple[str, ...]:
    """What the prompt begins with, longest first: the conversation, and what stands before the first request."""
    tools = key_of(dumps([[tool.name, tool.parameters] for tool in chat.tools]))
    lead: list[Message] = []
    for message in chat.messages:
        lead.append(message)
        if message.role == "user":
            break
    return (key_of(tools, *(f"{message.role}:{message.content}" for message in lead)), tools)


def key_of(*parts: str) -> str:
    """A key of texts."""
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        hashed.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return hashed.hexdigest()


__all__ = ["conversation", "key_of"]
