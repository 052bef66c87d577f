"""Fetches a pin's file from the Hugging Face hub, by its own library, which takes up what was broken off."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacid.engine.pins import Hub, Pin
from tacid.engine.progress import Watcher
from tacid.engine.transfer import SourceFailed

#: Seconds that the hub gets to say that it is there.
_PATIENCE = 5.0


def fetch_from_hub(pin: Pin, source: Hub, folder: Path, watcher: Watcher) -> Path:
    """The pin's file in ``folder``, not yet verified. ``$HF_ENDPOINT``, ``$HF_HUB_OFFLINE``, ``$HF_TOKEN`` hold.

    Raises ``SourceFailed`` within seconds where the hub isn't reached, ``OSError`` where the disk fails.
    """
    # Imported here: it takes half a second, and most starts fetch nothing.
    import huggingface_hub as hub

    try:
        # The library would try again for minutes; a look first tells.
        found = hub.get_hf_file_metadata(
            hub.hf_hub_url(source.hub, pin.file, revision=source.revision), timeout=_PATIENCE
        )
        if found.size is not None and found.size != pin.size:
            raise SourceFailed(f"the hub's file has {found.size:,} bytes instead of {pin.size:,}")
        bars: dict[str, Any] = {}
        if "tqdm_class" in inspect.signature(hub.hf_hub_download).parameters:
            bars["tqdm_class"] = _reporting(lambda done: watcher.at(min(done, pin.size), pin.size))
        else:
            watcher.note("This version of huggingface_hub tells no progress")
        watcher.note(f"Fetching {pin.file} from the hub ({source.hub})")
        return Path(
            hub.hf_hub_download(
                source.hub, pin.file, revision=source.revision, local_dir=folder, etag_timeout=_PATIENCE, **bars
            )
        )
    except (SourceFailed, KeyboardInterrupt):
        raise
    except OSError as error:
        if error.errno is not None and not _is_network(error):
            raise
        raise SourceFailed(f"the hub failed ({_short(error)})") from None
    except (
        Exception
    ) as error:  # the library lets through what its own HTTP client raises, which differs from one version to the next
        raise SourceFailed(f"the hub is not reached ({_short(error)})") from None


def _reporting(tell: Callable[[int], None]) -> type[Any]:
    from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

    class Reporting(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        """A bar that draws nothing and tells how far it is."""

        def __init__(self, *args: Any, **options: Any) -> None:
            for ours in ("name",):
                options.pop(ours, None)
            self._nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
            super().__init__(*args, **{**options, "file": self._nowhere, "disable": False})
            tell(int(self.n))

        def update(self, n: float | None = 1) -> bool | None:
            done = super().update(n)
            tell(int(self.n))
            return done  # type: ignore[no-any-return, unused-ignore]

        def close(self) -> None:
            super().close()
            self._nowhere.close()

    return Reporting


def _is_network(error: OSError) -> bool:
    return isinstance(error, (ConnectionError, TimeoutError)) or "httpx" in type(error).__module__


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text[:160] + "…" if len(text) > 160 else text) or type(error).__name__
