# The list of another version, broken, removed, replaced while a stream runs: the last good one holds, and that is said.
LIST = "/etc/tacid-system/services.json"
OTHER = ["avahi-daemon", "syncthing"]

start_all()
serving(machine)
before = machine.succeed(f"cat {LIST}")


def told() -> dict[str, Any]:
    """What the gateway says of its list."""
    status, reply = asked(machine, "/ready")
    assert status == 200, f"whatever the list is, the gateway is ready: {status} {reply}"
    (one,) = [found for found in reply["lists"] if found["name"] == "services"]
    return one


with subtest("a good list is in force"):
    first = told()
    assert first["state"] == "good", f"the machine's own list is not taken: {first}"

with subtest("another version, broken, no list, gone: the last good one holds"):
    bad = {
        "version": json.dumps({"version": 2, "services": OTHER}),
        "JSON": '{"version": 1, "services": [',
        "list": '"sshd"',
    }
    for word, text in bad.items():
        write(machine, LIST, text)
        now = told()
        assert now["state"] == "last_good", f"a file that can't be used changes nothing: {now}"
        assert now["entries"] == first["entries"], f"the names are no longer those of the last good list: {now}"
        assert word in now["reason"], f"it doesn't say what is wrong with the file ({word}): {now}"
    machine.succeed(f"rm {LIST}")
    now = told()
    assert (now["state"], now["entries"]) == ("last_good", first["entries"]), (
        f"a list that is gone opens everything: {now}"
    )
    assert "does not exist" in now["reason"], f"it doesn't say that the file is gone: {now}"
    said = machine.succeed("journalctl --no-pager --unit tacid.service")
    assert "The last list that worked is used" in said, "the journal says it to whoever looks there"

with subtest("it holds over a restart, from the copy in the state"):
    machine.succeed("systemctl restart tacid.service", timeout=900)
    now = told()
    assert (now["state"], now["entries"]) == ("last_good", first["entries"]), f"a restart forgets the list: {now}"

with subtest("replaced while a stream runs, which isn't disturbed"):
    body = {
        "messages": [{"role": "user", "content": "Tell me a story."}],
        "stream": True,
        "max_tokens": 6000,
        # The control tokens, which would end it.
        "logit_bias": {"0": -100, "1": -100, "2": -100},
    }
    machine.succeed(
        "curl --silent --no-buffer --header 'content-type: application/json' "
        f"--data {shlex.quote(json.dumps(body))} {HERE}/v1/chat/completions >/tmp/stream 2>/tmp/stream.err &"
    )
    machine.wait_until_succeeds("test $(grep --count data: /tmp/stream) -ge 3")
    write(machine, LIST, json.dumps({"version": 1, "services": OTHER}))
    now = told()
    assert (now["state"], now["entries"]) == ("good", len(OTHER)), f"the new list isn't in force: {now}"
    machine.fail("grep --quiet DONE /tmp/stream")
    machine.wait_until_succeeds("grep --quiet DONE /tmp/stream")
    machine.fail("grep --quiet error /tmp/stream")

with subtest("systemctl reload has it read again, and so has a link that leads elsewhere"):
    machine.succeed(f"printf %s {shlex.quote(json.dumps(OTHER[:1]))} >/run/list.json && ln -sfn /run/list.json {LIST}")
    assert told()["entries"] == 1, "a link is followed"
    write(machine, LIST, before)
    machine.succeed("systemctl reload tacid.service")
    now = told()
    assert (now["state"], now["entries"]) == ("good", first["entries"]), (
        f"the machine's own list is in force again: {now}"
    )
