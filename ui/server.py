"""What the web server does beyond Streamlit's own part: serve images, and start warm."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pandas  # noqa: F401 -- the first visitor would wait for these otherwise
import plotly.graph_objects  # noqa: F401
from starlette.routing import Route
from streamlit import config

from ui import cached, charts, files, frame  # noqa: F401

__all__ = ["lifespan", "refuse_strangers", "routes"]
_HERE = ("127.0.0.1", "localhost", "::1")
_WELCOME = "EAP_OPEN"


def refuse_strangers() -> None:
    """Do not start where others can reach it, unless somebody has decided so."""
    address = str(config.get_option("server.address") or "every address")
    if address in _HERE or os.environ.get(_WELCOME) == "yes":
        return
    raise SystemExit(
        f"EAP Curator would be open to everybody who reaches {address}: it has no login, and even "
        "with one in its pages uploads and images would be answered. Put a proxy with a login in "
        f"front and leave the address at 127.0.0.1, or set {_WELCOME}=yes to open it as it is."
    )


def routes() -> list[Route]:
    """What a browser fetches straight from the disk."""
    return [*files.picture_routes(), *files.download_routes()]


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """What is loaded now lives as long as the server: Streamlit collects garbage after each run,
    and need not look at it again (85 ms a run otherwise)."""
    gc.collect()
    gc.freeze()
    yield
