"""Large bundles over HTTP, straight from the disk: a download must not fill the memory."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from eap_core.errors import EapError
from eap_core.export.bundle import bundle_named
from ui.pictures import base
from ui.store import opened


def routes() -> list[Route]:
    """What app.py adds to the server."""
    return [Route(f"{base()}/bundle/{{project}}/{{name}}", _answer, methods=["GET"])]


def address(project: str, name: str) -> str:
    """Where a browser finds a bundle."""
    return f"{base()}/bundle/{project}/{name}"


def _answer(request: Request) -> Response:
    try:
        found = bundle_named(opened(), request.path_params["project"], request.path_params["name"])
    except EapError:
        return Response(status_code=404)
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
    return FileResponse(found.path, headers=headers, filename=found.name)
