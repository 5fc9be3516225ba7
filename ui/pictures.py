"""Images of the store over HTTP, by the hash of their content: straight from disk, kept for ever.

Always encoded anew, so that nothing of an uploaded file but its picture reaches a browser.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import config

from eap_core.errors import EapError
from eap_core.images.decode import rgb_of
from eap_core.images.thumbnail import thumbnail
from eap_core.store.blobs import is_hash
from ui import cached
from ui.store import opened

_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",  # the address names the content
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def routes() -> list[Route]:
    """What app.py adds to the server."""
    return [Route(f"{base()}/picture/{{size}}/{{sha256}}", _answer, methods=["GET"])]


def address(sha256: str, size: str = "small") -> str:
    """Where a browser finds an image: ``small`` for galleries, ``large`` for the review."""
    return f"{base()}/picture/{size}/{sha256}"


def base() -> str:
    """What stands before every path where the app lives below another address."""
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def _answer(request: Request) -> Response:
    size, sha256 = request.path_params["size"], request.path_params["sha256"]
    if size not in ("small", "large") or not is_hash(sha256):
        return Response(status_code=404)
    try:
        data, kind = _small(sha256) if size == "small" else (cached.large(sha256), "image/jpeg")
    except EapError:
        return Response(status_code=404)
    return Response(data, media_type=kind, headers=_HEADERS)


def _small(sha256: str) -> tuple[bytes, str]:
    blobs = opened().blobs
    try:
        return blobs.thumbnail_path(sha256).read_bytes(), "image/webp"
    except OSError:
        data = thumbnail(rgb_of(blobs.read(sha256)))  # lost thumbnails are made again
        blobs.put_thumbnail(sha256, data)
        return data, "image/webp"
