"""The candidates under other priors, from the parts of their scores that the run has kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from eap_core.ranking import best_first, percentiles
from eap_core.sweep import Sweep, agreement, rescored, resweep
from eap_core.table import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
_CHANGES = (
    (0.95, "hardly changes"),
    (0.8, "changes a little"),
    (0.5, "changes noticeably"),
    (-1.1, "changes a lot"),
)
LEAST, MOST = 0.005, 0.495
GRID = tuple(float(rate) for rate in np.round(np.linspace(0.01, 0.49, 25), 2))


@dataclass(frozen=True, eq=False)
class Prospect:
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

    def under(self, rate: float) -> Outlook:
        """One prior in particular."""
        now, then = (_scores(self.table, r) for r in (self.sweep.default, rate))
        top = _among_best(then, self.table, self.sweep.top)
        return Outlook(
            rate, percentiles(now), percentiles(then), top & ~self.best, self.best & ~top,
            agreement(now, then),
        )  # fmt: skip

    def first_change(self, row: int, seen_at: float) -> float:
        """The rate closest to the run's own at which the candidate has changed sides; the grid may
        step over the one where it was seen to."""
        changed = np.flatnonzero(self.tops[:, row] != self.best[row])
        rates = np.append(np.array(self.sweep.rates)[changed], seen_at)
        rates = rates[rates != self.sweep.default]
        return float(rates[np.abs(rates - self.sweep.default).argmin()])


@dataclass(frozen=True, eq=False)
class Outlook:
    """Percentiles now and then, who enters and who leaves the best, and Kendall's τ."""

    rate: float
    now: Floats
    then: Floats
    enters: Bools
    leaves: Bools
    kendall: float


def prospect(table: pd.DataFrame, share: float) -> Prospect:
    """The table's candidates under every rate of the grid; ``share`` of them count as the best."""
    eap, weight = (table[name].to_numpy(np.float64) for name in ("eap", "weight"))
    default, top = float(table["prior"].iloc[0]), max(1, round(share * len(table)))
    rates = sorted({*GRID, default})
    made = resweep(eap, weight, table["id"].tolist(), rates, default, top)
    tops = np.array([_among_best(scores, table, top) for scores in made.scores])
    return Prospect(table, made, tops, _among_best(_scores(table, default), table, top))


def both_sides(rows: Ints, best: Bools) -> Ints:
    """The rows with those that leave and those that enter in turn, so that a few show both."""
    leave, enter = rows[best[rows]], rows[~best[rows]]
    place = np.concatenate([np.arange(len(leave)), np.arange(len(enter)) + 0.5])
    return np.concatenate([leave, enter])[np.argsort(place, kind="stable")]


def in_words(found: Sweep) -> str:
    """How much hangs on the prior, in a sentence."""
    kept = round(float(found.overlap.min()) * found.top)
    worst = float(found.kendall.min())
    order = next(words for least, words in _CHANGES if worst >= least)
    stay = (
        f"all of the best {found.top:,} stay"
        if kept == found.top
        else f"at least {kept:,} of the best {found.top:,} stay"
    )
    return f"Between 1 % and 49 % the order **{order}**, and **{stay}**."


def _scores(table: pd.DataFrame, rate: float) -> Floats:
    eap, weight = (table[name].to_numpy(np.float64) for name in ("eap", "weight"))
    return rescored(eap, weight, float(table["prior"].iloc[0]), rate)


def _among_best(scores: Floats, table: pd.DataFrame, top: int) -> Bools:
    out = np.zeros(len(table), dtype=bool)
    out[best_first(scores, table["id"].tolist())[:top]] = True
    return out
