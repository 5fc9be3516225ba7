"""As much of the hub as its client asks for to list and fetch the files of one model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

_COMMIT = "a" * 40


class _Hub(BaseHTTPRequestHandler):
    def __init__(self, repository: str, files: Mapping[str, bytes], *given: Any) -> None:
        self.repository = repository
        listing = {
            "id": repository,
            "sha": _COMMIT,
            "siblings": [{"rfilename": name} for name in files],
        }
        tree = [
            {"type": "file", "path": name, "size": len(data), "oid": _COMMIT}
            for name, data in files.items()
        ]
        self.known = {
            "/": b"",
            **{f"/{repository}/resolve/{at}/{n}": data
               for n, data in files.items() for at in ("main", _COMMIT)},
            f"/api/models/{repository}/revision/main": json.dumps(listing).encode(),
            f"/api/models/{repository}/tree/{_COMMIT}": json.dumps(tree).encode(),
        }  # fmt: skip
        super().__init__(*given)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        data = self.known.get(self.path.partition("?")[0])
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.send_header("ETag", f'"{abs(hash(self.path)):x}"')
        self.send_header("X-Repo-Commit", _COMMIT)
        if data is None and self.path.startswith(f"/{self.repository}/"):
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()
        if data and with_body:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def hub(repository: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Its address while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, repository, files))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
