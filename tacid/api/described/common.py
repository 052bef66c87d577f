"""Routes of ours that belong to no protocol."""

from __future__ import annotations

from tacid.api.described.parts import DOORS, HTML, JSON, PLAIN, Route, flag, listed, text, thing, word

_STATES = ("starting", "ready", "wedged", "restarting", "failed", "resting", "stopped", "refused")
_OK = thing({"status": word("ok")}, ("status",))
_READY = thing(
    {
        "ready": flag("Whether a request would be taken now; one that rests is started by the next."),
        "engines": listed(
            thing(
                {
                    "name": text(),
                    "kind": word("local", "tools", "remote"),
                    "state": word(*_STATES),
                    "reason": text("Why, as a clause."),
                    "fallback": flag("Asked only where the others can't reply; left out where it isn't one."),
                },
                ("name", "kind", "state", "reason"),
            )
        ),
    },
    ("ready", "engines"),
)

ROUTES: dict[tuple[str, str], Route] = {
    ("get", "/health"): Route(
        "Server: whether it runs; nothing else, and without a key", "openai", {JSON: _OK}, (400, 403)
    ),
    ("get", "/healthz"): Route("Server: the same by another name", "openai", {JSON: _OK}, (400, 403)),
    ("get", "/ready"): Route(
        "Server: whether an engine can be asked; 503 with the same body where none can",
        "openai",
        {JSON: _READY},
        statuses=(200, 503),
    ),
    ("get", "/metrics"): Route("Server: figures for Prometheus", "openai", {PLAIN: text()}),
    ("get", "/docs"): Route("Server: this description, to read", "openai", {HTML: text()}, DOORS),
    ("get", "/openapi.json"): Route("Server: this description", "openai", {JSON: thing()}, DOORS),
}
