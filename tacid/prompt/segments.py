"""A prompt in pieces that say who wrote them: ours may hold control tokens, everyone else's never does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of prompt text.

    ``special``: written by us, tokenised with the model's control tokens. Otherwise the text comes, at least in
    part, from outside: it is tokenised without control tokens (``/tokenize`` with ``parse_special: false``) and sent
    as ids, so that ``<|im_end|>`` in it stays ten harmless characters.
    """

    text: str
    special: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads, in order.

    A BOS token, where the family wants one, stands in the first segment as text; so no segment may be tokenised
    with ``add_special``, which would put a second one before it.
    """

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """All of it as one string, for people and tests; never for the engine."""
        return "".join(segment.text for segment in self.segments)


def join(segments: Iterable[Segment]) -> Prompt:
    """A prompt of these segments: empty ones dropped, neighbours of one kind merged.

    Merged, because a tokenizer joins characters across a seam that it can't see.
    """
    merged: list[Segment] = []
    for segment in segments:
        if not segment.text:
            continue
        if merged and merged[-1].special == segment.special:
            merged[-1] = Segment(merged[-1].text + segment.text, segment.special)
        else:
            merged.append(segment)
    return Prompt(tuple(merged))
