"""Images of the store over HTTP, by the hash of their content: straight from disk, kept for ever.

Always encoded anew, so that nothing of an uploaded file but its picture reaches a browser.
"""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import config

from eap_core.errors import EapError
from eap_core.images.decode import rgb_of
from eap_core.images.thumbnail import thumbnail
from eap_core.store.blobs import is_hash
from ui.store import opened

_LONGEST = 1_280  # larger than any pane of the review, also at twice the size
_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",  # the address names the content
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def routes() -> list[Route]:
    """What app.py adds to the server."""
    return [Route(f"{_base()}/picture/{{size}}/{{sha256}}", _answer, methods=["GET"])]


def address(sha256: str, size: str = "small") -> str:
    """Where a browser finds an image: ``small`` for galleries, ``large`` for the review."""
    return f"{_base()}/picture/{size}/{sha256}"


def _base() -> str:
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def _answer(request: Request) -> Response:
    size, sha256 = request.path_params["size"], request.path_params["sha256"]
    if size not in ("small", "large") or not is_hash(sha256):
        return Response(status_code=404)
    try:
        data, kind = _small(sha256) if size == "small" else _large(sha256)
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


@lru_cache(maxsize=64)
def _large(sha256: str) -> tuple[bytes, str]:
    picture = rgb_of(opened().blobs.read(sha256))
    if max(picture.size) > _LONGEST:
        picture.thumbnail((_LONGEST, _LONGEST), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=95, subsampling=0)
    return stream.getvalue(), "image/jpeg"
