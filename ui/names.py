"""Names short enough for a narrow column."""

from __future__ import annotations

from collections.abc import Sequence


def without_shared_folder(names: Sequence[str]) -> list[str]:
    """The names without the folders that all of them lie in; a name itself always stays."""
    folders = [name.split("/")[:-1] for name in names]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return ["/".join(name.split("/")[shared:]) for name in names]
