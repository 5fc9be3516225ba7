"""Folders of the server that may be imported from: those below a configured root, no others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from eap_core.errors import DataError, shown

VARIABLE = "EAP_ROOTS"


def configured_roots(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The folders named by EAP_ROOTS, separated like the folders of PATH."""
    named = environment.get(VARIABLE, "").split(os.pathsep)
    return tuple(Path(name) for name in named if name.strip())


def below_root(path: Path, roots: Iterable[Path]) -> Path:
    """The same place with all links resolved, if it is a root or lies below one."""
    allowed = list(roots)
    if not allowed:
        raise DataError(
            f"folders cannot be imported: none is opened for it — set {VARIABLE} to the folders "
            "that may be"
        )
    try:
        place = path.expanduser().resolve()
        # Before anything else is said of the place: what exists elsewhere is nobody's business.
        inside = any(place.is_relative_to(root.expanduser().resolve()) for root in allowed)
    except (OSError, RuntimeError, ValueError):  # links in a circle, no home, a NUL
        inside = False
    if not inside:
        names = ", ".join(shown(str(root)) for root in allowed)
        raise DataError(
            f"{shown(str(path))} is not below a folder opened for import — give a whole path below "
            f"{names}"
        )
    if not place.exists():
        raise DataError(f"{shown(str(path))} does not exist — check its name")
    return place
