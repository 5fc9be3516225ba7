"""The collection of bad files: small ones lie in the repository, large ones beside it if at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED

FOLDERS = (Path(__file__).parent / "badinputs", SHARED / "badinputs")


def bad_files() -> list[dict[str, str]]:
    """Every file of the collection, also those that are not in the repository."""
    lists = [folder / "manifest.json" for folder in FOLDERS if folder.is_dir()]
    rows = [row for path in lists for row in json.loads(path.read_text(encoding="utf-8"))]
    return list({row["file"]: row for row in rows}.values())


def cases(*groups: str, role: str = "") -> list[Any]:
    """A parameter for each file, or for those of some groups or of a role."""
    return [
        pytest.param(case, id=case["file"])
        for case in bad_files()
        if not groups or case["group"] in groups or case["role"] == role
    ]


def bad_file(name: str) -> Path:
    """Where a file of the collection lies; skips the test where it does not."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            return folder / name
    pytest.skip(f"needs {name}, which is not in the repository")
