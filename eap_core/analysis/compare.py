"""How evaluators agree with one another, and with the truth where it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from eap_core.base.errors import DataError
from eap_core.base.table import Bools, Floats
from eap_core.scoring.posterior import CATEGORIES, REALISTIC
from eap_core.scoring.ranking import best_first, percentiles, rank_agreement

if TYPE_CHECKING:
    import pandas as pd

_GOOD = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_GOOD |= {category: category == REALISTIC for category in CATEGORIES}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Square matrices in the order of ``names``, and per candidate how far its ranks are apart.

    ``correlation`` is Spearman's; ``disagreement`` the share of candidate pairs that two evaluators
    order differently, a tie counting half; ``spread`` the distance, in percentiles, between the
    evaluators that like a candidate most and least; ``auc`` is AUC_qlt where the truth is known.
    """

    names: tuple[str, ...]
    correlation: Floats
    disagreement: Floats
    spread: Floats
    auc: Mapping[str, float] | None

    def most_disputed(self, ids: Sequence[str], count: int = 10) -> list[str]:
        """The candidates on which the evaluators differ most."""
        return [ids[i] for i in best_first(self.spread, ids)[:count]]


def compare_scores(scores: Mapping[str, Floats], good: Bools | None = None) -> Comparison:
    """Compare scores of the same candidates by different evaluators."""
    names = tuple(scores)
    if len(next(iter(scores.values()))) < 2:
        raise DataError(
            "there is only one candidate",
            advice="at least two are needed to compare orders",
        )
    table = np.array([scores[name] for name in names])
    correlation, disagreement = np.eye(len(names)), np.zeros((len(names), len(names)))
    for i in range(len(names)):
        for j in range(i):
            correlation[i, j] = correlation[j, i] = _spearman(table[i], table[j])
            share = (1 - rank_agreement(table[i], table[j])) / 2
            disagreement[i, j] = disagreement[j, i] = share
    spread = np.ptp([percentiles(row) for row in table], axis=0)
    auc = None
    if good is not None and 0 < np.count_nonzero(good) < len(good):
        auc = {name: float(roc_auc_score(good, scores[name])) for name in names}
    return Comparison(names, correlation, disagreement, np.asarray(spread), auc)


def known_quality(extras: Mapping[str, Sequence[str]]) -> Bools | None:
    """Which candidates are known to be good, from a column ``good``, ``category`` or ``truth``."""
    for name, values in extras.items():
        if name.strip().casefold() in ("good", "category", "truth"):
            plain = [_plain(value) for value in values]
            # A column of that name may mean something else.
            if all(value in _GOOD for value in plain):
                return np.array([_GOOD[value] for value in plain])
    return None


def _plain(value: str) -> str:
    text = value.strip().casefold()
    return text.removesuffix(".0")


def _spearman(a: Floats, b: Floats) -> float:
    """Correlation of the ranks; all ties correlate with nothing but all ties."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float(np.ptp(a) == np.ptp(b))
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


@dataclass(frozen=True, eq=False)
class RunDifference:
    """Two runs over the candidates that both have; ``table`` has a row for each, with percentiles
    ``now`` and ``then``."""

    table: pd.DataFrame
    kendall: float
    top: int
    shared: int


def compare_runs(now: pd.DataFrame, then: pd.DataFrame) -> RunDifference | None:
    """How another run ranks the same candidates; None where it has fewer than two of them."""
    columns = ["item", "eap", "percentile"]
    both = now[["id", "category", *columns]].merge(then[columns], on="item", suffixes=("", "_then"))
    if len(both) < 2:
        return None
    ids, top = both["id"].tolist(), max(1, round(len(both) / 3))
    scores = [both[name].to_numpy(np.float64) for name in ("eap", "eap_then")]
    best = [set(best_first(values, ids)[:top]) for values in scores]
    table = both.rename(columns={"percentile": "now", "percentile_then": "then"})
    return RunDifference(table, rank_agreement(*scores), top, len(best[0] & best[1]))
