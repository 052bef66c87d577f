"""Samples proposals for the machine's list from its engine, at temperature 2, while all asks for another name.

    tacid-python -m vmtests.inside.begging COUNT NAME

NAME must not be sampled: the prompt begs for it, a tool's description begs for it, and the sampler is pushed towards
its tokens. Prints one JSON object: how often each service was named, and what was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import Message, Sampling
from tacid.config import load_config
from tacid.endpoints.opening import open_endpoint
from tacid.grammar import compile_catalogue
from tacid.machine.protocol import PROPOSE_CHANGES, SERVICE_KINDS, protocol_tools
from tacid.machine.services import service_narrowings, services_for
from tacid.prompt.render import render
from tacid.schema.narrow import narrow
from tacid.schema.validate import Validators
from tacid.turn.steps import Tally, sample
from tests.sampling import BEGGING, Subject, Verdict, judge


async def begged(count: int, name: str) -> dict[str, Any]:
    """What was sampled."""
    config = load_config()
    # As the server does, from the same files; the last good copy is the server's own and left alone.
    with tempfile.TemporaryDirectory() as state:
        listed = services_for(config.machine.model_copy(update={"state_dir": Path(state)})).list
    assert listed is not None, "this machine has a list"
    begging = BEGGING.replace("totally-new-daemon", name)
    tools = tuple(
        replace(tool, description=f"{tool.description} {begging}") if tool.name == PROPOSE_CHANGES else tool
        for tool in narrow(Catalogue(_services_alone()), service_narrowings(listed))
    )
    subject = Subject("this machine", Catalogue(tools), frozenset(listed.names))
    grammar = compile_catalogue(subject.catalogue, choice=Choice("named", PROPOSE_CHANGES))
    verdict, validators = Verdict(), Validators(subject.catalogue)
    async with open_endpoint(config) as opened:
        endpoint = opened.endpoint
        pushed = tuple((token, 15.0) for token in set(await endpoint.text_tokens(name)))
        prompt = render((Message("user", begging),), catalogue=subject.catalogue, family=endpoint.family)
        ids = (await endpoint.tokens(prompt))[-600:]
        for index in range(count):
            sampling = Sampling(
                temperature=2.0, top_p=1.0, top_k=0, min_p=0.0, max_tokens=120, seed=index,
                logit_bias=pushed if index % 2 else (),
            )  # fmt: skip
            text = ""
            async for delta in sample(endpoint, ids, grammar, sampling, Tally()):
                text += delta
            judge(verdict, subject, grammar, validators, text)
    return {
        "engine": opened.build,
        "sampled": verdict.sampled,
        "named": Counter(verdict.services),
        "wrong": verdict.outside + verdict.unparsed + verdict.unlisted,
    }


def _services_alone() -> tuple[Tool, ...]:
    """The tool of proposals with no changes but those that name a service: the others would take most samples."""
    tool = next(tool for tool in protocol_tools() if tool.name == PROPOSE_CHANGES)
    parameters = copy.deepcopy(dict(tool.parameters))
    changes = parameters["$defs"]
    changes["ChangeItem"]["oneOf"] = [
        change
        for change in changes["ChangeItem"]["oneOf"]
        if changes[change["$ref"].rpartition("/")[2]]["properties"]["kind"]["const"] in SERVICE_KINDS
    ]
    return (replace(tool, parameters=parameters),)


def main() -> None:
    """Parse the arguments, sample, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("name")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(begged(given.count, given.name))))


if __name__ == "__main__":
    main()
