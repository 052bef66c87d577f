"""What the cases say in words (``statements``, ``limits``) about a running server; each test is named after its case.

`test_server_cases` plays the rest. The cases: request.late, request.errors, request.time, request.strict,
request.loops, request.limits, request.tool_choice, and security.auth and security.exposure.
"""

from __future__ import annotations

import ast
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from tacid.api.doors import KeyDoor
from tacid.api.keys import Keys, Networks
from tacid.engine.process import Engine
from tacid.jsontext import dumps
from tests.api.judged import Held
from tests.api.scripted import Scripted, before, scripted
from tests.api.stream_rules import collect, judge
from tests.case_files import case, cases
from tests.cli.run import environment, tacid
from tests.serving import Served, joined, serving

CHAT = "/v1/chat/completions"
KEY = "k1-0123456789abcdef"


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def actor() -> Iterator[Scripted]:
    with scripted() as engine:
        yield engine


@pytest.fixture(scope="module")
def served(actor: Scripted, state_dir: Path) -> Iterator[Served]:
    with serving(before(actor, machine={"state_dir": state_dir})) as server:
        yield server


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30) as client:
        yield client


def figure(server: Served, name: str, **labels: str) -> float:
    return server.metrics.registry.get_sample_value(name, labels) or 0.0


def body_of(name: str, **more: Any) -> dict[str, Any]:
    return {**case(name).input["request"]["body"], **more}


def eventually(there: Callable[[], Any], within: float) -> float:
    """Wait until something holds; the seconds that it took."""
    started = time.monotonic()
    while not there():
        assert time.monotonic() - started < within
        time.sleep(0.005)
    return time.monotonic() - started


class TestCallBreaksTheSchema:
    SCRIPT = case("call-breaks-the-schema").input["engine"]

    @pytest.mark.parametrize("stream", [False, True])
    def test_it_is_asked_for_again_once_and_then_handed_on_with_a_mark(
        self, stream: bool, actor: Scripted, served: Served, http: httpx.Client
    ) -> None:
        actor.play(*self.SCRIPT)
        retries, invalid = figure(served, "tacid_retries_total"), figure(served, "tacid_invalid_calls_total")
        body = body_of("call-breaks-the-schema", stream=stream)
        if stream:
            chunks = collect(http, "POST", CHAT, body).chunks
            identity = next(c["delta"]["tool_calls"][0]["id"] for chunk in chunks for c in chunk["choices"] if
                            c["delta"].get("tool_calls"))  # fmt: skip
            told = chunks[-1]["tacid"]
        else:
            reply = http.post(CHAT, json=body).json()
            identity = reply["choices"][0]["message"]["tool_calls"][0]["id"]
            told = reply["tacid"]
        assert actor.calls == 2
        # The model was told what is wrong, with the field.
        assert "/ids" in actor.sent[1].prompt
        assert "more than 3 items" in actor.sent[1].prompt
        assert list(told["invalid"]) == [identity]
        assert any("3 items" in why for why in told["invalid"][identity])
        assert told["retries"] == 1
        assert figure(served, "tacid_retries_total") == retries + 1
        assert figure(served, "tacid_invalid_calls_total") == invalid + 1
        marks = lambda: [line["valid"] for line in served.log() if line.get("event") == "call"]  # noqa: E731
        eventually(marks, 2)
        assert marks()[-1] is False

    def test_a_call_that_fits_the_second_time_bears_no_mark(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play(self.SCRIPT[0], {"call": [{"name": "pick", "arguments": {"ids": [1, 2]}}]})
        reply = http.post(CHAT, json=body_of("call-breaks-the-schema")).json()
        assert json.loads(reply["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == {"ids": [1, 2]}
        assert "invalid" not in reply["tacid"]

    def test_it_is_an_error_where_the_server_is_told_so(self, actor: Scripted) -> None:
        with serving(before(actor, server={"on_invalid": "error"})) as server:
            actor.play(*self.SCRIPT)
            answer = httpx.post(server.url + CHAT, json=body_of("call-breaks-the-schema"))
        assert answer.status_code == 502
        assert answer.json()["error"]["code"] == "call_invalid"

    def test_a_call_of_the_servers_own_tools_is_not_carried_out(self, actor: Scripted, tmp_path: Path) -> None:
        wrong = {"call": [{"name": "facts_get", "arguments": {"nothing": "here"}}]}
        with serving(before(actor, machine={"offer": ["*"], "state_dir": tmp_path})) as server:
            actor.play(wrong, wrong)
            answer = httpx.post(server.url + CHAT, json={"messages": [{"role": "user", "content": "facts?"}]})
        assert answer.status_code == 502
        assert actor.calls == 2
        assert "Result" not in actor.sent[0].prompt


class TestEngineIgnoresGrammar:
    @pytest.mark.parametrize(
        "raw", [case("engine-ignores-grammar").input["engine"][0]["raw"], "Sure!", "", '{"to', "}"]
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_it_is_read_as_a_call_or_as_text_and_the_operator_sees_it(
        self, raw: str, stream: bool, actor: Scripted, served: Served, http: httpx.Client
    ) -> None:
        actor.play(endless={"raw": raw})
        seen = figure(served, "tacid_left_grammar_total")
        body = body_of("engine-ignores-grammar", stream=stream)
        if stream:
            got = collect(http, "POST", CHAT, body)
            judge(got, ["one_role_first", "done_sentinel"])
            message, status = got.message(), got.status
            calls = message["calls"]
        else:
            answer = http.post(CHAT, json=body)
            status, message = answer.status_code, answer.json()["choices"][0]["message"]
            calls = [call["function"] for call in message.get("tool_calls", [])]
        assert status == 200
        assert not (calls and message["content"])
        if "Oslo" in raw:
            assert [(c["name"], json.loads(c["arguments"])) for c in calls] == [("weather", {"city": "Oslo"})]
        # What is a beginning of the envelope, or nothing, is cut off and not outside.
        assert figure(served, "tacid_left_grammar_total") - seen == (raw not in ("", '{"to'))


class TestEngineRefusesGrammar:
    SCRIPT = case("engine-refuses-grammar").input["engine"]

    @pytest.mark.parametrize("path", [CHAT, "/api/chat", "/v1/messages", "/v1/responses"])
    @pytest.mark.parametrize("stream", [False, True])
    def test_it_is_our_fault_and_never_tried_without(
        self, path: str, stream: bool, actor: Scripted, http: httpx.Client
    ) -> None:
        actor.play(*self.SCRIPT)
        body = body_of("engine-refuses-grammar", stream=stream, max_tokens=50)
        if path == "/v1/responses":
            body = {"input": "x", "stream": stream, "tools": [{"type": "function", **body["tools"][0]["function"]}]}
        elif path == "/v1/messages":
            tool = body["tools"][0]["function"]
            body["tools"] = [{"name": tool["name"], "input_schema": tool["parameters"]}]
        answer = http.post(path, json=body)
        assert answer.status_code >= 500
        assert "grammar" in answer.text
        assert len(actor.sent) == 1
        assert actor.sent[0].grammar

    def test_the_grammar_is_kept_where_the_operator_finds_it(
        self, actor: Scripted, http: httpx.Client, state_dir: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        for old in (state_dir / "refused-grammars").glob("*"):
            old.unlink()
        actor.play(*self.SCRIPT)
        http.post(CHAT, json=body_of("engine-refuses-grammar"))
        (kept,) = (state_dir / "refused-grammars").iterdir()
        assert kept.read_text(encoding="utf-8") == actor.sent[0].grammar
        assert kept.stat().st_mode & 0o777 == 0o600
        assert str(kept) in caplog.text

    def test_of_many_the_last_twenty_are_kept(self, actor: Scripted, http: httpx.Client, state_dir: Path) -> None:
        for number in range(25):
            actor.play(*self.SCRIPT)
            http.post(CHAT, json=body_of("engine-refuses-grammar", tools=[{"name": f"t{number}"}]))
        assert len(list((state_dir / "refused-grammars").iterdir())) == 20

    def test_a_state_directory_that_cannot_be_written_changes_nothing_for_the_client(
        self, actor: Scripted, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").touch()
        with serving(before(actor, machine={"state_dir": tmp_path / "file"})) as server:
            actor.play(*self.SCRIPT)
            answer = httpx.post(server.url + CHAT, json=body_of("engine-refuses-grammar"))
        assert answer.json()["error"]["code"] == "grammar_refused"
        assert "can't be kept" in caplog.text


class TestClientGoesAway:
    SCRIPT = case("client-goes-away").input["engine"]

    @pytest.mark.parametrize("path", [CHAT, "/api/chat"])
    def test_the_request_to_the_engine_is_closed(self, path: str, actor: Scripted, http: httpx.Client) -> None:
        actor.play(*self.SCRIPT, {"say": "free"})
        with http.stream("POST", path, json=body_of("client-goes-away")) as answer:
            lines = answer.iter_lines()
            for _ in range(5):
                next(lines)
        assert eventually(lambda: actor.sent[0].closed, 2) < 2
        assert actor.sent[0].ended is None
        self._is_free(http)

    def test_the_same_for_a_request_without_stream(self, actor: Scripted, served: Served, http: httpx.Client) -> None:
        actor.play(*self.SCRIPT, {"say": "free"})
        data = json.dumps(body_of("client-goes-away", stream=False)).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(head + data)
            eventually(lambda: actor.sent and actor.sent[0].written, 5)
        assert eventually(lambda: actor.sent[0].closed, 2) < 2
        self._is_free(http)

    def test_one_who_goes_while_another_is_served_frees_no_slot_but_its_place(
        self, actor: Scripted, served: Served, http: httpx.Client
    ) -> None:
        actor.play(*self.SCRIPT, {"say": "free"})
        gone = threading.Event()

        def first() -> None:
            with http.stream("POST", CHAT, json=body_of("client-goes-away")) as answer:
                held = answer.iter_raw()
                next(held)
                gone.wait(10)

        holder = threading.Thread(target=first)
        holder.start()
        eventually(lambda: actor.sent, 5)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(served.url + CHAT, json=body_of("client-goes-away", stream=False), timeout=0.3)
        eventually(lambda: figure(served, "tacid_queue_depth") == 0, 2)
        assert actor.sent[0].closed is None
        gone.set()
        holder.join(5)
        self._is_free(http)
        # Who went while waiting never came to the engine.
        assert len(actor.sent) == 2

    def _is_free(self, http: httpx.Client) -> None:
        answer = http.post(CHAT, json=body_of("client-goes-away", stream=False), timeout=5)
        assert answer.json()["choices"][0]["message"]["content"] == "free"


class TestStrictFlag:
    def test_the_constraint_is_the_same_with_and_without(self, actor: Scripted, http: httpx.Client) -> None:
        one = case("strict-flag")
        grammars = set()
        for strict in (True, False, None):
            tools = json.loads(json.dumps(one.input["request"]["body"]["tools"]))
            for tool in tools:
                tool["function"].pop("strict")
                if strict is not None:
                    tool["function"]["strict"] = strict
            actor.play(*one.input["engine"])
            assert http.post(CHAT, json=body_of("strict-flag", tools=tools)).status_code == 200
            grammars.add(actor.sent[0].grammar)
        assert len(grammars) == 1

    def test_where_a_strict_schema_was_widened_the_reply_says_so(self, actor: Scripted, http: httpx.Client) -> None:
        schema = {"type": "object", "properties": {"ids": {"type": "array", "uniqueItems": True}}, "required": ["ids"]}
        tool = {"type": "function", "function": {"name": "w", "parameters": schema, "strict": True}}
        actor.play({"call": [{"name": "w", "arguments": {"ids": [1, 2]}}]})
        reply = http.post(CHAT, json=body_of("strict-flag", tools=[tool])).json()
        assert reply["tacid"]["widened"] == {"w": ["/properties/ids: uniqueItems"]}
        actor.play(*case("strict-flag").input["engine"])
        assert "widened" not in http.post(CHAT, json=body_of("strict-flag")).json()["tacid"]


class TestLoopOfTheSameCall:
    def test_calls_that_the_client_carries_out_are_left_alone(self, actor: Scripted, http: httpx.Client) -> None:
        one = case("loop-of-the-same-call")
        actor.play(*one.input["engine"])
        reply = http.post(CHAT, json=one.input["request"]["body"]).json()
        assert reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "weather"
        assert not actor.sent[0].left_grammar

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_loop_of_the_servers_own_ends_with_an_answer(self, stream: bool, actor: Scripted, tmp_path: Path) -> None:
        most = case("loop-of-the-same-call").expect["limits"]["server_run_rounds_at_most"]
        call = {"call": [{"name": "facts_get", "arguments": {}}]}
        with serving(before(actor, machine={"offer": ["*"], "state_dir": tmp_path})) as server:
            # What a model does that can't stop; where the call is no longer in the grammar it has to say something.
            actor.play(*[call] * most, {"say": "I know enough."})
            body = {"messages": [{"role": "user", "content": "x"}], "stream": stream}
            with httpx.Client(base_url=server.url, timeout=30) as client:
                rounds = self._rounds(client, actor, body, call)
                actor.play(*[call] * rounds, {"say": "I know enough."})
                if stream:
                    got = collect(client, "POST", CHAT, body)
                    judge(got, ["one_role_first", "same_id_and_model_throughout", "finish:stop", "no_text:facts_get"])
                    assert got.content == "I know enough."
                else:
                    reply = client.post(CHAT, json=body).json()
                    assert reply["choices"][0]["message"]["content"] == "I know enough."
                    assert reply["tacid"]["hops"] == rounds
                    assert reply["usage"]["prompt_tokens"] == sum(len(sent.ids) for sent in actor.sent)
        assert 1 <= rounds <= most
        assert not any(sent.left_grammar for sent in actor.sent)

    def _rounds(self, client: httpx.Client, actor: Scripted, body: dict[str, Any], call: dict[str, Any]) -> int:
        """How many rounds are taken before the call is left out."""
        client.post(CHAT, json=body)
        text = dumps({"tool": "facts_get", "arguments": {}})
        admitted = [sent.grammar is not None and Held(sent.grammar).admits(text) for sent in actor.sent]
        return admitted.index(False)


def test_context_too_small_says_how_much_of_it_are_the_tools(actor: Scripted, http: httpx.Client) -> None:
    script = case("context-too-small").input["engine"]
    actor.play(*script)
    message = http.post(CHAT, json=body_of("context-too-small")).json()["error"]["message"]
    with_tools = len(actor.sent[0].ids)
    actor.play(*script)
    plain = http.post(CHAT, json=body_of("context-too-small", tools=[])).json()["error"]["message"]
    assert f"{with_tools - len(actor.sent[0].ids)} of them for the tools" in message
    assert "tools" not in plain
    # Nothing is dropped silently: all of what the user wrote was sent.
    assert actor.sent[0].prompt.count("word ") >= 5990


def test_choice_none_makes_text_of_what_looks_like_a_call(actor: Scripted, http: httpx.Client) -> None:
    actor.play({"call": [{"name": "weather", "arguments": {"city": "Oslo"}}]})
    message = http.post(CHAT, json=body_of("choice-none")).json()["choices"][0]["message"]
    assert "tool_calls" not in message
    assert actor.sent[0].grammar is None
    assert "weather" not in actor.sent[0].prompt.replace("weather in Oslo?", "")


@pytest.fixture(scope="module")
def locked(actor: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"first:{KEY}\nsecond:k2-0123456789abcdef\n", encoding="utf-8")
    with serving(before(actor, server={"keys": keys})) as server:
        yield server


class TestAuthOnEveryRoute:
    KEY = KEY
    CASE = case("auth-on-every-route")

    def _like(self, key: str) -> str:
        """A key that differs from the right one as the case's does from its own."""
        assert self.CASE.input["config"]["api_keys"] == ["k1"]
        return {"k": self.KEY[:-1], "K1": self.KEY.upper(), "k1 ": self.KEY + " ", "k11": self.KEY + "1"}[key]

    def test_every_request_of_the_case_is_refused_or_told_nothing(self, locked: Served) -> None:
        with httpx.Client(base_url=locked.url) as client:
            for request in self.CASE.input["requests"]:
                path, key = request["path"], request["key"]
                if path == "/healthz":
                    answer = client.get(path)
                    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
                    continue
                if key == "k1 ":
                    continue  # HTTP takes the space away before anybody sees it; see below
                for method in ("GET", "POST", "DELETE"):
                    for name in ("authorization", "x-api-key"):
                        shown = None if key is None else self._like(key)
                        value = shown if name == "x-api-key" else f"Bearer {shown}"
                        answer = client.request(method, path, headers={} if shown is None else {name: str(value)})
                        assert answer.status_code == 401, (method, request)
                        error = answer.json()["error"]
                        assert error if isinstance(error, str) else error["message"]
                        assert answer.headers["www-authenticate"].startswith("Bearer")

    def test_the_right_key_is_let_in_on_each(self, locked: Served, actor: Scripted) -> None:
        actor.play(endless={"say": "ok"})
        with httpx.Client(base_url=locked.url, headers={"authorization": f"Bearer {self.KEY}"}) as client:
            for path in {request["path"] for request in self.CASE.input["requests"]}:
                assert client.get(path).status_code != 401

    async def test_a_key_with_a_space_after_it_is_another_key(self, tmp_path: Path) -> None:
        # RFC 9110, 5.5: space around a field's value is none of it, so only a server that keeps it can show us one.
        (tmp_path / "keys").write_text(f"first:{self.KEY}\n", encoding="utf-8")
        sent: list[Message] = []

        async def inside(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            raise AssertionError

        door = KeyDoor(inside, Keys(tmp_path / "keys"), Networks(()))
        for key, status in ((self.KEY + " ", 401), (self.KEY, 200)):
            for header in ((b"authorization", f"Bearer {key}".encode()), (b"x-api-key", key.encode())):
                sent.clear()
                scope = {
                    "type": "http",
                    "path": "/v1/models",
                    "headers": [header],
                    "state": {},
                    "client": ("1.2.3.4", 1),
                }
                await door(scope, receive, send)
                assert sent[0]["status"] == status, header

    def test_no_key_is_ever_logged(self, locked: Served) -> None:
        wrong = "wrong-key-0123456789"
        with httpx.Client(base_url=locked.url) as client:
            for key in (self.KEY, wrong):
                client.get("/v1/models", headers={"authorization": f"Bearer {key}"})
                client.get("/v1/models", headers={"x-api-key": key})
        eventually(lambda: [line for line in locked.log() if line.get("key") == "first"], 2)
        text = json.dumps(locked.log())
        assert self.KEY not in text
        assert wrong not in text

    def test_keys_are_compared_in_constant_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "keys"
        path.write_text("".join(f"k{n}:key-{n:020}\n" for n in range(9)), encoding="utf-8")
        keys = Keys(path)
        seen: list[tuple[int, int]] = []
        compare = hmac.compare_digest

        def counting(one: bytes, other: bytes) -> bool:
            seen.append((len(one), len(other)))
            return compare(one, other)

        monkeypatch.setattr(hmac, "compare_digest", counting)
        for key in (b"key-%020d" % 0, b"key-%020d" % 8, b"none", b""):
            seen.clear()
            keys.name_of(key)
            # Every key of the file, by digests of one length, whichever it is.
            assert seen == [(32, 32)] * 9

    def test_without_a_key_on_another_address_it_does_not_start(self, tmp_path: Path) -> None:
        for host in ("0.0.0.0", "::", "192.0.2.1"):
            ran = tacid("serve", "--host", host, "--port", "1", env=environment(tmp_path))
            assert ran.code != 0
            assert "without keys" in ran.complaint()


class TestEngineNotReachablePastUs:
    # What the engine has and we don't, with routes that are an action in other servers.
    ENGINE = ("/completion", "/completions", "/infill", "/slots", "/slots/0?action=erase", "/props", "/tokenize",
              "/detokenize", "/apply-template", "/embedding", "/lora-adapters", "/models", "/models/load",
              "/models/unload", "/rerank", "/v1/rerank", "/cors-proxy", "/tools")  # fmt: skip
    CHANGES = (("POST", "/api/pull"), ("DELETE", "/api/delete"), ("POST", "/api/create"), ("POST", "/api/copy"),
               ("POST", "/api/push"), ("POST", "/models/load"))  # fmt: skip

    @pytest.mark.engine
    @pytest.mark.model
    def test_its_own_routes_are_not_passed_through(self, engine: Engine) -> None:
        with serving(joined(engine)) as server, httpx.Client(base_url=server.url) as client:
            there = httpx.Client(base_url=engine.client.url, headers={"authorization": f"Bearer {engine.client.key}"})
            with there:
                assert there.get("/props").status_code == 200
            for path in self.ENGINE:
                for method in ("GET", "POST", "PUT", "DELETE"):
                    answer = client.request(method, path, json={"prompt": "x", "content": "x"})
                    assert answer.status_code in (404, 405), (method, path)
                    assert answer.json()["error"]["message"]
            for path in ("/v1/../props", "/v1/%2e%2e/props", "//props", "/v1/models/../../props", "/api//../slots"):
                assert "n_ctx" not in client.get(path).text

    def test_no_route_changes_models_unless_switched_on(self, served: Served, actor: Scripted) -> None:
        actor.play()
        with httpx.Client(base_url=served.url) as client:
            for method, path in self.CHANGES:
                body = {"model": "smollm2", "name": "smollm2", "from": "m", "source": "m", "destination": "n"}
                answer = client.request(method, path, json=body)
                assert 400 <= answer.status_code < 500, (path, answer.text)
        assert not actor.sent

    @pytest.mark.engine
    @pytest.mark.model
    def test_it_listens_on_loopback_with_a_key_of_its_own(self, engine: Engine) -> None:
        url = httpx.URL(engine.client.url)
        assert url.host == "127.0.0.1"
        assert engine.client.key
        for headers in ({}, {"authorization": "Bearer x"}):
            for path in ("/props", "/slots", "/v1/models", "/metrics"):
                answer = httpx.get(engine.client.url + path, headers=headers)
                # Only what is no secret: llama-server names its model to anybody.
                assert answer.status_code in (401, 404, 501) or path == "/v1/models", path
            assert (
                httpx.post(engine.client.url + "/completion", json={"prompt": "x"}, headers=headers).status_code == 401
            )
        listening = _listeners(url.port or 0)
        assert listening == {"0100007F"}


def _listeners(port: int) -> set[str]:
    """The addresses at which this port is listened on, as the kernel writes them."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                found.add(local.rpartition(":")[0])
    return found


def test_every_case_with_statements_has_its_tests_here() -> None:
    """A class or a function whose name is that of the case; ``body-not-json`` is in `test_server_cases`."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
    squeezed = [name.lower().replace("_", "") for name in names]
    for one in cases():
        if one.kind.startswith(("request.", "security.")) and ("statements" in one.expect or "limits" in one.expect):
            wanted = one.id.replace("-", "")
            there = one.id == "body-not-json" or any(name.startswith("test" + wanted) for name in squeezed)
            assert there, one.id
