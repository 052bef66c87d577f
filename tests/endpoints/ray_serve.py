"""Ray Serve with a deployment that speaks OpenAI's chat protocol as vLLM does, a real engine and a real model behind it.

Run as a program of its own: ``python -m tests.endpoints.ray_serve PORT ENGINE_URL ENGINE_KEY``. It prints a line when it
serves, and ends when its standard input does. What it does beyond passing on is what vLLM does: the template shows the
tools, ``structured_outputs.grammar`` holds the reply, but only where ``tool_choice`` leaves it alone.

No postponed annotations here: Ray ships the class by value, and FastAPI then couldn't resolve them.
"""

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import ray
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from ray import cloudpickle, serve

MODEL = "smollm2"
REPLICAS = 2

app = FastAPI()


@serve.deployment(num_replicas=REPLICAS, ray_actor_options={"num_cpus": 0})
@serve.ingress(app)
class Chat:
    """One replica: as many as there are answer side by side."""

    def __init__(self, url: str, key: str | None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=None)

    @app.get("/v1/models")
    async def models(self) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": MODEL, "object": "model"}]}

    @app.post("/v1/chat/completions")
    async def chat(self, request: Request) -> Response:
        body = await request.json()
        if body.get("model") != MODEL:
            return Response('{"error":{"message":"no such model","type":"NotFoundError"}}', 404)
        tools, choice = body.pop("tools", []), body.pop("tool_choice", "auto")
        held = body.pop("structured_outputs", None)
        if held is not None and not (tools and choice != "none"):
            body["grammar"] = held["grammar"]
        if tools:
            shown = "# Tools\n" + "\n".join(json.dumps(tool["function"]) for tool in tools)
            messages = body["messages"]
            if messages[0]["role"] == "system":
                messages[0]["content"] = f"{shown}\n\n{messages[0]['content']}"
            else:
                messages.insert(0, {"role": "system", "content": shown})
        asked = self._http.build_request("POST", "/v1/chat/completions", json=body)
        answer = await self._http.send(asked, stream=True)
        if answer.status_code != 200:
            return Response(await answer.aread(), answer.status_code)

        async def pieces() -> AsyncIterator[bytes]:
            try:
                async for piece in answer.aiter_raw():
                    yield piece
            finally:
                await answer.aclose()

        return StreamingResponse(pieces(), media_type="text/event-stream")


def main() -> None:
    """Serve until standard input ends."""
    port, url, key = int(sys.argv[1]), sys.argv[2], sys.argv[3] or None
    cloudpickle.register_pickle_by_value(sys.modules["__main__"])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        object_store_memory=100 * 1024 * 1024,
        _node_ip_address="127.0.0.1",
    )
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    serve.run(Chat.bind(url, key))  # type: ignore[attr-defined]
    print("serving", flush=True)
    sys.stdin.read()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
