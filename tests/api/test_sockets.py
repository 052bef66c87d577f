"""Doors under a real server: bodies that are slow, cut off or too large, and clients that go away."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import httpx
import pytest

from tacid.config import ServerConfig
from tests.api.served import Behind, behind, served

CHAT = "/v1/chat/completions"


async def raw(
    port: int, *parts: bytes, pause: float = 0.0, close: bool = False
) -> tuple[int, dict[str, object], float]:
    """Send bytes as they are, with pauses between them; gives status, body and seconds until the connection's end."""
    started = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
        if close:
            return 0, {}, 0.0
        data = await asyncio.wait_for(reader.read(), 15)
    finally:
        writer.close()
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body), time.monotonic() - started


def head(*lines: str, path: str = CHAT) -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", "")).encode()


async def answers(made: Behind, port: int) -> None:
    """The next request is served as if nothing had been."""
    async with httpx.AsyncClient() as http:
        assert (await http.post(f"http://127.0.0.1:{port}{CHAT}", content="{}")).status_code == 200
    assert made.bodies[-1] == b"{}"
    async with asyncio.timeout(5):  # a server may see the end of a request later than its client
        while made.metrics.registry.get_sample_value("tacid_open_streams") != 0:
            await asyncio.sleep(0.01)


async def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not(tmp_path: Path) -> None:
    made = behind(ServerConfig(max_body=100_000), tmp_path)

    async def chunks(size: int):  # type: ignore[no-untyped-def]
        for at in range(0, size, 5000):
            yield b"x" * min(5000, size - at)

    async with served(made) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        for content in (b"x" * 100_000, chunks(100_000)):
            assert (await http.post(CHAT, content=content)).json()["bytes"] == 100_000
        for content in (b"x" * 100_001, chunks(100_001)):
            reply = await http.post(CHAT, content=content)
            assert reply.status_code == 413
            assert "more than 100,000 bytes" in reply.json()["error"]["message"]
        assert (await http.post("/api/chat", content=b"x" * 100_001)).json()["error"].startswith("The body has more")
        await answers(made, port)
    assert [len(body) for body in made.bodies] == [100_000, 100_000, 2]


async def test_a_client_that_sends_far_too_much_still_reads_why(tmp_path: Path) -> None:
    made = behind(ServerConfig(max_body=10_000), tmp_path)
    async with served(made) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        for _ in range(5):
            reply = await http.post(CHAT, content=b"x" * 20_000_000)
            assert (reply.status_code, reply.json()["error"]["code"]) == (413, "request_too_large")
        await answers(made, port)


async def test_a_client_that_asks_first_is_not_told_to_go_on(tmp_path: Path) -> None:
    made = behind(ServerConfig(max_body=10_000), tmp_path)
    async with served(made) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head("Content-Length: 99999", "Expect: 100-continue"))
        assert (await asyncio.wait_for(reader.readline(), 5)).split()[1] == b"413"
        writer.close()
        await answers(made, port)


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
async def test_a_slow_body_is_given_up_in_time(tmp_path: Path, framing: str) -> None:
    made = behind(ServerConfig(body_timeout=0.5), tmp_path)
    part = b"1\r\n{\r\n" if "chunked" in framing else b"{"
    async with served(made) as port:
        # Bytes that trickle in buy no more time.
        status, body, took = await raw(port, head(framing), *[part] * 3, pause=0.1)
        assert status == 408
        assert "within 0.5 seconds" in body["error"]["message"]  # type: ignore[index]
        assert 0.4 < took < 3
        await answers(made, port)
    assert [record["status"] for record in made.records()] == [408, 200]


async def test_half_a_body_is_not_handled(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with served(made) as port:
        await raw(port, head("Content-Length: 1000"), b'{"half":', pause=0.1, close=True)
        await raw(port, head("Transfer-Encoding: chunked"), b"5\r\nhel", pause=0.1, close=True)
        await asyncio.sleep(0.2)
        await answers(made, port)
    assert made.bodies == [b"{}"]
    assert sorted(record["outcome"] for record in made.records()) == ["call", "client_gone", "client_gone"]


async def test_a_stream_is_not_held_back_and_a_client_that_goes_is_seen(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with served(made) as port:
        async with httpx.AsyncClient() as http, http.stream("POST", f"http://127.0.0.1:{port}/v1/stream") as reply:
            assert await anext(reply.aiter_bytes()) == b"data: 1\n\n"
            assert made.metrics.registry.get_sample_value("tacid_open_streams") == 1
        left = time.monotonic()
        await asyncio.wait_for(made.gone.wait(), 5)
        assert time.monotonic() - left < 2
        await answers(made, port)
    first = made.records()[0]
    assert (first["outcome"], first["status"]) == ("client_gone", 200)
    assert first["first_ms"] is not None


async def test_a_whole_stream_is_ok(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    made.go_on.set()
    async with served(made) as port, httpx.AsyncClient() as http:
        reply = await http.post(f"http://127.0.0.1:{port}/v1/stream")
        assert reply.text == "data: 1\n\ndata: 2\n\n"
    assert made.records()[0]["outcome"] == "ok"


async def test_an_error_in_mid_stream_leaves_it_visibly_cut_off(tmp_path: Path) -> None:
    made = behind(ServerConfig(), tmp_path)
    async with served(made) as port:
        async with httpx.AsyncClient() as http:
            with pytest.raises(httpx.RemoteProtocolError):
                await http.post(f"http://127.0.0.1:{port}/v1/torn")
        await answers(made, port)
    assert made.records()[0]["outcome"] == "failed"
    assert made.records("failure")[0]["error"] == "RuntimeError"
    assert "what a person wrote" not in made.log.read_text()


async def test_a_header_gives_nobody_another_address(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a:first-key-0123456789\n")
    made = behind(ServerConfig(keys=keys, trusted=("192.168.1.0/24",)), tmp_path)
    async with served(made) as port, httpx.AsyncClient() as http:
        headers = {"x-forwarded-for": "192.168.1.7", "x-forwarded-proto": "https"}
        assert (await http.get(f"http://127.0.0.1:{port}/v1/models", headers=headers)).status_code == 401
    assert made.records()[0]["peer"] == "127.0.0.1"


async def test_open_requests_of_a_key_are_bounded_by_key(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a:first-key-0123456789\nb:second-key-0123456789\n")
    made = behind(ServerConfig(keys=keys, streams_per_key=2), tmp_path)
    a, b = {"x-api-key": "first-key-0123456789"}, {"x-api-key": "second-key-0123456789"}
    async with served(made) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        async with http.stream("POST", "/v1/stream", headers=a), http.stream("POST", "/v1/stream", headers=a):
            full = await http.post(CHAT, headers=a)
            assert full.status_code == 429
            assert full.headers["retry-after"] == "1"
            assert full.json()["error"]["code"] == "too_many_streams"
            assert (await http.get("/v1/models", headers=a)).status_code == 200
            assert (await http.post(CHAT, headers=b)).status_code == 200
        async with asyncio.timeout(5):
            while (await http.post(CHAT, headers=a)).status_code == 429:
                await asyncio.sleep(0.02)
    assert made.metrics.registry.get_sample_value("tacid_open_streams") == 0


async def test_five_hundred_streams_open_and_close(tmp_path: Path) -> None:
    made = behind(ServerConfig(streams_per_key=500), tmp_path)
    async with served(made) as port:

        async def one() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head("Content-Length: 0", "Connection: close", path="/v1/stream"))
            try:
                return await reader.read()
            finally:
                writer.close()

        tasks = [asyncio.create_task(one()) for _ in range(500)]
        async with asyncio.timeout(60):
            while made.metrics.registry.get_sample_value("tacid_open_streams") != 500:
                await asyncio.sleep(0.05)
        async with httpx.AsyncClient() as http:
            assert (await http.post(f"http://127.0.0.1:{port}{CHAT}")).status_code == 429
        made.go_on.set()
        replies = await asyncio.gather(*tasks)
        assert all(b"data: 1" in reply and b"data: 2" in reply for reply in replies)
        await answers(made, port)
