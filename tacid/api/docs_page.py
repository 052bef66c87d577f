"""A page that shows the OpenAPI description by itself: no script, nothing fetched from elsewhere."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#f4f4f4;padding:.8rem;overflow:auto}"
    "summary{cursor:pointer;padding:.3rem 0}b{display:inline-block;min-width:4.5rem}"
)


def docs_page(description: Mapping[str, Any]) -> str:
    """The page for an OpenAPI description (version 3.1)."""
    info = description["info"]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_text(info['title'])}</title>",
        f"<style>{_STYLE}</style><h1>{_text(info['title'])} {_text(info['version'])}</h1>",
        f"<p>{_text(info.get('description', ''))}</p>",
        "<p>The same for programs: <a href=/openapi.json>/openapi.json</a></p>",
    ]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, Mapping):
                parts.append(_operation(path, method, operation))
    return "".join(parts)


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    head = f"<b>{_text(method.upper())}</b><code>{_text(path)}</code> {_text(operation.get('summary', ''))}"
    inside = []
    content = operation.get("requestBody", {}).get("content", {})
    for kind, one in content.items():
        shown = json.dumps(one.get("schema", {}), indent=2)
        inside.append(f"<p>Body, {_text(kind)}:</p><pre>{_text(shown)}</pre>")
        if "example" in one:
            inside.append(f"<p>For example:</p><pre>{_text(json.dumps(one['example'], indent=2))}</pre>")
    answers = "".join(
        f"<li><code>{_text(status)}</code> {_text(answer.get('description', ''))}"
        for status, answer in operation.get("responses", {}).items()
    )
    return f"<details><summary>{head}</summary>{''.join(inside)}<ul>{answers}</ul></details>"


def _text(value: Any) -> str:
    return html.escape(str(value))
