"""What is counted is exposed, by bounded labels."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from tacid.metrics import CONTENT_TYPE, MAX_VALUES, Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    text = metrics.exposition().decode()
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_figure_is_exposed_under_its_name() -> None:
    metrics = Metrics()
    metrics.request("/v1/chat/completions", "call")
    metrics.tokens(prompt=10, cached=4, completion=3, forced=2)
    metrics.widening("pattern")
    metrics.queue_depth.set(3)
    metrics.open_streams.inc()
    metrics.first_token_seconds.observe(0.2)
    metrics.grammar_compile_seconds.observe(0.003)
    for counter in (
        metrics.grammar_cache_hits,
        metrics.retries,
        metrics.invalid_calls,
        metrics.engine_restarts,
    ):
        counter.inc()
    found = samples(metrics)
    assert found["tacid_requests_total", ("call", "/v1/chat/completions")] == 1
    assert found["tacid_tokens_total", ("prompt",)] == 10
    assert found["tacid_tokens_total", ("cached",)] == 4
    assert found["tacid_tokens_total", ("completion",)] == 3
    assert found["tacid_tokens_total", ("forced",)] == 2
    assert found["tacid_widenings_total", ("pattern",)] == 1
    assert found["tacid_queue_depth", ()] == 3
    assert found["tacid_open_streams", ()] == 1
    assert found["tacid_first_token_seconds_count", ()] == 1
    assert found["tacid_first_token_seconds_sum", ()] == 0.2
    assert found["tacid_grammar_compile_seconds_count", ()] == 1
    for name in ("grammar_cache_hits", "retries", "invalid_calls", "engine_restarts"):
        assert found[f"tacid_{name}_total", ()] == 1
    assert CONTENT_TYPE.startswith("text/plain")


def test_two_servers_do_not_share_figures() -> None:
    one, other = Metrics(), Metrics()
    one.retries.inc()
    assert samples(other)["tacid_retries_total", ()] == 0


def test_a_client_can_not_make_endless_labels() -> None:
    metrics = Metrics()
    for number in range(MAX_VALUES + 50):
        metrics.widening(f"keyword{number}")
    metrics.widening("keyword0")
    found = {labels[0]: value for (name, labels), value in samples(metrics).items() if name == "tacid_widenings_total"}
    assert len(found) == MAX_VALUES + 1
    assert found["other"] == 50
    assert found["keyword0"] == 2


def test_a_label_of_any_text_is_exposed() -> None:
    metrics = Metrics()
    metrics.widening('a"b\n\\ \ud800' + "x" * 1000)
    assert any("widenings_total" in name for name, _ in samples(metrics))
