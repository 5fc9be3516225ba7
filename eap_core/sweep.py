"""How much the scores hang on the prior (the paper's question 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from eap_core.errors import SettingsError
from eap_core.evidence import Evidence
from eap_core.posterior import Posterior, Prior
from eap_core.problem import Problem
from eap_core.ranking import best_first
from eap_core.table import Floats

RATES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)


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


def sweep(
    problem: Problem,
    evidence: Evidence,
    rates: Sequence[float] | None = None,
    top: int | None = None,
) -> Sweep:
    """Score the same evidence under each prior; α0 = rate, β0 = 1 − rate."""
    check(problem, rates, top)
    chosen = (*RATES, problem.rate) if rates is None else tuple(rates)
    top = max(1, round(len(problem.ids) / 3)) if top is None else top

    def under(rate: float) -> Floats:
        return Posterior.of(evidence.averaged, Prior.of_rate(rate)).mean

    return _swept(under, problem.ids, chosen, problem.rate, top)


def rescored(eap: Floats, weight: Floats, prior: float, rate: float) -> Floats:
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
    return _swept(
        lambda rate: rescored(eap, weight, default, rate), ids, tuple(rates), default, top
    )


def _swept(
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
    kendall = [agreement(row, before) for row in scores]
    return Sweep(rates, default, top, scores, np.array(kendall), np.array(overlap))


def check(problem: Problem, rates: Sequence[float] | None, top: int | None) -> None:
    """Refuse a sweep that makes no sense, before the work for it."""
    count = len(problem.ids)
    if rates is not None and len(rates) == 0:
        raise SettingsError("no priors are given — give at least one share of anomalies")
    for rate in rates or ():
        Prior.of_rate(rate)
    if top is not None and not 1 <= top <= count:
        raise SettingsError(
            f"the best {top} of {count} candidates cannot be compared — 1 to {count} can"
        )


def agreement(a: Floats, b: Floats) -> float:
    """Kendall's τ; two orders of which one is all ties agree only if both are."""
    if len(a) < 2:
        return 1.0
    tau = float(kendalltau(a, b).statistic)
    return float(np.ptp(a) == np.ptp(b)) if np.isnan(tau) else tau
