# A plain Debian: the package is installed, runs, is upgraded with what a person changed kept, removed and purged.
CONFIG = "/etc/tacid/config.toml"

start_all()
machine.wait_for_unit("multi-user.target")


def call() -> None:
    """A first call, which says that the packaged engine and the gateway found each other."""
    machine.wait_until_succeeds(f"curl --silent --fail {HERE}/ready")
    body = {"messages": [{"role": "user", "content": "On?"}], "tools": [LIGHT], "tool_choice": "required"}
    status, reply = asked(machine, "/v1/chat/completions", {**body, "max_tokens": 200})
    assert status == 200, f"no call after all was in place: {status} {reply}"


with subtest("install"):
    # Emulated, Python loads for longer than the units allow; a person has no need of this.
    for unit in ("tacid", "tacid-engine"):
        machine.succeed(f"mkdir -p /etc/systemd/system/{unit}.service.d")
        patient = "[Service]\nTimeoutStartSec=900\nWatchdogSec=600\nEnvironment=TACID_ENGINE__START_TIMEOUT=600\n"
        write(machine, f"/etc/systemd/system/{unit}.service.d/emulated.conf", patient)
    machine.succeed("dpkg --install /opt/payload/tacid.deb")
    machine.succeed("tacid --version")
    for unit in ("tacid.service", "tacid-engine.service"):
        machine.succeed(f"systemctl is-enabled {unit}")
    machine.fail("getent passwd tacid | grep --quiet --invert-match nologin")
    machine.wait_for_unit("tacid.service")

with subtest("without a model it says what to do"):
    machine.wait_until_succeeds("journalctl --no-pager --unit tacid-engine.service | grep --quiet 'tacid model pull'")

with subtest("run"):
    machine.succeed("cp /opt/payload/bytes.gguf /var/lib/tacid-models/")
    machine.succeed(f"sed -i 's|^name = .*|name = \"/var/lib/tacid-models/bytes.gguf\"|' {CONFIG}")
    machine.succeed("printf 'a:a-key-for-the-tests-0123456789\\n' >/etc/tacid/keys && chmod 600 /etc/tacid/keys")
    machine.succeed("systemctl restart tacid-engine.service tacid.service", timeout=900)
    machine.wait_until_succeeds(f"curl --silent --fail -H 'x-api-key: a-key-for-the-tests-0123456789' {HERE}/ready")
    status, _ = asked(machine, "/v1/models")
    assert status == 401, f"there is a file of keys now, and who has none got {status}"
    machine.succeed("rm /etc/tacid/keys && systemctl restart tacid.service", timeout=900)
    call()

with subtest("upgrade"):
    before = machine.succeed(f"sha256sum {CONFIG}")
    version = machine.succeed("dpkg-query --show --showformat '${Version}' tacid")
    machine.succeed("dpkg --install /opt/payload/later.deb </dev/null")
    later = machine.succeed("dpkg-query --show --showformat '${Version}' tacid")
    assert later == f"{version}+later", f"the later version isn't installed: {later}"
    assert machine.succeed(f"sha256sum {CONFIG}") == before, "what a person wrote into the configuration is gone"
    machine.wait_for_unit("tacid.service")
    machine.wait_for_unit("tacid-engine.service")
    call()

with subtest("remove"):
    machine.succeed("dpkg --remove tacid")
    machine.fail("systemctl is-active tacid.service")
    machine.fail("systemctl is-active tacid-engine.service")
    machine.fail("test -e /usr/lib/tacid")
    machine.succeed(f"test -e {CONFIG} && test -e /var/lib/tacid-models/bytes.gguf")

with subtest("purge"):
    machine.succeed("dpkg --purge tacid")
    for path in (CONFIG, "/var/lib/tacid", "/var/lib/private/tacid", "/var/lib/tacid-models", "/usr/lib/tacid"):
        machine.fail(f"test -e {path}")
    machine.fail("systemctl cat tacid.service")
