# How exposed both units are, by systemd's own reckoning; what they write; and where a secret would show.
import re

UNITS = ("tacid.service", "tacid-engine.service")

start_all()
serving(machine)
machine.succeed("cut --delimiter=: --fields=2 /etc/tacid/keys >/run/secret && chmod 600 /run/secret")
key = machine.succeed("cat /run/secret").strip()

with subtest("exposure"):
    for unit in UNITS:
        said = machine.succeed(f"systemd-analyze --no-pager security {unit}")
        exposure = float(re.search(r"exposure level for \S+: ([0-9.]+)", said)[1])
        log(f"{unit}: {exposure}")
        assert exposure <= 1.5, f"{unit} may do more than it needs ({exposure}): {said}"

with subtest("nothing is written but the state"):
    machine.succeed("touch /run/before && sleep 1")
    body = {
        "messages": [{"role": "user", "content": "On?"}],
        "tools": [LIGHT],
        "tool_choice": "required",
        "max_tokens": 200,
    }
    status, reply = asked(machine, "/v1/chat/completions", body, key=key)
    assert status == 200, f"{status} {reply}"
    changed = machine.succeed(
        "find / -xdev -newer /run/before ! -type d ! -path '/var/log/*' ! -path '/var/lib/systemd/*' ! -path '/root/*'"
    ).split()
    outside = [path for path in changed if not path.startswith(("/var/lib/private/tacid/", "/tmp/systemd-private-"))]
    assert outside == [], f"a request left something outside the state: {outside}"

with subtest("neither unit could if it wanted to"):
    for unit in UNITS:
        pid = machine.get_unit_property(unit, "MainPID")
        user = machine.succeed(f"stat --format %u /proc/{pid}").strip()
        assert user != "0", f"{unit} runs as root"
        for path in ("/etc/tacid/x", "/usr/x", "/var/x", "/home/x", "/root/x", "/etc/tacid-system/x", "/opt/x"):
            machine.fail(
                f"nsenter --target {pid} --mount setpriv --reuid {user} --clear-groups bash -c '>{path}' 2>/dev/null"
            )
        bits = machine.succeed(f"grep --extended-regexp 'NoNewPrivs|Seccomp:|CapBnd' /proc/{pid}/status")
        assert re.search(r"NoNewPrivs:\s+1", bits) and re.search(r"Seccomp:\s+2", bits), f"{unit}: {bits}"
        assert re.search(r"CapBnd:\s+0{16}", bits), f"{unit} could take rights: {bits}"

with subtest("the key is in no journal, environment, command line, unit, or file that others read"):
    machine.fail("journalctl --no-pager | grep --quiet --fixed-strings --file /run/secret")
    found = machine.execute(
        "grep --files-with-matches --fixed-strings --file /run/secret /proc/[0-9]*/environ /proc/[0-9]*/cmdline"
    )
    assert found[1].strip() == "", f"a process shows the key: {found[1]}"
    machine.fail("systemctl show tacid.service tacid-engine.service | grep --quiet --fixed-strings --file /run/secret")
    # The store, where there is one, is for everybody's eyes.
    places = "/etc /var/lib /usr/lib/systemd $(ls --directory /nix/store/*tacid* 2>/dev/null || true)"
    files = machine.execute(
        f"find {places} -xdev -type f -perm -o+r -print0 | xargs -0 grep -lFf /run/secret 2>/dev/null"
    )[1].split()
    assert files == [], f"everybody can read the key in {files}"
    shown = machine.succeed("find /run/credentials -name keys -exec stat --format '%a' {} +").split()
    assert all(mode in ("400", "440", "600") for mode in shown), f"others may read the credential: {shown}"

with subtest("the file of keys may change; a reload takes the new ones"):
    machine.succeed(
        "printf 'new:another-key-for-the-tests-0123\\n' >/etc/tacid/keys.new && chmod 600 /etc/tacid/keys.new"
    )
    machine.succeed("mv -fT /etc/tacid/keys.new /etc/tacid/keys && systemctl reload tacid.service")
    machine.wait_until_succeeds(
        f"curl --silent --fail --header 'authorization: Bearer another-key-for-the-tests-0123' {HERE}/v1/models"
    )
    status, _ = asked(machine, "/v1/models", key=key)
    assert status == 401, f"a key that was taken out still opens the server: {status}"
