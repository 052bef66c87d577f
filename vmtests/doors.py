# A second machine on the network: nothing is open by default; then only with a key, by a known name, and never the engine.
from pathlib import PurePosixPath

AT = "http://server:8017"
ENGINE_PATHS = (
    "/completion", "/completions", "/infill", "/tokenize", "/detokenize", "/apply-template", "/slots", "/slots/0",
    "/props", "/models/load", "/models/unload", "/lora-adapters", "/v1/internal/model/load",
)  # fmt: skip
OPEN = "/run/systemd/system/tacid.service.d"

start_all()
serving(server)
client.wait_for_unit("multi-user.target")
key = server.succeed("cut --delimiter=: --fields=2 /etc/tacid/keys").strip()

with subtest("closed by default"):
    status, _ = asked(client, "/health", at=AT, more="--max-time 10")
    assert status == 0, f"nobody opened the server to the network, and it answers there with {status}"

with subtest("the engine listens nowhere but on its own socket, which nobody else may open"):
    listening = server.succeed("ss --no-header --listening --tcp --udp --numeric --processes")
    for line in listening.splitlines():
        assert "llama-server" not in line, f"the engine listens on the network: {line}"
    for port in (8080, 8017, 80, 443):
        status, _ = asked(client, "/health", at=f"http://server:{port}", more="--max-time 5")
        assert status == 0, f"port {port} of the machine answers with {status}"
    sockets = server.succeed("find /run -name engine.sock").split()
    assert sockets, "the engine has a socket"
    for path in sockets:
        server.succeed(f"curl --silent --fail --unix-socket {path} http://localhost/health")
        # As a user that is neither the engine nor the gateway.
        server.fail(
            f"setpriv --reuid 65534 --regid 65534 --clear-groups curl --silent --unix-socket {path} http://localhost/health"
        )
        folder = PurePosixPath(path).parent
        mode = server.succeed(f"stat --format %a {folder}").strip()
        assert mode.endswith("0"), f"everybody may enter {folder} ({mode})"

with subtest("opened on purpose, it wants a key"):
    server.succeed(f"mkdir -p {OPEN}")
    write(
        server,
        f"{OPEN}/open.conf",
        "[Service]\nEnvironment=TACID_SERVER__HOST=0.0.0.0 'TACID_SERVER__HOSTS=[\"server\"]'\n",
    )
    # A firewall is one more door; here it is the server's own that is looked at.
    server.execute("systemctl stop firewall.service")
    server.succeed("systemctl daemon-reload && systemctl restart tacid.service", timeout=900)
    client.wait_until_succeeds(f"curl --silent --fail {AT}/health")
    for path in ("/v1/models", "/api/tags", "/ready", "/metrics", "/openapi.json", "/v1/responses/x", "/completion"):
        status, reply = asked(client, path, at=AT)
        assert status == 401, f"{path} answers somebody without a key with {status}: {reply}"
    status, reply = asked(client, "/v1/models", at=AT, key="another-key-0123456789")
    assert status == 401, f"a wrong key opens the server: {status} {reply}"
    status, reply = asked(client, "/v1/models", at=AT, key=key)
    assert status == 200, f"the key of the file doesn't open the server: {status} {reply}"

with subtest("a call from the other machine"):
    body = {
        "messages": [{"role": "user", "content": "Light on, please."}],
        "tools": [LIGHT],
        "tool_choice": "required",
        "max_tokens": 200,
    }
    status, reply = asked(client, "/v1/chat/completions", body, at=AT, key=key)
    assert status == 200, f"a client with a key is served: {status} {reply}"
    assert reply["choices"][0]["message"]["tool_calls"], f"a call was asked for: {reply}"

with subtest("what the engine understands isn't handed on"):
    for path in ENGINE_PATHS:
        for body in (None, {"prompt": "x"}):
            status, reply = asked(client, path, body, at=AT, key=key)
            assert status in (404, 405), f"{path} got through to something: {status} {reply}"

with subtest("no route pulls, deletes or loads a model"):
    for path, method in (
        ("/api/pull", "POST"),
        ("/api/delete", "DELETE"),
        ("/api/create", "POST"),
        ("/api/copy", "POST"),
    ):
        status, reply = asked(
            client, path, {"model": "smollm2", "name": "x"}, at=AT, key=key, more=f"--request {method}"
        )
        assert status in (403, 404, 405, 501), f"{method} {path} does something: {status} {reply}"

with subtest("a name in the Host header that is pointed at it"):
    for name in ("evil.example", "server.evil.example:8017", "127.0.0.1.evil.example"):
        status, reply = asked(client, "/v1/models", at=AT, key=key, more=f"--header 'host: {name}'")
        assert status == 403, f"a web page reaches the server under the name {name}: {status} {reply}"
        status, reply = asked(server, "/v1/models", key=key, more=f"--header 'host: {name}'")
        assert status == 403, f"a page in a browser on the machine itself does, too: {name}: {status} {reply}"
    status, reply = asked(client, "/v1/models", at=AT, key=key, more="--header 'origin: https://evil.example'")
    assert status == 403, f"a page of another origin may use the server: {status} {reply}"

with subtest("with the cable out nothing hangs, and with it in again all is well"):
    server.block()
    status, _ = asked(client, "/health", at=AT, more="--max-time 5")
    assert status == 0, f"the network is cut, and something answered: {status}"
    status, _ = asked(server, "/health")
    assert status == 200, "the machine itself doesn't need a network"
    server.unblock()
    client.wait_until_succeeds(f"curl --silent --fail --max-time 5 {AT}/health")
