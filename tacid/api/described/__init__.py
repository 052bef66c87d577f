"""The OpenAPI description of the server: every route, the fields that it understands, and all that it answers.

Source: OpenAPI Specification 3.1.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tacid import __version__
from tacid.api.described import anthropic, common, ollama, openai
from tacid.api.described.parts import ERRORS, Route

#: Every route that is described, by its method and path.
ROUTES: dict[tuple[str, str], Route] = {**common.ROUTES, **openai.ROUTES, **anthropic.ROUTES, **ollama.ROUTES}


def methods_of(path: str) -> set[str]:
    """The methods that a path takes, in capitals; ``path`` is one of a request's."""
    return {method.upper() for method, pattern in ROUTES if _pattern(pattern).fullmatch(path)}


@cache
def _pattern(path: str) -> re.Pattern[str]:
    # Only a model's name may hold slashes.
    return re.compile(re.sub(r"{(\w+)}", lambda found: ".+" if found[1] == "name" else "[^/]+", path))


@cache
def description() -> dict[str, Any]:
    """The whole description; don't change it."""
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), route in ROUTES.items():
        paths.setdefault(path, {})[method] = route.operation()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tacid",
            "version": __version__,
            "description": "Tool calls of a small local model, held by a grammar that the sampler can't leave. A body "
            "is JSON in UTF-8; fields that aren't named here are ignored. Keys are needed where the server has some.",
        },
        "security": [{}, {"bearer": []}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": {f"error_{protocol}": schema for protocol, schema in ERRORS.items()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


__all__ = ["ROUTES", "description", "methods_of"]
