"""JSON values as keys of dictionaries."""

from __future__ import annotations

import marshal
from typing import Any

#: The form of `marshal` that says the same of equal content, whichever objects it is made of.
_MARSHAL = 2


def content_key(value: Any) -> bytes | None:
    """Bytes that are equal for equal JSON; ``None`` for what has none (too deep, or no JSON)."""
    try:
        return marshal.dumps(value, _MARSHAL)
    except ValueError:
        return None
