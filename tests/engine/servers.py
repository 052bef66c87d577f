"""Small servers on loopback: a package index (PEP 503) and a hub of models, both of which can misbehave."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Served:
    """What is served by path, how it misbehaves, and what was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Bytes of a file after which the connection is cut; used up from the front, one a request.
    cuts: dict[str, list[int]] = field(default_factory=dict)
    ranges: bool = True
    login: str | None = None
    slow: float = 0.0
    mute: bool = False
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    url: str = ""

    def gets(self, path: str) -> list[str | None]:
        """The ranges of all GET requests of a path that wanted its body."""
        return [wanted for method, asked, wanted in self.asked if method == "GET" and asked == path]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def served(self) -> Served:
        return self.server.served  # type: ignore[attr-defined, no-any-return]

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        served, path = self.served, self.path.split("?")[0]
        wanted = self.headers.get("Range")
        served.asked.append((self.command, path, wanted))
        if served.mute:
            time.sleep(30)
            return
        if served.login is not None and self.headers.get("Authorization") != served.login:
            self.plain(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
        elif path in served.pages:
            self.plain(200, served.pages[path].encode() if body else b"", {"Content-Type": "text/html"})
        elif path in served.files:
            self.file(path, served.files[path], wanted if served.ranges else None, body=body)
        else:
            self.plain(404, b"not here", {})

    def plain(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def file(self, path: str, data: bytes, wanted: str | None, *, body: bool) -> None:
        served = self.served
        total, status, start = len(data), 200, 0
        if wanted and (match := re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)):
            first, last = match.groups()
            start = int(first) if first else max(0, total - int(last))
            end = int(last) + 1 if first and last else total
            if start >= total:
                self.plain(416, b"", {"Content-Range": f"bytes */{total}"})
                return
            data, status = data[start:end], 206
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        if served.ranges:
            self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{start + len(data) - 1}/{total}")
        for name, value in served.headers.get(path, {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if not body:
            return
        cut = None
        # The lazy reading of a wheel's directory isn't the transfer that is to be cut.
        if served.cuts.get(path) and len(data) > 200_000:
            cut = served.cuts[path].pop(0)
        for at in range(0, len(data), 65536):
            block = data[at : at + 65536]
            if cut is not None and at + len(block) > cut:
                self.wfile.write(block[: cut - at])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(2)
                return
            try:
                self.wfile.write(block)
            except OSError:
                self.close_connection = True
                return
            served.sent[path] = served.sent.get(path, 0) + len(block)
            if served.slow:
                time.sleep(served.slow)


@contextmanager
def serving() -> Iterator[Served]:
    """A server on a free loopback port while the context lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    served = Served(url=f"http://127.0.0.1:{server.server_address[1]}")
    server.served = served  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wheel(folder: Path, name: str, version: str, member: str, data: bytes) -> Path:
    """A wheel with one file in it, stored without compression as model wheels mostly are."""
    plain = name.replace("-", "_")
    path = folder / f"{plain}-{version}-py3-none-any.whl"
    info = f"{plain}-{version}.dist-info"
    files = {
        member: data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file, content in files.items():
            archive.writestr(file, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{file},sha256={digest},{len(content)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return path


def index(served: Served, *wheels: Path) -> None:
    """Put wheels into the index, each project with its page (PEP 503)."""
    for path in wheels:
        project = path.name.split("-")[0].replace("_", "-")
        data = path.read_bytes()
        address = f"/files/{path.name}"
        served.files[address] = data
        digest = hashlib.sha256(data).hexdigest()
        served.pages[f"/simple/{project}/"] = f'<a href="{address}#sha256={digest}">{path.name}</a>'


def hub(served: Served, repo: str, revision: str, name: str, data: bytes) -> str:
    """Put a file into the hub; returns its path."""
    path = f"/{repo}/resolve/{revision}/{name}"
    served.files[path] = data
    served.headers[path] = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": revision}
    return path
