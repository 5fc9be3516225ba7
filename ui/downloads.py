"""Downloads over HTTP at addresses that stay: Streamlit's own are new each time a page is drawn.

A page that is drawn anew while somebody clicks would answer that there is no such file.
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

from eap_core.errors import EapError
from eap_core.export.bundle import bundle_named
from ui import session
from ui.pictures import base
from ui.store import opened

_ASSETS = Path(__file__).parents[1] / "assets"
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
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


def routes() -> list[Route]:
    """What app.py adds to the server."""
    return [
        Route(f"{base()}/bundle/{{project}}/{{name}}", _bundle, methods=["GET"]),
        Route(f"{base()}/offer/{{token}}", _offer, methods=["GET"]),
    ]


def bundle_address(project: str, name: str) -> str:
    """Where a browser finds a bundle."""
    return f"{base()}/bundle/{quote(project)}/{quote(name)}"


def offered(key: str, make: Callable[[], str | bytes], name: str) -> str:
    """Where a browser finds what ``make`` gives, for as long as this tab is open."""
    before = cast("Offer | None", session.kept(f"offer.{key}"))
    offer = Offer(before.token if before else str(uuid4()), make, name)
    _offers()[offer.token] = offer  # before the last one is let go: the address always answers
    session.keep(f"offer.{key}", offer)  # which keeps it alive
    return f"{base()}/offer/{offer.token}"


def link(label: str, address: str | None, key: str, primary: bool = False) -> None:
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
    return Response(data, media_type=kind, headers=_HEADERS | named)


def _bundle(request: Request) -> Response:
    """Straight from the disk: a large one must not fill the memory."""
    try:
        found = bundle_named(opened(), request.path_params["project"], request.path_params["name"])
    except EapError:
        return Response(status_code=404)
    return FileResponse(found.path, headers=_HEADERS, filename=found.name)
