"""Shows the machine's own engine every grammar of the cases, the example machine and the catalogues, and draws samples.

    tacid-python -m vmtests.inside.grammars [--each 1] [--more FILE]

``--more`` names a JSON list of further grammars. Prints one JSON object: what was refused, and what the samples were.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from tacid.config import load_config
from tacid.endpoints.opening import open_endpoint
from tacid.errors import TacidError
from tacid.grammar import compile_catalogue
from tests.sampling import Verdict, sample_many, subjects


async def shown(each: int, more: list[str]) -> dict[str, Any]:
    """What the engine says."""
    refused: list[str] = []
    verdict = Verdict()
    async with open_endpoint(load_config()) as opened:
        everything = list(subjects())
        texts = dict.fromkeys(more)
        for subject in everything:
            texts.update(dict.fromkeys(compile_catalogue(subject.catalogue).texts()))
        for text in texts:
            try:
                await opened.endpoint.client.check_grammar(text)
            except TacidError as error:
                refused.append(f"{error}: {text[:1000]}")
        for number, subject in enumerate(everything):
            await sample_many(opened.endpoint, subject, verdict, each, seed=1000 * number, max_tokens=64, tail=32)
        return {
            "engine": opened.build,
            "subjects": len(everything),
            "grammars": len(texts),
            "refused": refused,
            "sampled": verdict.sampled,
            "wrong": verdict.outside + verdict.unparsed + verdict.unlisted,
        }


def main() -> None:
    """Parse the arguments, ask, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--more", type=Path)
    given = parser.parse_args()
    more = json.loads(given.more.read_text(encoding="utf-8")) if given.more else []
    print(json.dumps(asyncio.run(shown(given.each, more))))


if __name__ == "__main__":
    main()
