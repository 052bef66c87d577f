"""Looks a machine over: each finding is data, with a remedy where something is wrong. Nothing is printed here."""

from __future__ import annotations

import errno
import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tacid.config import Config
from tacid.engine import cpu, find
from tacid.engine.pins import Pin
from tacid.engine.process import start_engine
from tacid.engine.store import locate
from tacid.errors import EngineError, ModelError, TacidError

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: ``text`` is a sentence, ``remedy`` what to do where the status isn't ``ok``."""

    name: str
    status: Status
    text: str
    remedy: str = ""


async def examine(
    config: Config, extra: Sequence[Callable[[], Check]] = (), *, start: bool = True
) -> tuple[Check, ...]:
    """All findings about this machine and configuration.

    ``extra`` are checks of other parts (the services file). With ``start``, an engine that was found is started with
    the model that was found, which tells its build for certain. No finding raises.
    """
    checks = [python_check(), cpu_check()]
    engine, spec = engine_check(config)
    checks.append(engine)
    model, pin = model_check(config)
    checks += [model, memory_check(pin), port_check(config.server.port)]
    if start and spec is not None and engine.status != "fail" and (model.status != "fail" or spec.kind == "url"):
        checks.append(await start_check(config, spec))
    return (*checks, *(check() for check in extra))


def python_check(version: tuple[int, int] = sys.version_info[:2]) -> Check:
    """Whether this Python is one that tacid is tested with."""
    text = f"Python {version[0]}.{version[1]}."
    if (3, 11) <= version <= (3, 13):
        return Check("python", "ok", text)
    return Check("python", "warn", text, "Versions 3.11 to 3.13 are tested; use one of them.")


def cpu_check(cpuinfo: str | None = None) -> Check:
    """Whether the CPU has what the packaged engine needs. ``cpuinfo``: the text of ``/proc/cpuinfo``."""
    cores = cpu.physical_cores()
    counted = f"{cores} core{'' if cores == 1 else 's'}"
    if not cpu.is_x86():
        return Check("cpu", "ok", f"{counted}, no x86.")
    if missing := cpu.missing_features(cpuinfo):
        names = ", ".join(name.upper() for name in missing)
        remedy = (
            "Install a llama-server that chooses its code at run time (Debian: llama.cpp-tools), or set engine.url."
        )
        return Check("cpu", "warn", f"{counted}; the CPU lacks {names}, which the packaged engine needs.", remedy)
    return Check("cpu", "ok", f"{counted}, with {', '.join(name.upper() for name in cpu.PACKAGE_NEEDS)}.")


def memory_check(pin: Pin | None, memory: cpu.Memory | None = None) -> Check:
    """Whether the model fits into the memory that is available now."""
    memory = memory or cpu.memory()
    if memory is None:
        return Check(
            "memory", "warn", "How much memory there is can't be told.", "Look yourself before taking a large model."
        )
    text = f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB are available."
    if pin is not None and pin.memory > memory.available:
        return Check(
            "memory",
            "warn",
            f"{text[:-1]}; {pin.name} takes {pin.memory / 1e9:.1f} GB.",
            "End other programs, or take a smaller model (tacid model recommend).",
        )
    return Check("memory", "ok", text)


def engine_check(config: Config) -> tuple[Check, find.EngineSpec | None]:
    """Which engine there is, and whether the package can be loaded."""
    try:
        spec = find.find_engine(config.engine)
    except EngineError as error:
        text, _, remedy = str(error).partition(": ")
        return Check("engine", "fail", f"{text.rstrip('.')}.", remedy or "Correct the configuration."), None
    if spec.kind == "package" and (reason := _package_fault()):
        return Check("engine", "fail", f"The package {spec.where} can't be loaded.", reason), spec
    return Check(
        "engine", "ok", f"{spec.name[:1].upper()}{spec.name[1:]}{f', build {spec.version}' if spec.version else ''}."
    ), spec


def model_check(config: Config) -> tuple[Check, Pin | None]:
    """Whether the configured model is there and intact."""
    try:
        path, pin = locate(config.model)
    except ModelError as error:
        text, _, remedy = str(error).partition("; ")
        return Check("model", "fail", f"{text.rstrip('.')}.", f"{remedy[:1].upper()}{remedy[1:]}"), None
    kind = f"{pin.name}, as pinned" if pin else "a file of your own, whole as far as its head says"
    return Check("model", "ok", f"{path}: {kind}."), pin


def port_check(port: int) -> Check:
    """Whether the server's port is free on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EACCES:
                return Check("port", "fail", f"Port {port} is kept for root.", "Set server.port to one above 1023.")
            return Check(
                "port", "warn", f"Port {port} is taken.", "If that isn't tacid itself, set server.port to another."
            )
    return Check("port", "ok", f"Port {port} is free.")


async def start_check(config: Config, spec: find.EngineSpec) -> Check:
    """Whether the engine starts with the model, and how long that takes."""
    begun = time.monotonic()
    try:
        path, pin = (None, None) if spec.kind == "url" else locate(config.model)
        async with start_engine(
            spec, path, config.engine, flash_attention=pin.flash_attention if pin else None
        ) as engine:
            seconds = time.monotonic() - begun
            return Check(
                "start",
                "ok",
                f"Build {engine.build} is ready after {seconds:.1f} s, with {engine.context:,} tokens of context.",
            )
    except TacidError as error:
        text, _, remedy = str(error).partition("; ")
        return Check("start", "fail", f"{text.rstrip('.')}.", f"{remedy[:1].upper()}{remedy[1:]}")


def _package_fault() -> str:
    if importlib.util.find_spec(find.PACKAGE) is None:
        return "Install it: pip install 'tacid[engine]'."
    try:
        tried = subprocess.run(
            [sys.executable, "-P", "-m", "tacid.engine.child", "--try"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"It was tried and failed: {error}."
    if tried.returncode == 0:
        return ""
    said = next((line for line in tried.stderr.splitlines() if line.startswith("tacid: ")), "")
    return f"{said.removeprefix('tacid: ')}." if said else f"It ended with code {tried.returncode}; install it again."
