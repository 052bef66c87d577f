"""Control tokens whose text stands in a schema: under a grammar they must not be sampled in the place of that text.

A sampler that is held to a grammar takes a control token for its text, ``<|im_start|>`` of an enum say, but the engine
writes none of it: a reply would lack what the grammar demanded of it.
"""

from __future__ import annotations

import math
import re
from typing import Any

from tacid.catalogue import Catalogue
from tacid.endpoints.local import LocalEndpoint
from tacid.jsontext import dumps
from tacid.prompt.segments import Prompt, Segment

#: How control tokens are written, by all vocabularies that are known to us: ``<s>``, ``<|im_start|>``, ``[INST]``.
_LIKELY = re.compile(r"<[^<>\s]{1,60}>|\[/?[a-z]?[A-Z_]{2,40}\]")
#: Texts of a catalogue that are looked at.
MAX_TEXTS = 512


async def without_lookalikes(
    endpoint: LocalEndpoint, catalogue: Catalogue, answer: Any
) -> tuple[tuple[int | str, float], ...]:
    """Biases (`tacid.chat.Sampling`) that keep control tokens out of the texts of a catalogue and an answer's schema.

    Those that end a reply are not among them: the engine takes these only where the grammar ends. Raises
    ``EngineError``.
    """
    texts = _likely(catalogue, answer)
    if not texts:
        return ()
    together = "\n".join(texts)
    if set(await _tokens(endpoint, together, special=True)) <= set(await _tokens(endpoint, together, special=False)):
        return ()
    ends = {*endpoint.family.stop, (await endpoint.client.props()).eos}
    found: list[tuple[int | str, float]] = []
    for text in texts:
        if text in ends:
            continue
        ids = await _tokens(endpoint, text, special=True)
        if len(ids) == 1 and ids != await _tokens(endpoint, text, special=False):
            found.append((ids[0], -math.inf))
    return tuple(found)


def _likely(catalogue: Catalogue, answer: Any) -> list[str]:
    written = [dumps([tool.name, tool.parameters]) for tool in catalogue]
    if answer is not None:
        written.append(dumps(answer))
    return list(dict.fromkeys(text for each in written for text in _LIKELY.findall(each)))[:MAX_TEXTS]


async def _tokens(endpoint: LocalEndpoint, text: str, *, special: bool) -> list[int]:
    return await endpoint.tokens(Prompt((Segment(text, special),)))


__all__ = ["MAX_TEXTS", "without_lookalikes"]
