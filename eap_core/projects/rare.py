"""Anomalies must be rare: which ones to use where there are too many for the normals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

_PER_ANOMALY = 4  # normals that each used anomaly should have beside it


def used_anomalies(normals: int, kinds: Sequence[str]) -> list[int]:
    """Positions of the anomalies to learn from: all while they are rarer than the normals.

    Otherwise a quarter of the normals' number, taken from each kind in turn, so that no kind of
    defect is lost.
    """
    if len(kinds) < normals:
        return list(range(len(kinds)))
    by_kind: dict[str, list[int]] = defaultdict(list)
    for i, kind in enumerate(kinds):
        by_kind[kind].append(i)
    in_turn = [i for turn in zip_longest(*by_kind.values()) for i in turn if i is not None]
    return sorted(in_turn[: max(1, normals // _PER_ANOMALY)])
