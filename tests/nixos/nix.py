"""Real `nix`: the machine's own, else Debian's in a tree of its own, which bubblewrap gives a root of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from vmtests.cache import made

ROOT = Path(__file__).parents[2]
#: As much of nixpkgs as the module and the flake use; ``$TACID_NIXPKGS_LIB`` names the real lib.
STANDIN = ROOT / "tests" / "nixos" / "standin"
SUITE, PACKAGES = "trixie", "nix-bin"
#: Seconds that making the tree, and one run of nix, may take.
_MAKING, _PATIENCE = 600, 120
_OPTIONS = ["--extra-experimental-features", "nix-command flakes"]
#: What nix says of a machine that has neither a network nor its group of builders.
_NOISE = ("warning: you don't have Internet access", "warning: the group 'nixbld'")


class NixError(Exception):
    """What nix said on standard error."""


def missing() -> str | None:
    """Why there is no nix here, in a clause; none where there is one or one can be made."""
    if shutil.which("nix"):
        return None
    lacking = [tool for tool in ("mmdebstrap", "bwrap") if shutil.which(tool) is None]
    packages = " ".join({"bwrap": "bubblewrap"}.get(tool, tool) for tool in lacking)
    return f"neither nix nor {' and '.join(lacking)} is installed (Debian: {packages})" if lacking else None


def nix_files() -> list[Path]:
    """Every Nix file of the repository, committed or about to be."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.nix"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())


class Nix:
    """Runs nix with a store and a home of its own in ``folder``; sees the repository, and changes nothing of it."""

    def __init__(self, folder: Path) -> None:
        #: What nix sees beside the repository.
        self.folder = folder
        self._own = shutil.which("nix")
        self._tree = None if self._own else made("nix", [SUITE, PACKAGES], _make)
        for name in ("nix", "home"):
            (folder / name).mkdir()

    def __call__(self, *arguments: str | Path) -> str:
        """What a run printed. Raises ``NixError`` with what it said instead."""
        command = [*self._entering(), *_OPTIONS, *map(str, arguments)]
        environment = {**os.environ, "HOME": str(self.folder / "home")}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=_PATIENCE, cwd=self.folder
        )
        if done.returncode != 0:
            raise NixError("\n".join(line for line in done.stderr.splitlines() if not line.startswith(_NOISE)))
        return done.stdout

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, by JSON. Raises ``NixError``."""
        return json.loads(self("eval", "--impure", "--json", "--expr", expression))

    def _entering(self) -> list[str]:
        if self._own is not None:
            return [self._own]
        tree = f"{self._tree}/tree"
        return [
            "bwrap", "--unshare-all", "--die-with-parent", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
            "--ro-bind", f"{tree}/usr", "/usr", "--ro-bind", f"{tree}/etc", "/etc",
            "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
            "--bind", str(self.folder / "nix"), "/nix", "--ro-bind", str(ROOT), str(ROOT),
            "--bind", str(self.folder), str(self.folder), "--chdir", str(self.folder), "nix",
        ]  # fmt: skip


def _make(folder: Path) -> None:
    command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}", SUITE, str(folder / "tree")]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_MAKING)


__all__ = ["ROOT", "STANDIN", "Nix", "NixError", "missing", "nix_files"]
