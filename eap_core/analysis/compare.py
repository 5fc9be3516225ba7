"""How evaluators agree with one another and with the truth, and how much scores hang on the prior
(the paper's question 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.problem import Problem
from eap_core.base.table import Bools, Floats, Ints
from eap_core.scoring import best_first, percentiles, rank_agreement
from eap_core.scoring.evidence import Evidence
from eap_core.scoring.posterior import CATEGORIES, REALISTIC, Posterior, Prior

if TYPE_CHECKING:
    import pandas as pd


_TELLING = ("good", "category", "truth")  # columns that may hold the known quality
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
        if name.strip().casefold() in _TELLING:
            plain = [_plain(value) for value in values]
            # A column of that name may mean something else.
            if all(value in _GOOD for value in plain):
                return np.array([_GOOD[value] for value in plain])
    return None


def tells_quality(name: str, value: str) -> bool:
    """Whether a fact about a candidate is its known quality, which no reviewer should see."""
    return name.strip().casefold() in _TELLING and _plain(value) in _GOOD


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
