"""Names short enough for a narrow column."""

from __future__ import annotations

from collections.abc import Sequence

from eap_core.store.projects import Kind


def short(names: Sequence[str], kind: Kind) -> list[str]:
    """Of images the file names, and where these do not tell all apart, behind them the folders that
    do; rows of a table are called what they are called."""
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
    told = ["/".join(parts[shared:]) for parts in folders]
    return [f"{name} ({own})" if own else name for name, own in zip(last, told, strict=True)]
