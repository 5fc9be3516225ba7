"""What is known about which candidates are good, and how well each method finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from eap_core.analysis.compare import known_quality
from eap_core.base.table import Bools, Floats
from eap_core.review.log import ItemState
from eap_core.store.items import Item

FEW = 10  # of either kind: below that, chance decides


@dataclass(frozen=True, eq=False)
class Judgements:
    """``rows`` of the score table of which it is known whether they are ``good``."""

    by: str
    rows: Sequence[int]
    good: Bools

    @property
    def counts(self) -> tuple[int, int]:
        """The good ones and the others."""
        good = int(np.count_nonzero(self.good))
        return good, len(self.good) - good


@dataclass(frozen=True)
class QualityFound:
    """How often a method puts a good candidate above another one, and how far chance may reach."""

    column: str
    auc: float
    margin: float


def find_judgements(
    candidates: Sequence[str], items: Mapping[str, Item], states: Mapping[str, ItemState]
) -> list[Judgements]:
    """By the data's own columns, and by the decisions, where either knows both kinds."""
    found = []
    metadata = [items[item].metadata for item in candidates]
    names = dict.fromkeys(name for each in metadata for name in each)
    extras = {name: [str(each.get(name, "")) for each in metadata] for name in names}
    known = known_quality(extras) if extras else None
    if known is not None:
        found.append(Judgements("your data", range(len(candidates)), known))
    decided = {
        i: states[item].verdict == "accept"
        for i, item in enumerate(candidates)
        if item in states and states[item].verdict in ("accept", "reject")
    }
    if decided:
        good = np.array(list(decided.values()))
        found.append(Judgements("the decisions", list(decided), good))
    return [judged for judged in found if all(judged.counts)]


def measure_quality(
    table: pd.DataFrame, columns: Sequence[str], judged: Judgements
) -> list[QualityFound]:
    """Each method's area under the curve with a 95 % margin, best first."""
    from sklearn.metrics import roc_auc_score  # slow to import

    rows = table.iloc[list(judged.rows)]
    found = []
    for column in columns:
        auc = float(roc_auc_score(judged.good, rows[column].to_numpy(np.float64)))
        found.append(QualityFound(column, auc, auc_margin(auc, *judged.counts)))
    return sorted(found, key=lambda one: -one.auc)


def auc_margin(auc: float, good: int, other: int) -> float:
    """Half the width of Hanley and McNeil's 95 % interval."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (good - 1) * (q1 - auc**2) + (other - 1) * (q2 - auc**2)
    return float(1.96 * np.sqrt(max(spread, 0.0) / (good * other)))


def rank_distance(own: Floats, others: Floats) -> Floats:
    """How far a method's percentiles lie from what the others, one a column, give on average."""
    return np.asarray(np.abs(own - others.mean(axis=1)))
