# What breaks heals, or says why it can't, and the gateway stays up all the while.
BODY = {
    "messages": [{"role": "user", "content": "On?"}],
    "tools": [LIGHT],
    "tool_choice": "required",
    "max_tokens": 200,
}
DROP = "/run/systemd/system/tacid-engine.service.d"
LIST = "/etc/tacid-system/services.json"

start_all()
serving(machine)
gateway = machine.get_unit_property("tacid.service", "MainPID")


def engine() -> str:
    """The process of llama-server."""
    return machine.succeed("systemctl show --property ControlGroup --value tacid-engine.service"
        " | xargs -I G cat /sys/fs/cgroup/G/cgroup.procs | while read -r pid; do"
        " if grep --quiet '^llama-server' /proc/$pid/comm 2>/dev/null; then echo $pid; fi; done | head -n 1").strip()  # fmt: skip


def healed(why: str) -> None:
    """The engine answers again, and the gateway was never gone."""
    machine.wait_until_succeeds(f"curl --silent --fail --max-time 20 {HERE}/ready")
    status, reply = asked(machine, "/v1/chat/completions", BODY)
    assert status == 200, f"{why}: no call afterwards: {status} {reply}"
    now = machine.get_unit_property("tacid.service", "MainPID")
    assert now == gateway, f"{why}: the gateway was started again, and with it went every open stream"


def changed(text: str) -> None:
    """Lay something over the engine's unit, and start it with that."""
    machine.succeed(f"mkdir -p {DROP}")
    write(machine, f"{DROP}/fault.conf", f"[Service]\n{text}\n")
    machine.succeed("systemctl daemon-reload && systemctl restart --no-block tacid-engine.service")


with subtest("llama-server is killed"):
    machine.succeed(f"kill -KILL {engine()}")
    healed("killed")

with subtest("all of the engine's unit is killed"):
    machine.succeed("systemctl kill --signal KILL tacid-engine.service")
    machine.wait_until_fails(f"curl --silent --fail --max-time 20 {HERE}/ready")
    status, reply = asked(machine, "/v1/chat/completions", BODY, more="--include")
    assert "503" in str(reply) or status in (200, 503), f"an engine that is gone is a 503: {status} {reply}"
    healed("the unit was killed")

with subtest("llama-server hangs"):
    machine.succeed(f"kill -STOP {engine()}")
    healed("hung")

with subtest("the program that watches it hangs, and systemd's watchdog ends it"):
    changed("WatchdogSec=45")
    machine.wait_until_succeeds("systemctl is-active --quiet tacid-engine.service")
    pid = machine.get_unit_property("tacid-engine.service", "MainPID")
    machine.succeed(f"kill -STOP {pid}")
    machine.wait_until_succeeds(f"test $(systemctl show --property MainPID --value tacid-engine.service) != {pid}")
    healed("the watcher hung")

with subtest("there is not enough memory"):
    changed("MemoryMax=30M\nMemorySwapMax=0")
    machine.wait_until_fails(f"curl --silent --fail --max-time 20 {HERE}/ready")
    status, reply = asked(machine, "/v1/chat/completions", BODY)
    assert status == 503, f"an engine without memory is a 503 that says so: {status} {reply}"
    changed("")
    healed("out of memory")

with subtest("the model's file is damaged"):
    model = machine.succeed(
        f"tr '\\0' '\\n' </proc/{engine()}/cmdline | grep --after-context 1 -e '^--model$' | tail -n 1"
    ).strip()
    machine.succeed(f"head --bytes 60000 {model} >/run/damaged.gguf && chmod 644 /run/damaged.gguf")
    changed("Environment=TACID_MODEL__NAME=/run/damaged.gguf\nRestartSec=2")
    machine.wait_until_succeeds("journalctl --no-pager --unit tacid-engine.service | grep --quiet damaged.gguf")
    status, reply = asked(machine, "/v1/chat/completions", BODY)
    assert status == 503, f"without a model there is a 503: {status} {reply}"
    machine.succeed(
        f"cp {model} /run/whole.gguf && mv -fT /run/whole.gguf /run/damaged.gguf && chmod 644 /run/damaged.gguf"
    )
    healed("the model was put back")
    changed("")
    healed("the model of the configuration")

with subtest("the disk is full"):
    before = machine.succeed(f"cat {LIST}")
    machine.succeed("fallocate --length $(df --output=avail --block-size=1 /var/lib | tail -n 1) /var/lib/full || true")
    machine.execute("dd if=/dev/zero of=/var/lib/fuller bs=4k 2>/dev/null")
    machine.succeed("printf '[\"avahi-daemon\"]' >/run/list.json")
    machine.succeed(f"mount --bind /run/list.json {LIST}")
    status, reply = asked(machine, "/ready")
    assert status == 200, f"a full disk is no reason to stop: {status} {reply}"
    assert reply["lists"][0]["entries"] == 1, f"the new list isn't in force: {reply}"
    assert "can't be written" in reply["lists"][0]["reason"], f"it doesn't say that its copy can't be kept: {reply}"
    healed("the disk was full")
    machine.succeed(f"rm -f /var/lib/full /var/lib/fuller; umount {LIST}")
    _, reply = asked(machine, "/ready")
    assert reply["lists"][0]["reason"] == "", f"there is room again, and it still complains: {reply}"

with subtest("the clock jumps, a day on and two back"):
    for jump in ("+1 day", "-2 days", "+1 day"):
        machine.succeed(f"date --set \"$(date --date '{jump}')\"")
        healed(f"the clock went {jump}")
