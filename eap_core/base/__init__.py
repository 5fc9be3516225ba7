"""What everything rests on. Here: the version of this installation, and where its app lies."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.1.0"


def find_app() -> Path:
    """The folder of app.py, pages, ui and assets: in the installed package, or around it in the
    repository."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_app"
    return installed if installed.is_dir() else package.parent
