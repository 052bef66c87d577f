"""Doors: who gets in, from where, with how much; and what the log says of it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tacid.api.faults import UNFORESEEN
from tacid.api.logs import Lines, open_lines
from tacid.config import ServerConfig
from tests.api.served import Behind, behind, client

KEY, OTHER = "first-key-0123456789", "second-key-0123456789"
CHAT = "/v1/chat/completions"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"phone:{KEY}\nlaptop:sha256:{hashlib.sha256(OTHER.encode()).hexdigest()}\n")
    return path


def counted(made: Behind, route: str, outcome: str) -> float | None:
    return made.metrics.registry.get_sample_value("tacid_requests_total", {"route": route, "outcome": outcome})


# Keys


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": f"Bearer {KEY}"}, "phone"),
        ({"authorization": f"bearer   {KEY}"}, "phone"),
        ({"x-api-key": KEY}, "phone"),
        ({"x-api-key": OTHER}, "laptop"),
        ({"authorization": "Bearer wrong", "x-api-key": OTHER}, "laptop"),
    ],
)
async def test_a_key_lets_in_and_is_named(tmp_path: Path, keys: Path, headers: dict[str, str], name: str) -> None:
    made = behind(ServerConfig(keys=keys), tmp_path)
    async with client(made) as http:
        reply = await http.post(CHAT, headers=headers, content="{}")
    assert reply.status_code == 200
    assert reply.json()["key"] == name
    assert [record["key"] for record in made.records()] == [name]


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "The key is missing"),
        ({"authorization": KEY}, "The key is missing"),
        ({"authorization": f"Basic {KEY}"}, "The key is missing"),
        ({"authorization": "Bearer "}, "The key is missing"),
        ({"authorization": f"Bearer {KEY}x"}, "The key isn't known here"),
        ({"x-api-key": "x"}, "The key isn't known here"),
        ({"x-api-key": b"\xff\xfe"}, "The key isn't known here"),
    ],
)
async def test_without_a_known_key_nobody_gets_in(
    tmp_path: Path, keys: Path, headers: dict[str, Any], words: str
) -> None:
    made = behind(ServerConfig(keys=keys), tmp_path)
    async with client(made) as http:
        for path in (CHAT, "/api/chat", "/v1/messages", "/v1/none", "/metrics", "/docs", "/health/x", "/"):
            reply = await http.post(path, headers=headers, content="{}")
            assert reply.status_code == 401, path
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert words in reply.text
    assert not made.bodies
    assert {(record["key"], record["outcome"], record["status"]) for record in made.records()} == {
        (None, "refused", 401)
    }
    assert KEY not in made.log.read_text()


async def test_refusals_have_the_shape_of_their_protocol(tmp_path: Path, keys: Path) -> None:
    made = behind(ServerConfig(keys=keys), tmp_path)
    async with client(made) as http:
        openai, ollama, anthropic = [(await http.post(path)).json() for path in (CHAT, "/api/chat", "/v1/messages")]
    assert openai["error"]["code"] == "invalid_api_key"
    assert set(openai["error"]) == {"message", "type", "param", "code"}
    assert set(ollama) == {"error"}
    assert isinstance(ollama["error"], str)
    assert (anthropic["type"], anthropic["error"]["type"]) == ("error", "authentication_error")


async def test_health_needs_no_key(tmp_path: Path, keys: Path) -> None:
    made = behind(ServerConfig(keys=keys), tmp_path)
    async with client(made, peer="203.0.113.9") as http:
        for path in ("/health", "/healthz"):
            assert (await http.get(path)).status_code == 200


async def test_trusted_networks_need_no_key_and_no_header_makes_one_trusted(tmp_path: Path, keys: Path) -> None:
    made = behind(ServerConfig(keys=keys, trusted=("192.168.1.0/24",)), tmp_path)
    async with client(made, peer="192.168.1.7") as http:
        assert (await http.post(CHAT, headers={"x-api-key": "unknown"})).status_code == 200
        assert (await http.post(CHAT, headers={"x-api-key": KEY})).json()["key"] == "phone"
    async with client(made, peer="192.168.2.7") as http:
        headers = {"x-forwarded-for": "192.168.1.7", "forwarded": "for=192.168.1.7", "x-real-ip": "192.168.1.7"}
        assert (await http.post(CHAT, headers=headers)).status_code == 401


async def test_without_keys_only_loopback_is_open(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    for peer, status in (("127.0.0.1", 200), ("::1", 200), ("192.168.1.7", 401)):
        async with client(made, peer=peer) as http:
            assert (await http.get("/v1/models")).status_code == status


async def test_a_key_taken_from_the_file_is_out_at_once(tmp_path: Path, keys: Path) -> None:
    made = behind(ServerConfig(keys=keys), tmp_path)
    async with client(made) as http:
        assert (await http.get("/v1/models", headers={"x-api-key": KEY})).status_code == 200
        keys.write_text(f"new:{OTHER}\n")
        assert (await http.get("/v1/models", headers={"x-api-key": KEY})).status_code == 401
        assert (await http.get("/v1/models", headers={"x-api-key": OTHER})).status_code == 200


# Hosts and origins


@pytest.mark.parametrize(
    ("config", "host", "status"),
    [
        ({}, "127.0.0.1:8017", 200),
        ({}, "localhost:1", 200),
        ({}, "LOCALHOST.", 200),
        ({}, "[::1]:8017", 200),
        ({}, "evil.example", 403),
        ({}, "localhost.evil.example", 403),
        ({}, "127.0.0.1.evil.example:8017", 403),
        ({}, "192.168.1.2", 403),
        ({}, "[::2]", 403),
        ({}, "", 403),
        ({}, "[", 403),
        ({"hosts": ("box.lan",)}, "box.lan:8017", 200),
        ({"hosts": ("box.lan",)}, "Box.Lan", 200),
        ({"hosts": ("box.lan",)}, "x.box.lan", 403),
        ({"host": "192.168.1.2"}, "192.168.1.2:8017", 200),
        ({"host": "192.168.1.2"}, "192.168.1.3:8017", 403),
        ({"host": "fd00::1"}, "[fd00::1]:8017", 200),
        ({"host": "box.lan"}, "box.lan", 200),
        # Bound to every address, it is known by any of them, but by no name.
        ({"host": "0.0.0.0"}, "192.168.1.3:8017", 200),
        ({"host": "0.0.0.0"}, "evil.example", 403),
        ({"host": "::"}, "[fd00::1]", 200),
    ],
)
async def test_host_against_dns_rebinding(tmp_path: Path, config: dict[str, Any], host: str, status: int) -> None:
    made = behind(ServerConfig(**config), tmp_path)
    async with client(made) as http:
        reply = await http.get("/v1/models", headers={"host": host})
        assert reply.status_code == status
        if status != 200:
            assert "server.hosts" in reply.json()["error"]["message"]
            assert (await http.get("/health", headers={"host": host})).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8017", 200),
        ("https://127.0.0.1:8017", 200),
        ("https://chat.example.org", 200),
        ("https://Chat.example.org", 200),
        ("http://chat.example.org", 403),
        ("http://127.0.0.1:3000", 403),
        ("http://localhost:8017", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
        ("file://127.0.0.1:8017", 403),
    ],
)
async def test_pages_of_other_origins_are_refused(tmp_path: Path, origin: str, status: int) -> None:
    made = behind(ServerConfig(origins=("https://chat.example.org",)), tmp_path)
    async with client(made) as http:
        reply = await http.post(CHAT, headers={"origin": origin}, content="{}")
        assert reply.status_code == status
    assert len(made.bodies) == (status == 200)


async def test_cors_is_only_as_configured(tmp_path: Path, keys: Path) -> None:
    asked = {
        "origin": "https://chat.example.org",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    made = behind(ServerConfig(keys=keys, origins=("https://chat.example.org",)), tmp_path)
    async with client(made) as http:
        allowed = await http.options(CHAT, headers=asked)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == "https://chat.example.org"
        assert "authorization" in allowed.headers["access-control-allow-headers"]
        # A page may read why it was refused, but not by another's leave.
        refused = await http.post(CHAT, headers={"origin": "https://chat.example.org"})
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == "https://chat.example.org"
        assert "access-control-allow-credentials" not in refused.headers
        other = await http.options(CHAT, headers=asked | {"origin": "https://evil.example"})
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers
    made = behind(ServerConfig(), tmp_path)
    async with client(made) as http:
        reply = await http.get("/v1/models", headers={"origin": "http://127.0.0.1:8017"})
        assert reply.status_code == 200
        assert "access-control-allow-origin" not in reply.headers


async def test_exactly_one_host(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with client(made) as http:
        headers = [("host", "127.0.0.1"), ("host", "127.0.0.1")]
        assert (await http.get("/v1/models", headers=headers)).status_code == 400


# Errors


@pytest.mark.parametrize(("name", "status"), [("input", 400), ("busy", 429), ("none", 404), ("unforeseen", 500)])
async def test_errors_of_routes_have_status_and_shape(tmp_path: Path, name: str, status: int) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with client(made) as http:
        openai, ollama = await http.get(f"/v1/{name}"), await http.get(f"/api/{name}")
    assert openai.status_code == ollama.status_code == status
    assert set(openai.json()["error"]) == {"message", "type", "param", "code"}
    assert isinstance(ollama.json()["error"], str)
    if name == "busy":
        assert openai.headers["retry-after"] == "3"
    if name == "unforeseen":
        assert openai.json()["error"]["message"] == UNFORESEEN
    outcome = "failed" if status >= 500 else "refused"
    assert [record["outcome"] for record in made.records()] == [outcome, outcome]
    failures = made.records("failure")
    assert len(failures) == (2 if status >= 500 else 0)
    assert "what a person wrote" not in made.log.read_text()


async def test_a_body_of_another_type_names_the_field(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with client(made) as http:
        reply = await http.post("/v1/typed", json={"a": "x"})
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == "a"


# Logs


async def test_a_request_is_one_line_without_contents(tmp_path: Path, keys: Path) -> None:
    made = behind(ServerConfig(keys=keys), tmp_path)
    async with client(made) as http:
        await http.post(f"{CHAT}?secret=1", headers={"x-api-key": KEY}, content='{"what": "a person wrote"}')
        await http.get("/v1/%0a%22%1b[31m" + "x" * 500, headers={"x-api-key": KEY})
    first, second = made.records()
    assert first["time"].endswith("Z")
    assert first["ms"] >= first["first_ms"] >= 0
    told = {key: value for key, value in first.items() if key not in ("time", "ms", "first_ms")}
    assert told == {
        "event": "request",
        "method": "POST",
        "path": CHAT,
        "status": 200,
        "key": "phone",
        "peer": "127.0.0.1",
        "model": "smol",
        "prompt_tokens": 10,
        "cached_tokens": 4,
        "completion_tokens": 3,
        "outcome": "call",
    }
    assert second["path"].startswith('/v1/\n"\x1b[31m')
    assert len(second["path"]) == 200
    assert (second["status"], second["model"], second["outcome"]) == (404, None, "refused")
    for secret in ("a person wrote", KEY, "secret=1"):
        assert secret not in made.log.read_text()
    assert counted(made, CHAT, "call") == 1
    assert counted(made, "other", "refused") == 1


async def test_every_call_has_its_audit_line(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with client(made) as http:
        await http.post(CHAT)
    one, two = made.records("call")
    assert (one["tool"], one["valid"], one["model"]) == ("light", True, "smol")
    assert one["arguments_sha256"] == hashlib.sha256(b'{"on": true}').hexdigest()
    assert (two["tool"], two["valid"]) == ("off", False)
    assert "arguments" not in one


async def test_calls_go_to_a_file_of_their_own(tmp_path: Path) -> None:
    audit = open_lines(tmp_path / "audit.jsonl")
    made = behind(ServerConfig(), tmp_path, audit=audit)
    async with client(made) as http:
        await http.post(CHAT)
    audit.close()
    assert [json.loads(line)["tool"] for line in (tmp_path / "audit.jsonl").read_text().splitlines()] == [
        "light",
        "off",
    ]
    assert made.records("call") == []


async def test_a_full_disk_under_the_log_fails_no_request(tmp_path: Path) -> None:
    lines = Lines(os.open("/dev/full", os.O_WRONLY), owned=True)
    made = behind(ServerConfig(), tmp_path, lines=lines)
    async with client(made) as http:
        for _ in range(20):
            assert (await http.post(CHAT)).status_code == 200
    lines.close()


async def test_contents_are_logged_by_an_explicit_switch(tmp_path: Path) -> None:
    made = behind(ServerConfig(log_contents=True), tmp_path)
    async with client(made) as http:
        await http.post(CHAT, content='{"what": "a person wrote"}')
    assert made.records()[0]["contents"] == '{"what": "a person wrote"}'
    assert json.loads(made.records("call")[0]["arguments"]) == {"on": True}


async def test_the_lifespan_reaches_the_app_and_a_websocket_does_not(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "lifespan.startup" if not sent else "lifespan.shutdown"}

    await made.app({"type": "lifespan", "state": {}}, receive, send)
    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    sent.clear()
    await made.app({"type": "websocket", "path": "/", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]
