"""Where the application lies that comes with the library."""

from __future__ import annotations

from pathlib import Path


def find_app() -> Path:
    """The folder of app.py, pages, ui and assets: in the installed package, or around it in the
    repository."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_app"
    return installed if installed.is_dir() else package.parent
