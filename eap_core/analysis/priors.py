"""How much the scores hang on the prior (the paper's question 5): a problem's, or a kept run's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eap_core.base.errors import SettingsError
from eap_core.base.problem import Problem
from eap_core.base.table import Bools, Floats, Ints
from eap_core.scoring.evidence import Evidence
from eap_core.scoring.posterior import Posterior, Prior
from eap_core.scoring.ranking import best_first, percentiles, rank_agreement

if TYPE_CHECKING:
    import pandas as pd

RATES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
LEAST, MOST = 0.005, 0.495
GRID = tuple(float(rate) for rate in np.round(np.linspace(0.01, 0.49, 25), 2))


@dataclass(frozen=True, eq=False)
class Sweep:
    """Scores under several priors; each row of ``scores`` belongs to one of ``rates``.

    ``kendall`` and ``overlap`` compare each with ``default``: agreement of the whole order, and the
    share of the best ``top`` candidates that both have.
    """

    rates: tuple[float, ...]
    default: float
    top: int
    scores: Floats
    kendall: Floats
    overlap: Floats


def sweep_priors(
    problem: Problem,
    evidence: Evidence,
    rates: Sequence[float] | None = None,
    top: int | None = None,
) -> Sweep:
    """Score the same evidence under each prior; α0 = rate, β0 = 1 − rate."""
    check_sweep(problem, rates, top)
    chosen = (*RATES, problem.rate) if rates is None else tuple(rates)
    top = max(1, round(len(problem.ids) / 3)) if top is None else top

    def under(rate: float) -> Floats:
        return Posterior.of(evidence.averaged, Prior.of_rate(rate)).mean

    return _make_sweep(under, problem.ids, chosen, problem.rate, top)


def rescore(eap: Floats, weight: Floats, prior: float, rate: float) -> Floats:
    """EAP under another prior than the one it was computed with, from the score's parts alone.

    A prior of any rate is worth one example, so the weights stay as they are, averaged over passes
    or not, and the score is a straight line in the rate: no evidence has to be computed again.
    """
    return np.asarray(eap + (1.0 - weight) * (Prior.of_rate(rate).mean - prior))


def resweep(
    eap: Floats,
    weight: Floats,
    ids: Sequence[str],
    rates: Sequence[float],
    default: float,
    top: int,
) -> Sweep:
    """The sweep of a run whose evidence is gone; ``default`` is the prior of its ``eap``."""
    return _make_sweep(
        lambda rate: rescore(eap, weight, default, rate), ids, tuple(rates), default, top
    )


def _make_sweep(
    under: Callable[[float], Floats],
    ids: Sequence[str],
    rates: tuple[float, ...],
    default: float,
    top: int,
) -> Sweep:
    before = under(default)
    best = set(best_first(before, ids)[:top])
    scores = np.array([under(rate) for rate in rates])
    overlap = [len(best & set(best_first(row, ids)[:top])) / top for row in scores]
    kendall = [rank_agreement(row, before) for row in scores]
    return Sweep(rates, default, top, scores, np.array(kendall), np.array(overlap))


def check_sweep(problem: Problem, rates: Sequence[float] | None, top: int | None) -> None:
    """Refuse a sweep that makes no sense, before the work for it."""
    count = len(problem.ids)
    if rates is not None and len(rates) == 0:
        raise SettingsError("no priors are given", advice="give at least one share of anomalies")
    for rate in rates or ():
        Prior.of_rate(rate)
    if top is not None and not 1 <= top <= count:
        raise SettingsError(
            f"the best {top} of {count} candidates cannot be compared", advice=f"1 to {count} can"
        )


@dataclass(frozen=True, eq=False)
class PriorSweep:
    """``tops[i]`` says who is among the best under ``sweep.rates[i]``; ``best`` who is now."""

    table: pd.DataFrame
    sweep: Sweep
    tops: Bools
    best: Bools

    @property
    def places(self) -> Floats:
        """Percentiles, one row per rate."""
        return np.array([percentiles(row) for row in self.sweep.scores])

    @property
    def moving(self) -> Bools:
        """Who changes sides under any of the rates."""
        return np.asarray((self.tops != self.best).any(axis=0))

    def under(self, rate: float) -> PriorView:
        """One prior in particular."""
        now, then = (_scores(self.table, r) for r in (self.sweep.default, rate))
        top = _among_best(then, self.table, self.sweep.top)
        return PriorView(
            rate, percentiles(now), percentiles(then), top & ~self.best, self.best & ~top,
            rank_agreement(now, then),
        )  # fmt: skip

    def first_change(self, row: int, seen_at: float) -> float:
        """The rate closest to the run's own at which the candidate has changed sides; the grid may
        step over the one where it was seen to."""
        changed = np.flatnonzero(self.tops[:, row] != self.best[row])
        rates = np.append(np.array(self.sweep.rates)[changed], seen_at)
        rates = rates[rates != self.sweep.default]
        return float(rates[np.abs(rates - self.sweep.default).argmin()])


@dataclass(frozen=True, eq=False)
class PriorView:
    """Percentiles now and then, who enters and who leaves the best, and Kendall's τ."""

    rate: float
    now: Floats
    then: Floats
    enters: Bools
    leaves: Bools
    kendall: float


def sweep_run(table: pd.DataFrame, share: float) -> PriorSweep:
    """The table's candidates under every rate of the grid; ``share`` of them count as the best."""
    eap, weight = (table[name].to_numpy(np.float64) for name in ("eap", "weight"))
    default, top = float(table["prior"].iloc[0]), max(1, round(share * len(table)))
    rates = sorted({*GRID, default})
    made = resweep(eap, weight, table["id"].tolist(), rates, default, top)
    tops = np.array([_among_best(scores, table, top) for scores in made.scores])
    return PriorSweep(table, made, tops, _among_best(_scores(table, default), table, top))


def compare_sides(rows: Ints, best: Bools) -> Ints:
    """The rows with those that leave and those that enter in turn, so that a few show both."""
    leave, enter = rows[best[rows]], rows[~best[rows]]
    place = np.concatenate([np.arange(len(leave)), np.arange(len(enter)) + 0.5])
    return np.concatenate([leave, enter])[np.argsort(place, kind="stable")]


def _scores(table: pd.DataFrame, rate: float) -> Floats:
    eap, weight = (table[name].to_numpy(np.float64) for name in ("eap", "weight"))
    return rescore(eap, weight, float(table["prior"].iloc[0]), rate)


def _among_best(scores: Floats, table: pd.DataFrame, top: int) -> Bools:
    out = np.zeros(len(table), dtype=bool)
    out[best_first(scores, table["id"].tolist())[:top]] = True
    return out
