"""The bounds of a grammar from the configuration."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.run import environment, tacid


def test_the_configured_bounds_hold(tmp_path: Path) -> None:
    words = {"type": "string", "pattern": "^(?=.*a)(?=.*b)(?=.*c)(?=.*d)[a-z]{4,40}$"}
    file = tmp_path / "tools.json"
    parameters = {"type": "object", "properties": {f"w{n}": words | {"maxLength": 30 + n} for n in range(12)}}
    file.write_text(json.dumps([{"name": "t", "description": "d", "parameters": parameters}]), encoding="utf-8")
    whole = tacid("grammar", str(file), env=environment(tmp_path))
    bounded = tacid("grammar", str(file), env={**environment(tmp_path), "TACID_GRAMMAR__MAX_BYTES": "16384"})
    assert (whole.code, bounded.code) == (0, 0)
    assert len(bounded.out) <= 16_384 < len(whole.out)
