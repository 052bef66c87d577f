"""An OpenAI endpoint that says what a test tells it to, over real HTTP: for what no server of ours would ever say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Say = Callable[[dict[str, Any]], tuple[int, Any]]


def reply(*calls: tuple[str, Any], said: str | None = None, finish: str = "stop", **usage: Any) -> tuple[int, Any]:
    """A whole reply; arguments that are no text are written as JSON."""
    tool_calls = [
        {
            "id": f"c{index}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for index, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": said, **({"tool_calls": tool_calls} if calls else {})}
    counted = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}, **usage}
    return 200, {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": counted}


class Endpoint:
    """Its URL, and the bodies that it was asked with."""

    def __init__(self, say: Say) -> None:
        self.asked: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, {"data": [{"id": "scripted"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.asked.append({**body, "_key": self.headers.get("authorization")})
                self._answer(*say(body))

            def _answer(self, status: int, body: Any) -> None:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@contextmanager
def endpoint(say: Say) -> Iterator[Endpoint]:
    """An endpoint for as long as the context lasts."""
    made = Endpoint(say)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()
