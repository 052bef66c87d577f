"""The command ``python -m tests.bench.decide``: call or answer, by wording, from one token a request.

Right after ``{"`` the model chooses between ``tool`` and ``say``. For each wording: how many of the thirty requests
are called, how many of the twenty are answered in words, and where a cut at another difference of the two log
probabilities than 0 would serve best.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tacid.chat import Message
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import TacidError
from tacid.prompt.render import render
from tacid.prompt.words import Words
from tests.bench.calls import OUT, chosen, opened, options, write
from tests.bench.callset import CallSet, load_callset

#: Most probable tokens that are looked at; what is not among them counts as the least of them.
PROBABILITIES = 300
OPENING = '{"'


async def margin(endpoint: LocalEndpoint, calls: CallSet, words: Words, text: str) -> float:
    """log p(tool) - log p(say) right after the opening of the envelope."""
    prompt = render((Message("user", text),), catalogue=calls.catalogue, family=endpoint.family, words=words)
    ids = [*await endpoint.tokens(prompt), *await endpoint.text_tokens(OPENING)]
    body = {"prompt": ids, "n_predict": 1, "n_probs": PROBABILITIES, "temperature": 0, "cache_prompt": True}
    answer = await endpoint.client._ask("POST", "/completion", body)
    found = {entry["token"]: entry["logprob"] for entry in answer["completion_probabilities"][0]["top_logprobs"]}
    least = min(found.values())
    return float(found.get("tool", least) - found.get("say", least))


def best_cut(calls: list[float], answers: list[float]) -> tuple[float, int, int]:
    """The cut with the most right decisions (the nearest to 0 of these), and what is right then."""
    cuts = [tenth / 10 for tenth in range(-80, 81)]
    right = {cut: (sum(m > cut for m in calls), sum(m <= cut for m in answers)) for cut in cuts}
    cut = max(cuts, key=lambda one: (sum(right[one]), -abs(one)))
    return cut, *right[cut]


async def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    calls = load_callset(args.set)
    rows = []
    async with opened(args) as endpoint:
        print("| words | called | in words | right | best cut | then |\n|" + " --- |" * 6)
        for name, words in chosen(args.words).items():
            wanted = [await margin(endpoint, calls, words, r.text) for r in calls.requests[: args.limit]]
            unwanted = [await margin(endpoint, calls, words, text) for text in calls.answers[: args.limit]]
            called, said = sum(m > 0 for m in wanted), sum(m <= 0 for m in unwanted)
            cut, then_called, then_said = best_cut(wanted, unwanted)
            print(
                f"| {name} | {called} | {said} | {called + said} | {cut:.1f} | {then_called} / {then_said} |",
                flush=True,
            )
            rows.append({"words": name, "calls": wanted, "answers": unwanted})
        model, build = endpoint.model, endpoint.build
    write(args.out or OUT / f"decide-{Path(model).stem}.json", {"model": model, "engine": build, "rows": rows})


def main() -> None:
    """The command."""
    try:
        asyncio.run(run(options("Call or answer, by wording.").parse_args()))
    except TacidError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
