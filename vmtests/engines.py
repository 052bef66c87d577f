# Two models behind one gateway, asked for by name; one that is down takes neither the other nor the gateway with it.
UNITS = {"small": "tacid-engine@small.service", "large": "tacid-engine@large.service"}

start_all()
machine.wait_for_unit("tacid.service")
for unit in UNITS.values():
    machine.wait_for_unit(unit)
machine.wait_until_succeeds(f"curl --silent --fail {HERE}/ready")
_, listed = asked(machine, "/v1/models")
names = [model["id"] for model in listed["data"]]
_, ready = asked(machine, "/ready")


def call(model: str) -> tuple[int, Any]:
    """A call asked of a model."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "On?"}],
        "tools": [LIGHT],
        "tool_choice": "required",
        "max_tokens": 100,
    }
    return asked(machine, "/v1/chat/completions", body, more="--include")


with subtest("each model answers under its name"):
    assert len(names) >= 2, f"two engines are two models: {names}"
    engines = {engine["name"] for engine in ready["engines"]}
    assert engines == set(UNITS), f"the gateway knows other engines than the units: {engines}"
    for name in names:
        status, reply = call(name)
        assert status == 200, f"{name} doesn't answer: {status} {reply}"

with subtest("each engine has a socket, a user and a process of its own"):
    sockets = machine.succeed("find /run -name engine.sock").split()
    assert len(sockets) == 2, f"two engines have two sockets: {sockets}"
    pids = {machine.get_unit_property(unit, "MainPID") for unit in UNITS.values()}
    assert len(pids) == 2, "one process can't be two engines"

with subtest("one that is down is a 503 with Retry-After, and the other goes on"):
    gateway = machine.get_unit_property("tacid.service", "MainPID")
    machine.succeed(f"systemctl stop {UNITS['large']}")
    replies = {name: call(name) for name in names}
    down = [name for name, (status, _) in replies.items() if status == 503]
    assert len(down) == 1, f"one model's engine is down, and these say so: {replies}"
    assert "retry-after" in str(replies[down[0]]).lower(), f"it doesn't say when to come back: {replies[down[0]]}"
    others = {name: status for name, (status, _) in replies.items() if name not in down}
    assert set(others.values()) == {200}, f"the other model went down with it: {others}"
    assert machine.get_unit_property("tacid.service", "MainPID") == gateway, "the gateway was started again"

with subtest("and it is joined again by itself"):
    machine.succeed(f"systemctl start {UNITS['large']}", timeout=900)
    machine.wait_until_succeeds(f"curl --silent --fail {HERE}/ready")
    status, reply = call(down[0])
    assert status == 200, f"an engine that is back isn't asked: {status} {reply}"
