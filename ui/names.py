"""Names short enough for a narrow column."""

from __future__ import annotations

from collections.abc import Sequence

from eap_core.store.projects import Kind


def short(names: Sequence[str], kind: Kind) -> list[str]:
    """Of images the file names where they tell all apart, else without the folders that all share;
    rows of a table are called what they are called."""
    if kind != "images":
        return list(names)
    last = [name.split("/")[-1] for name in names]
    if len(set(last)) == len(names):
        return last
    folders = [name.split("/")[:-1] for name in names]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return ["/".join(name.split("/")[shared:]) for name in names]
