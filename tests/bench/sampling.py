"""Thousands of completions at temperature 2.0: none outside the grammar, none that doesn't parse, no unlisted service.

    python -m tests.bench.sampling [--count 2000] [--model smollm2-135m-instruct|random]

Needs SmolLM2 (`tacid model pull smollm2-135m-instruct`). With the random-weight model (made on the spot; wants
anything) and with SmolLM2, over every catalogue of
`tests/cases` and the example machine; then the same with the list changed between two turns, with `logit_bias`
pushing another service's name, and with a prompt that begs for it. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from rich.progress import Progress

from tacid.config import load_config
from tacid.endpoints.opening import open_endpoint
from tacid.engine.store import locate
from tests.engine.random_model import make_random_model
from tests.sampling import BEGGING, EXAMPLES, Verdict, machine, sample_many, subjects


async def run(model: str, count: int) -> list[tuple[str, Verdict]]:
    """All samples with one model; the verdict of each part."""
    config = load_config()
    config = config.model_copy(
        update={
            "model": config.model.model_copy(update={"name": model}),
            "engine": config.engine.model_copy(update={"slots": 2, "context": 4096, "threads": 1}),
        }
    )
    results: list[tuple[str, Verdict]] = []
    everything = list(subjects())
    async with open_endpoint(config) as opened:
        endpoint = opened.endpoint
        with Progress(transient=True) as progress:
            main = Verdict()
            each = -(-count // len(everything))
            task = progress.add_task(f"{Path(model).name}: {len(everything)} catalogues", total=len(everything))
            for number, subject in enumerate(everything):
                await sample_many(endpoint, subject, main, each, seed=1000 * number, together=2)
                progress.advance(task)
            results.append(("every catalogue", main))
            begging = Verdict()
            example = machine("example-machine", EXAMPLES / "services.json")
            few = max(20, count // 10)
            await sample_many(endpoint, example, begging, few, requests=(BEGGING,), together=2)
            results.append(("a prompt that begs", begging))
            pushed = Verdict()
            ids = await endpoint.text_tokens("totally-new-daemon")
            bias = tuple((token, 15.0) for token in ids)
            await sample_many(endpoint, example, pushed, few, logit_bias=bias, requests=(BEGGING,), together=2)
            results.append(("logit_bias for another name", pushed))
            changed = Verdict()
            with tempfile.TemporaryDirectory() as folder:
                for turn, names in enumerate((["nginx", "sshd"], ["postgresql", "totally-new-daemon"])):
                    file = Path(folder) / f"services-{turn}.json"
                    file.write_text(json.dumps(names), encoding="utf-8")
                    await sample_many(endpoint, machine(f"turn {turn}", file), changed, few // 2, together=2)
            results.append(("the list changed between two turns", changed))
    return results


def main() -> int:
    """Parse the arguments, sample, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--model", action="append", help="smollm2-135m-instruct, random, or a path; may be repeated")
    given = parser.parse_args()
    bad = 0
    print("| model | part | sampled | finished | calls | outside | unparsed | unlisted | invalid (widened) | mangled |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.model or ["random", "smollm2-135m-instruct"]:
            model = name
            if name == "random":
                model = str(Path(folder) / "random.gguf")
                make_random_model(Path(model), locate(load_config().model)[0])
            for part, verdict in asyncio.run(run(model, given.count)):
                row = (name, part, verdict.sampled, verdict.finished, verdict.calls)
                wrong = (
                    len(verdict.outside),
                    len(verdict.unparsed),
                    len(verdict.unlisted),
                    verdict.invalid,
                    verdict.mangled,
                )
                print("|", " | ".join(str(cell) for cell in (*row, *wrong)), "|", flush=True)
                for line in (verdict.outside + verdict.unparsed + verdict.unlisted)[:5]:
                    print(f"  {line}", file=sys.stderr)
                bad += not verdict.ok()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
