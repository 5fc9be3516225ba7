"""The orders in which candidates can be reviewed, each a permutation of the score table."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eap_core.errors import SettingsError, shown
from eap_core.evaluators import EVALUATORS
from eap_core.ranking import percentiles
from eap_core.scoring import column_name
from eap_core.table import Floats

if TYPE_CHECKING:
    import pandas as pd

ORDERS: Mapping[str, str] = MappingProxyType(
    {
        "score": "Best first",
        "threshold": "Near the threshold",
        "disputed": "Methods disagree",
        "diverse": "Diverse",
        "random": "Random",
    }
)


def evaluator_columns(frame: Container[Hashable]) -> list[str]:
    """The columns of the evaluators that the table has, EAP first."""
    return [name for name in map(column_name, EVALUATORS) if name in frame]


def ordered(
    frame: pd.DataFrame,
    order: str,
    *,
    threshold: float = 80.0,
    diverse: Sequence[int] | npt.NDArray[np.intp] | None = None,
    seed: int = 0,
) -> list[int]:
    """The positions of the table's rows in one of the orders; ties are best first, then by id.

    ``diverse[i]`` is the place of row i in the diverse order; without it that order is best first,
    as is the disputed one where EAP stands alone.
    """
    if order not in ORDERS:
        raise SettingsError(f"there is no order {shown(order)} — choose from {', '.join(ORDERS)}")
    places = _best_first(frame)
    if order == "random":
        # by id, so that a table whose ranks have changed is shuffled in the same way
        by_id = sorted(range(len(frame)), key=frame["id"].tolist().__getitem__)
        return [by_id[i] for i in np.random.default_rng(seed).permutation(len(frame))]
    keys = np.zeros(len(frame))
    if order == "threshold" and "percentile" in frame:
        keys = np.abs(frame["percentile"].to_numpy(np.float64) - threshold)
    elif order == "disputed":
        keys = -_spread(frame)
    elif order == "diverse" and diverse is not None:
        keys = np.asarray(diverse, dtype=np.float64)
    return [int(i) for i in np.lexsort((places, keys))]


def _best_first(frame: pd.DataFrame) -> Floats:
    """The place of each row by rank, then by id."""
    ids = frame["id"].tolist()
    ranks = frame["rank"].tolist() if "rank" in frame else [0] * len(frame)
    best = sorted(range(len(frame)), key=lambda i: (ranks[i], ids[i]))
    places = np.empty(len(frame))
    places[best] = np.arange(len(frame))
    return places


def _spread(frame: pd.DataFrame) -> Floats:
    """How far apart, in percentiles, the methods put each candidate."""
    names = [name for name in evaluator_columns(frame) if name != "random"]  # it has no opinion
    if len(names) < 2 or not len(frame):
        return np.zeros(len(frame))
    columns = frame[names].to_numpy(np.float64)
    return np.asarray(np.ptp([percentiles(column) for column in columns.T], axis=0))
