"""The command that starts the application in the browser, from wherever it is called."""

from __future__ import annotations

import runpy
import sys
from typing import Annotated

import typer

from eap_core.base.extras import require
from eap_core.base.places import find_app

app = typer.Typer()


@app.command("app")
def start_app(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where it answers; the first free from 8501 on."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of which network; this machine alone if not given.")
    ] = None,
) -> None:
    """Start the application and open it in the browser.

    It has no login: another address than this machine's own is refused, unless EAP_OPEN=yes says
    that a proxy with a login stands in front, or that everybody may use it.

    \b
    python -m eap_core app
    python -m eap_core app --port 8600
    """
    require("streamlit", "app")
    chosen = {"server.port": port, "server.address": address}
    flags = [f"--{name}={value}" for name, value in chosen.items() if value is not None]
    # All other settings are in .streamlit/config.toml beside app.py, which Streamlit reads last of
    # its files and so above those of the folder where somebody happens to be.
    sys.argv = ["streamlit", "run", str(find_app() / "app.py"), *flags]
    # In this process, so that whoever ends it ends the server; the core imports no Streamlit.
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
