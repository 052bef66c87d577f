"""Tries the whole server against its own description: ``python -m tests.bench.described --minutes 10``.

schemathesis makes requests out of the description, proper and improper ones, and judges the answers: no 5xx, and no
status, content type, header or body that isn't described. The engine is a real one with random weights.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from tacid.config import EngineConfig
from tacid.engine.download import fetch
from tacid.engine.find import find_engine
from tacid.engine.pins import find_pin
from tacid.engine.process import Engine, start_engine
from tests.engine.random_model import make_random_model
from tests.serving import Served, joined, serving

#: What is judged. Whether a request of a wrong shape is refused isn't: histories are read as they are found in the wild.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
#: Tokens of a reply: what is written doesn't matter here.
TOKENS = 24


def settings(engine: Engine) -> Any:
    """The configuration of a server for this: short replies, everything else as people have it."""
    return joined(engine, server={"max_tokens": TOKENS}, model={"aliases": {"an-alias": "random"}})


def narrowed(description: Any) -> Any:
    """The description with models that are served, and one that isn't, in place of any text."""
    if isinstance(description, list):
        return [narrowed(part) for part in description]
    if not isinstance(description, dict):
        return description
    found = {key: narrowed(value) for key, value in description.items()}
    if isinstance(found.get("example"), dict):
        found["example"]["model"] = "random"
    properties = found.get("properties")
    if isinstance(properties, dict) and {"messages", "prompt", "input"} & properties.keys() and "model" in properties:
        properties["model"] = {"enum": ["random", "an-alias", "random:latest", "nope"]}
    return found


def tried(server: Served, seconds: int, *, seed: int | None = None) -> subprocess.CompletedProcess[str]:
    """One run of schemathesis for about so many seconds; its exit code is nought where nothing was found."""
    described = narrowed(httpx.get(f"{server.url}/openapi.json").json())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "openapi.json"
        file.write_text(json.dumps(described), encoding="utf-8")
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", str(file), "--url", server.url, "--no-color",
            "--checks", ",".join(CHECKS), "--max-time", str(seconds), "--workers", "2", "--request-timeout", "60",
            "--suppress-health-check", "all", "--warnings", "off", "--continue-on-failure",
            # Its phase of coverage makes hypothesis read the syntax trees of large schemas, deeper than Python recurses.
            "--phases", "examples,fuzzing,stateful",
            *(("--seed", str(seed)) if seed is not None else ()),
        ]  # fmt: skip
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds * 3 + 120)


async def _main(minutes: float, seed: int | None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        model = make_random_model(Path(folder) / "random.gguf", fetch(find_pin("smollm2"), _models()))
        config = EngineConfig(slots=2, context=8192, threads=1)
        async with start_engine(find_engine(config), model, config) as engine:
            return await asyncio.to_thread(_tried, engine, minutes, seed)


def _tried(engine: Engine, minutes: float, seed: int | None) -> int:
    with serving(settings(engine)) as server:
        done = tried(server, max(1, round(minutes * 60)), seed=seed)
        print(done.stdout, done.stderr)
        for (path, status), count in sorted(answered(server).items()):
            print(f"{count:6} {status} {path}")
    return done.returncode


def answered(server: Served) -> Counter[tuple[str, int]]:
    """How many answers there were by path, long ones cut, and status: whether anything was reached at all."""
    lines = (line for line in server.log() if line.get("event") == "request")
    return Counter((str(line["path"])[:24], int(line["status"] or 0)) for line in lines)


def _models() -> Path:
    return Path.home() / ".cache" / "tacid-tests"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    sys.exit(asyncio.run(_main(given.minutes, given.seed)))
