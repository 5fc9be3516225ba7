"""Images and downloads over HTTP, at addresses that outlive a redraw.

Always encoded anew, so that nothing of an uploaded file but its picture reaches a browser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakValueDictionary

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from streamlit import config

from eap_core.base.errors import EapError
from eap_core.export.bundle import find_bundle
from eap_core.images.decode import rgb_of, thumbnail
from eap_core.store import is_hash
from ui import cached, session
from ui.cached import shared_store

_PICTURE_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",  # the address names the content
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def picture_routes() -> list[Route]:
    """What app.py adds to the server."""
    return [Route(f"{url_base()}/picture/{{size}}/{{sha256}}", _answer, methods=["GET"])]


def picture_address(sha256: str, size: str = "small") -> str:
    """Where a browser finds an image: ``small`` for galleries, ``large`` for the review."""
    return f"{url_base()}/picture/{size}/{sha256}"


def url_base() -> str:
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
    return Response(data, media_type=kind, headers=_PICTURE_HEADERS)


def _small(sha256: str) -> tuple[bytes, str]:
    blobs = shared_store().blobs
    try:
        return blobs.thumbnail_path(sha256).read_bytes(), "image/webp"
    except OSError:
        data = thumbnail(rgb_of(blobs.read(sha256)))  # lost thumbnails are made again
        blobs.put_thumbnail(sha256, data)
        return data, "image/webp"


# Downloads over HTTP at addresses that stay: Streamlit's own are new each time a page is drawn.
#
# A page that is drawn anew while somebody clicks would answer that there is no such file.

_ASSETS = Path(__file__).parents[1] / "assets"
_DOWNLOAD_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
_component = st.components.v2.component(
    "download",
    html='<div class="download"></div>',
    css=(_ASSETS / "download.css").read_text(encoding="utf-8"),
    js=(_ASSETS / "download.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, eq=False)
class Offer:
    """A file that is made when it is asked for."""

    token: str
    make: Callable[[], str | bytes]
    name: str


def download_routes() -> list[Route]:
    """What app.py adds to the server."""
    return [
        Route(f"{url_base()}/bundle/{{project}}/{{name}}", _bundle, methods=["GET"]),
        Route(f"{url_base()}/offer/{{token}}", _offer, methods=["GET"]),
    ]


def bundle_address(project: str, name: str) -> str:
    """Where a browser finds a bundle."""
    return f"{url_base()}/bundle/{quote(project)}/{quote(name)}"


def offer_download(key: str, make: Callable[[], str | bytes], name: str) -> str:
    """Where a browser finds what ``make`` gives, for as long as this tab is open."""
    before = cast("Offer | None", session.recall(f"offer.{key}"))
    offer = Offer(before.token if before else str(uuid4()), make, name)
    _offers()[offer.token] = offer  # before the last one is let go: the address always answers
    session.remember(f"offer.{key}", offer)  # which keeps it alive
    return f"{url_base()}/offer/{offer.token}"


def show_link(label: str, address: str | None, key: str, primary: bool = False) -> None:
    """What is clicked to save a file; without an address it is grey."""
    _component(
        key=key, data={"label": label, "address": address, "primary": primary}, width="content"
    )


@st.cache_resource(show_spinner=False)
def _offers() -> WeakValueDictionary[str, Offer]:
    """What all visitors are offered now; it goes with the session that offered it."""
    return WeakValueDictionary()


def _offer(request: Request) -> Response:
    offer = _offers().get(request.path_params["token"])
    if offer is None:
        return Response(status_code=404)
    try:
        data = offer.make()
    except EapError:
        return Response(status_code=404)
    named = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(offer.name)}"}
    kind = "text/csv" if offer.name.endswith(".csv") else "application/octet-stream"
    return Response(data, media_type=kind, headers=_DOWNLOAD_HEADERS | named)


def _bundle(request: Request) -> Response:
    """Straight from the disk: a large one must not fill the memory."""
    try:
        found = find_bundle(
            shared_store(), request.path_params["project"], request.path_params["name"]
        )
    except EapError:
        return Response(status_code=404)
    return FileResponse(found.path, headers=_DOWNLOAD_HEADERS, filename=found.name)
