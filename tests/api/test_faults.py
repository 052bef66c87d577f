"""Every error of ours has a status, and a body in the shape of the route's protocol."""

from __future__ import annotations

import json

import pytest
from starlette.exceptions import HTTPException

from tacid import errors
from tacid.api.faults import UNFORESEEN, Fault, body_of, fault, fault_of, headers_of
from tacid.errors import TacidError

EXPECTED = {
    "InputError": 400,
    "RequestError": 400,
    "CatalogueError": 400,
    "GrammarError": 400,
    "ContextExceeded": 400,
    "ModelUnknown": 404,
    "Busy": 429,
    "ServicesError": 500,
    "CompilerBug": 500,
    "ModelError": 500,
    "GrammarRefused": 500,
    "TacidError": 500,
    "DownloadError": 502,
    "EngineError": 502,
    "ReplyError": 502,
    "ReplyTruncated": 502,
    "CallInvalid": 502,
    "ProposalInvalid": 502,
    "EngineMissing": 503,
    "EngineStartError": 503,
    "EngineAbsent": 503,
    "EngineDied": 503,
    "TooSlow": 504,
    "Stopping": 503,
}
CLASSES = {
    name: value for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, TacidError)
}
MORE = {"ContextExceeded": {"prompt": 9, "context": 8}, "ProposalInvalid": {"pointer": "/x"}}


@pytest.mark.parametrize("name", CLASSES)
def test_each_error_of_the_tree_has_its_status_and_keeps_its_words(name: str) -> None:
    found = fault_of(CLASSES[name]("The thing is so; do this.", **MORE.get(name, {})))
    assert found.message == "The thing is so; do this."
    assert found.status == EXPECTED[name]
    assert found.type


def test_the_codes_that_clients_look_at() -> None:
    assert fault_of(errors.ContextExceeded("x", prompt=9, context=8)).code == "context_length_exceeded"
    assert fault_of(errors.ModelUnknown("x")).code == "model_not_found"
    assert fault_of(errors.RequestError("x", param="tools.0")).param == "tools.0"
    assert fault_of(errors.RequestError("x", code="unsupported")).code == "unsupported"
    assert fault_of(errors.CatalogueError("x")).param is None


@pytest.mark.parametrize("name", ["EngineDied", "EngineStartError", "EngineMissing", "Busy"])
def test_where_another_try_can_help_there_is_a_time(name: str) -> None:
    assert int(headers_of(fault_of(CLASSES[name]("x")))["retry-after"]) >= 1


def test_a_time_is_whole_seconds_and_at_least_one() -> None:
    assert headers_of(fault_of(errors.Busy("x", retry_after=0.01))) == {"retry-after": "1"}
    assert headers_of(fault_of(errors.Busy("x", retry_after=2.1))) == {"retry-after": "3"}


def test_an_error_that_is_not_ours_says_nothing_of_itself() -> None:
    found = fault_of(KeyError("/home/someone/secret"))
    assert (found.status, found.message) == (500, UNFORESEEN)


def test_an_error_of_the_framework_keeps_its_status() -> None:
    found = fault_of(HTTPException(405, "Method Not Allowed"))
    assert (found.status, found.message, found.type) == (405, "Method Not Allowed", "invalid_request_error")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models", "/v1/responses", "/metrics", "/", "/apix"])
def test_openai_shape(path: str) -> None:
    assert body_of(fault(401, "No."), path) == {
        "error": {"message": "No.", "type": "authentication_error", "param": None, "code": "invalid_api_key"}
    }


@pytest.mark.parametrize("path", ["/api/chat", "/api/tags", "/api/none"])
def test_ollama_shape(path: str) -> None:
    assert body_of(fault(404, "No."), path) == {"error": "No."}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (408, "invalid_request_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (504, "timeout_error"),
    ],
)
def test_anthropic_shape(status: int, kind: str) -> None:
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        body = body_of(Fault(status, "No.", ""), path)
        assert body == {"type": "error", "error": {"type": kind, "message": "No."}}


def test_anthropic_code_is_among_the_details() -> None:
    body = body_of(fault(400, "No.", code="thread_unsupported_request"), "/v1/messages")
    assert body["error"]["details"] == {"error_code": "thread_unsupported_request"}


def test_a_body_is_json() -> None:
    assert json.loads(json.dumps(body_of(fault(400, 'a "b" \x00 \ud800'), "/api/chat")))
