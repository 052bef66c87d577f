# The power goes in the middle of a reply, and of a write of state: afterwards the state is whole and the machine serves.
LIST = "/etc/tacid-system/services.json"
STORY = {"messages": [{"role": "user", "content": "Tell me a story."}], "stream": True, "max_tokens": 6000}
STORY["logit_bias"] = {"0": -100, "1": -100, "2": -100}
LISTS = [json.dumps({"version": 1, "services": [f"service-{n}-{i}" for i in range(200)]}) for n in range(8)]

start_all()
serving(machine)


def whole(allowed: list[int]) -> None:
    """The machine serves; every copy of a list in its state is one that was written."""
    serving(machine)
    copies = machine.succeed("find /var/lib/private/tacid -name '*.json' -print0 | xargs -0 --no-run-if-empty -n 1 cat")
    for line in copies.splitlines():
        names = json.loads(line)["services"]
        assert len(names) in allowed, f"half a list was kept: {len(names)} names"
    _, reply = asked(machine, "/ready")
    (state,) = [found for found in reply["lists"] if found["name"] == "services"]
    assert state["state"] in ("good", "last_good"), f"after the power came back there is no list: {state}"
    assert state["entries"] in allowed, f"the list is none that was written: {state}"


_, ready = asked(machine, "/ready")
names = ready["lists"][0]["entries"]

with subtest("in the middle of a reply"):
    machine.succeed(
        "curl --silent --no-buffer --header 'content-type: application/json' "
        f"--data {shlex.quote(json.dumps(STORY))} {HERE}/v1/chat/completions >/tmp/stream 2>&1 &"
    )
    machine.wait_until_succeeds("test $(grep --count data: /tmp/stream) -ge 3")
    machine.crash()
    machine.start()
    whole([names])

for turn in range(1 if SHORT else 4):
    with subtest(f"in the middle of writes of the list and of its copy, {turn + 1}"):
        # Written and read without end, so that wherever the cut comes there is a write.
        for number, text in enumerate(LISTS):
            machine.succeed(f"printf %s {shlex.quote(text)} >/run/list-{number}.json")
        machine.succeed(
            "(while true; do for n in 0 1 2 3 4 5 6 7; do"
            f" cp /run/list-$n.json {LIST}.new; sync {LIST}.new; mv -fT {LIST}.new {LIST};"
            f" curl --silent --max-time 20 {HERE}/ready >/dev/null; done; done) >/dev/null 2>&1 &"
        )
        machine.sleep(5 + turn)
        machine.crash()
        machine.start()
        whole([names, 200])
