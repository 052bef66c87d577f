"""The description lists the routes that there are, and is itself what OpenAPI says."""

from __future__ import annotations

import json
import re

import jsonschema_rs
import pytest
from fastapi.routing import APIRoute

from tacid.api.app import create_app
from tacid.api.described import ROUTES, description
from tacid.api.service import Service
from tacid.config import Config
from tacid.metrics import Metrics


def test_every_route_is_described_and_nothing_else() -> None:
    metrics = Metrics()
    app = create_app(Service(Config.model_validate({"engine": {"url": "http://127.0.0.1:9"}}), metrics), metrics)
    found = {
        (method.lower(), re.sub(r":path}", "}", route.path))
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert found == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: " ".join(route))
def test_a_route_has_a_summary_and_schemas_that_are_schemas(route: tuple[str, str]) -> None:
    method, path = route
    operation = description()["paths"][path][method]
    assert operation["summary"]
    schemas = [
        content["schema"]
        for answer in operation["responses"].values()
        for content in answer.get("content", {}).values()
        if "$ref" not in content["schema"]
    ]
    if "requestBody" in operation:
        schemas.append(operation["requestBody"]["content"]["application/json"]["schema"])
    for schema in schemas:
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    assert set(re.findall(r"{(\w+)}", path)) == {one["name"] for one in operation.get("parameters", [])}


def test_references_lead_somewhere() -> None:
    whole = description()
    found = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(whole)))
    assert found == set(whole["components"]["schemas"])
