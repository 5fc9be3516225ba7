"""Whether evaluators differ beyond chance, over data sets.

Friedman's test, Nemenyi's critical difference and Wilcoxon's signed-rank test with Holm's
correction, as Demšar (2006) recommends. A data set counts once, with its mean over the seeds: seeds
of one data set are no independent evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, wilcoxon

from eap_core.study.results import EAP, METRICS, by_dataset, complete
from eap_core.table import Floats

LEVEL: Final = 0.05
_FRIEDMAN: Final = 3  # data sets, and methods, below which the test says nothing
_WILCOXON: Final = 6  # with five the smallest possible p is 0.0625
TOO_FEW: Final = "too few data sets to say"


@dataclass(frozen=True)
class Versus:
    """The reference against one other: on how many data sets it is better, and Holm's p."""

    other: str
    better: int
    worse: int
    p: float
    corrected: float

    @property
    def significant(self) -> bool:
        """Told apart at the level of 0.05, after correction."""
        return self.corrected < LEVEL


@dataclass(frozen=True)
class Significance:
    """What can be said over ``datasets`` data sets; ``notes`` say in words what cannot.

    ``ranks`` are mean ranks over data sets, best first; each of ``groups`` is a run of methods in
    that order that Nemenyi's test does not tell apart. None or empty means that it was not tested.
    """

    track: str
    metric: str
    datasets: int
    ranks: tuple[tuple[str, float], ...]
    friedman: float | None
    critical_difference: float | None
    groups: tuple[tuple[str, ...], ...]
    reference: str | None
    against: tuple[Versus, ...]
    notes: tuple[str, ...]


def compare(cells: pd.DataFrame, track: str, metric: str = "AUC_qlt") -> Significance:
    """Test all evaluators of a track together, and EAP (or the best, without it) against each."""
    means = by_dataset(complete(cells, "evaluator")[0], track, metric) * METRICS[metric]
    count, methods = means.shape
    places = means.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    ranks = tuple((str(name), float(rank)) for name, rank in places.items())
    p, difference, notes = _together(means)
    reference = EAP if EAP in means else (ranks[0][0] if ranks else None)
    against = _against(means, str(reference)) if methods > 1 and count >= _WILCOXON else ()
    notes = (*notes, *_pairs_note(count, methods))
    groups = _groups(ranks, difference) if difference is not None else ()
    return Significance(
        track, metric, count, ranks, p, difference, groups, reference, against, notes
    )


def critical_difference(methods: int, datasets: int) -> float:
    """Nemenyi's: mean ranks at least so far apart differ, at the level of 0.05."""
    q = studentized_range.ppf(1 - LEVEL, methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(methods * (methods + 1) / (6 * datasets)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for making several tests: the smallest p times their number, and so on down."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, highest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * p_values[i]))
        corrected[i] = highest
    return corrected


def _together(means: pd.DataFrame) -> tuple[float | None, float | None, tuple[str, ...]]:
    count, methods = means.shape
    if methods < _FRIEDMAN:
        return None, None, ("fewer than three evaluators: they are not tested together",)
    if count < _FRIEDMAN:
        return None, None, (f"all evaluators together: {TOO_FEW} ({count}, at least 3 needed)",)
    values = means.to_numpy(dtype=float)
    if np.ptp(values, axis=1).max() == 0:
        return None, None, ("all evaluators are equal on every data set",)
    p = float(friedmanchisquare(*values.T).pvalue)
    return p, critical_difference(methods, count), ()


def enough(others: int) -> int:
    """The fewest data sets with which a reference that always wins is told apart from so many."""
    count = _WILCOXON
    while others * 2.0 ** (1 - count) >= LEVEL:
        count += 1
    return count


def _pairs_note(count: int, methods: int) -> tuple[str, ...]:
    if methods < 2 or count >= enough(methods - 1):
        return ()
    needed = f"{count}, at least {enough(methods - 1)} needed for {methods - 1} comparisons"
    return (f"one evaluator against another: {TOO_FEW} ({needed})",)


def _against(means: pd.DataFrame, reference: str) -> tuple[Versus, ...]:
    own = means[reference].to_numpy(dtype=float)
    others = [str(name) for name in means if name != reference]
    gaps = [own - means[name].to_numpy(dtype=float) for name in others]
    p_values = [_signed_rank(gap) for gap in gaps]
    return tuple(
        Versus(name, int((gap > 0).sum()), int((gap < 0).sum()), p, corrected)
        for name, gap, p, corrected in zip(others, gaps, p_values, holm(p_values), strict=True)
    )


def _signed_rank(gap: Floats) -> float:
    return float(wilcoxon(gap).pvalue) if np.any(gap) else 1.0


def _groups(ranks: Sequence[tuple[str, float]], difference: float) -> tuple[tuple[str, ...], ...]:
    """The longest runs within the difference; one inside another says nothing more."""
    found: list[tuple[str, ...]] = []
    reached = 0
    for i, (_, best) in enumerate(ranks):
        inside = [j for j in range(i, len(ranks)) if ranks[j][1] - best < difference]
        if len(inside) > 1 and inside[-1] > reached:
            found.append(tuple(ranks[j][0] for j in inside))
            reached = inside[-1]
    return tuple(found)
