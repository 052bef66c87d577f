"""What the server counts and times, for Prometheus. A registry of its own, so that two servers don't share figures."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

#: The content type of an exposition.
CONTENT_TYPE = CONTENT_TYPE_LATEST

#: Different values that a label may have before the rest is counted as "other"; some come from clients' schemas.
MAX_VALUES = 200

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_COMPILE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """The figures of one server. Seconds are seconds, counters only grow."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._values: dict[str, set[str]] = {}
        self._requests = Counter(
            "tacid_requests", "Requests by route and outcome.", ("route", "outcome"), registry=registry
        )
        self._turns = Counter(
            "tacid_turns",
            "Turns by the endpoint that took them and how that went: ok, invalid, failed.",
            ("endpoint", "outcome"),
            registry=registry,
        )
        self._tokens = Counter(
            "tacid_tokens",
            "Tokens: prompt (all that was read), cached (of them from the cache), completion (written), "
            "forced (of them left no choice by the grammar).",
            ("kind",),
            registry=registry,
        )
        self._widenings = Counter(
            "tacid_widenings", "Widenings in compiled grammars, by keyword.", ("keyword",), registry=registry
        )
        self._modes = Counter(
            "tacid_tool_modes",
            "Turns by how much of the catalogue was shown (full, deferred, direct), and why.",
            ("mode", "why"),
            registry=registry,
        )
        self._info_hops = Counter(
            "tacid_tool_info_hops", "Calls of get_tool_info and search_tools, which no client sees.", registry=registry
        )
        self._saved = Counter(
            "tacid_prompt_tokens_saved", "Tokens of tools that an index spared the prompt.", registry=registry
        )
        self.open_streams = Gauge("tacid_open_streams", "Requests for replies that are open.", registry=registry)
        self.queue_depth = Gauge("tacid_queue_depth", "Requests that wait for a slot.", registry=registry)
        self.first_token_seconds = Histogram(
            "tacid_first_token_seconds",
            "Seconds from a request's arrival to the first token of its reply.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.grammar_compile_seconds = Histogram(
            "tacid_grammar_compile_seconds",
            "Seconds to compile a grammar that wasn't cached.",
            buckets=_COMPILE_SECONDS,
            registry=registry,
        )
        self.grammar_cache_hits = Counter("tacid_grammar_cache_hits", "Grammars found in the cache.", registry=registry)
        self.retries = Counter(
            "tacid_retries", "Calls that failed their check and were sampled again.", registry=registry
        )
        self.invalid_calls = Counter("tacid_invalid_calls", "Calls that failed their check twice.", registry=registry)
        self.left_grammar = Counter(
            "tacid_left_grammar",
            "Replies that an engine wrote outside the grammar that it was sent.",
            registry=registry,
        )
        self._services_standing = Gauge(
            "tacid_services_list",
            "How the list of services is (good, last_good, unusable, absent): 1 for what holds, 0 for the others.",
            ("state",),
            registry=registry,
        )
        self._services_names = Gauge("tacid_services_names", "Names in the list of services.", registry=registry)
        self._services_changes = Counter(
            "tacid_services_changes",
            "Times that the list of services, or how it is, was found changed, by how it was then.",
            ("state",),
            registry=registry,
        )
        self.engine_restarts = Counter("tacid_engine_restarts", "Restarts of an engine.", registry=registry)

    def request(self, route: str, outcome: str) -> None:
        """Count a request. ``route`` is the route's pattern, never the path that a client wrote."""
        self._requests.labels(self._bounded("route", route), self._bounded("outcome", outcome)).inc()

    def turn(self, endpoint: str, outcome: str) -> None:
        """Count a turn. ``endpoint`` is its name in the configuration."""
        self._turns.labels(self._bounded("endpoint", endpoint), self._bounded("outcome", outcome)).inc()

    def mode(self, mode: str, why: str, *, hops: int = 0, saved: int = 0) -> None:
        """Count a turn by its tool mode, its calls of our own tools, and the prompt's tokens that it spared."""
        self._modes.labels(self._bounded("mode", mode), self._bounded("why", why)).inc()
        self._info_hops.inc(hops)
        self._saved.inc(max(0, saved))

    def tokens(self, *, prompt: int = 0, cached: int = 0, completion: int = 0, forced: int = 0) -> None:
        """Count the tokens of a turn."""
        for kind, count in (("prompt", prompt), ("cached", cached), ("completion", completion), ("forced", forced)):
            self._tokens.labels(kind).inc(max(0, count))

    def widening(self, keyword: str) -> None:
        """Count a place where a grammar admits more than its schema."""
        self._widenings.labels(self._bounded("keyword", keyword)).inc()

    def services(self, standing: str, names: int | None) -> None:
        """How the list of services is now, and how many names it has, if there is one."""
        for state in ("good", "last_good", "unusable", "absent"):
            self._services_standing.labels(state).set(state == standing)
        self._services_names.set(names or 0)
        self._services_changes.labels(standing).inc()

    def exposition(self) -> bytes:
        """Everything in the text format of Prometheus, whose type is `CONTENT_TYPE`."""
        return generate_latest(self.registry)

    def _bounded(self, label: str, value: str) -> str:
        known = self._values.setdefault(label, set())
        value = value.encode("utf-8", "replace").decode()[:100]
        if value not in known and len(known) >= MAX_VALUES:
            return "other"
        known.add(value)
        return value
