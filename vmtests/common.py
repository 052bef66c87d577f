# What the scripts share. A driver gives a script one text, so this stands before each of them and is no module.
import json
import shlex
from typing import Any

#: Whether few samples are enough. Our own runner says so; without a word it is the whole numbers.
SHORT = bool(globals().get("SHORT"))
#: The gateway, from inside the machine.
HERE = "http://127.0.0.1:8017"
#: A tool of a client's own, small enough for a model with random weights under emulation.
LIGHT = {
    "type": "function",
    "function": {
        "name": "light_set",
        "description": "Switch a light.",
        "parameters": {
            "type": "object",
            "properties": {"room": {"enum": ["hall", "kitchen"]}, "on": {"type": "boolean"}},
            "required": ["room", "on"],
        },
    },
}


def asked(node: Any, path: str, body: Any = None, *, at: str = HERE, key: str = "", more: str = "") -> tuple[int, Any]:
    """The status of a request made inside a machine, and its answer, parsed where it is JSON; 0 where nobody answers."""
    command = f"curl --silent --show-error --max-time 600 --write-out '\\n%{{http_code}}' {more} "
    if key:
        command += f"--header {shlex.quote(f'authorization: Bearer {key}')} "
    if body is not None:
        command += f"--header 'content-type: application/json' --data {shlex.quote(json.dumps(body))} "
    _, out = node.execute(f"{command}{shlex.quote(at + path)} || true", timeout=660)
    text, _, status = out.rpartition("\n")
    try:
        return int(status or 0), json.loads(text)
    except ValueError:
        return int(status or 0), text


def serving(node: Any) -> None:
    """Wait until a machine's gateway and engine can be used."""
    node.wait_for_unit("tacid.service")
    node.wait_for_unit("tacid-engine.service")
    # Where the machine has keys, nothing but /health answers without one.
    key = "$(cut --delimiter=: --fields=2 /etc/tacid/keys 2>/dev/null || true)"
    node.wait_until_succeeds(f'curl --silent --fail --header "authorization: Bearer {key}" {HERE}/ready')


def inside(node: Any, program: str, arguments: str = "") -> Any:
    """What a program of `vmtests.inside` found, which it prints as JSON."""
    return json.loads(node.succeed(f"tacid-python -m vmtests.inside.{program} {arguments}", timeout=7200))


def write(node: Any, path: str, text: str) -> None:
    """Put a file in the place of another one, at once, as an installation does."""
    node.succeed(f"printf %s {shlex.quote(text)} >{path}.new && mv -fT {path}.new {path}")
