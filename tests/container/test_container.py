"""The image for people, built and run here, reached from outside by OpenAI's own client."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from tests.container import machine

pytestmark = [pytest.mark.container, pytest.mark.engine, pytest.mark.model]

UID = 10017
KEY = secrets.token_hex(24)
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["city", "days"],
        },
    },
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A daemon for containers, to which testcontainers is pointed as well."""
    if why := machine.missing():
        pytest.skip(f"no containers here: {why}")
    with ExitStack() as stack:
        try:
            found = stack.enter_context(machine.daemon())
        except RuntimeError as error:
            pytest.skip(f"no containers here: {error}")
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DOCKER_HOST", found)
        # Its reaper is an image of a registry.
        patch.setattr(testcontainers_config, "ryuk_disabled", True)
        yield found


@pytest.fixture(scope="module")
def image(address: str, models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    base = machine.base(address, models_dir / "containers")
    return machine.build(address, machine.context(tmp_path_factory.mktemp("image")), base)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"ada:{KEY}\n", encoding="ascii")
    path.chmod(0o400)
    os.chown(path, UID, UID)
    tmp_path.chmod(0o755)
    return path


@pytest.fixture
def server(address: str, image: str, keys: Path, random_model: Path) -> Iterator[tuple[DockerContainer, str]]:
    """The container, as docs/container.md starts it, and its address on this machine."""
    random_model.chmod(0o644)
    container = (
        DockerContainer(image)
        .with_env("TACID_MODEL__NAME", "/models/random.gguf")
        .with_env("TACID_ENGINE__CONTEXT", "2048")
        .with_volume_mapping(str(keys), "/etc/tacid/keys", "ro")
        .with_volume_mapping(str(random_model), "/models/random.gguf", "ro")
    )
    # Published on loopback alone.
    container.ports["8017/tcp"] = ("127.0.0.1", None)
    with container:
        url = f"http://127.0.0.1:{container.get_exposed_port(8017)}"
        end = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{url}/ready", headers={"x-api-key": KEY}).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            out, err = container.get_logs()
            assert time.monotonic() < end, (out + err).decode()[-2000:]
            time.sleep(0.2)
        yield container, url


def test_openais_client_gets_a_call_from_outside(server: tuple[DockerContainer, str]) -> None:
    container, url = server
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        reply = client.chat.completions.create(
            model="random", messages=[{"role": "user", "content": "Weather?"}], tools=[TOOL], tool_choice="required"
        )
    function = reply.choices[0].message.tool_calls[0].function
    arguments = json.loads(function.arguments)
    assert function.name == "weather"
    assert set(arguments) == {"city", "days"}
    assert arguments["city"] in ("Oslo", "Rome")
    assert type(arguments["days"]) is int and 1 <= arguments["days"] <= 9
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="another-key-of-24-letters", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.models.list()

    who = container.get_wrapped_container().exec_run(["id", "-u"]).output.decode().strip()
    assert who == str(UID), "nothing in it runs as root"
    written = container.get_wrapped_container().exec_run(["touch", "/opt/tacid/x", "/etc/tacid/x"])
    assert written.exit_code != 0, "its own code and keys can't be changed from inside"

    wrapped = container.get_wrapped_container()
    begun = time.monotonic()
    wrapped.stop(timeout=20)
    wrapped.reload()
    assert wrapped.attrs["State"]["ExitCode"] == 0
    assert time.monotonic() - begun < 15, "it ended when it was asked to, not when it was killed"


def test_without_keys_it_says_why_it_does_not_start(address: str, image: str, random_model: Path) -> None:
    model = ("--volume", f"{random_model}:/models/random.gguf:ro", "--env", "TACID_MODEL__NAME=/models/random.gguf")
    done = machine.docker(address, "run", "--rm", *model, image, check=False)
    assert done.returncode == 1
    assert "/etc/tacid/keys" in done.stderr
    assert "server.keys" in done.stderr


def test_a_model_is_fetched_into_the_volume_by_the_same_image(address: str, image: str) -> None:
    done = machine.docker(address, "run", "--rm", image, "model", "path", "smollm2", check=False)
    assert done.stdout.strip().startswith("/models/")
    assert "tacid model pull" in done.stderr
    made = machine.docker(address, "run", "--rm", "--entrypoint", "touch", image, "/models/x", check=False)
    assert made.returncode == 0, "the volume is the server's own to write"
