"""The paper's own figures, and ours beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from scipy.stats import rankdata, spearmanr

from eap_core.study.results import METRICS
from eap_core.table import Floats

_FILE = Path(__file__).with_name("paper_tables.csv")


@dataclass(frozen=True)
class Orders:
    """Places by mean AUC_qlt among the evaluators both have; ``spearman`` if it is defined."""

    ours: Mapping[str, float]
    paper: Mapping[str, float]
    spearman: float | None


@cache
def _published() -> pd.DataFrame:
    return pd.read_csv(_FILE)


def published() -> pd.DataFrame:
    """The paper's table: means and mean ranks over its experiments."""
    return _published().copy()


def comparison(table: pd.DataFrame) -> pd.DataFrame:
    """Ours, the paper's and the difference, one row per track, evaluator and metric.

    What the paper does not have (its two unused evaluators) has no figure there: NaN.
    """
    keys = ["data", "evaluator"]
    ours = table.melt(keys, list(METRICS), "metric", "ours")
    theirs = published().melt(keys, list(METRICS), "metric", "paper")
    both = ours.merge(theirs, "left", [*keys, "metric"])
    order = table[keys].merge(pd.DataFrame({"metric": list(METRICS)}), "cross")
    both = order.merge(both, "left", [*keys, "metric"])
    return both.assign(difference=both["ours"] - both["paper"])


def orders(table: pd.DataFrame, track: str) -> Orders:
    """How far the order of the evaluators is the paper's."""
    both = comparison(table)
    both = both[(both["data"] == track) & (both["metric"] == "AUC_qlt")].dropna()
    names = [str(name) for name in both["evaluator"]]
    ours, paper = rankdata(-both["ours"]), rankdata(-both["paper"])
    alike = len(set(ours)) > 1 and len(set(paper)) > 1
    spearman = float(spearmanr(ours, paper).statistic) if alike else None
    return Orders(_by_name(names, ours), _by_name(names, paper), spearman)


def _by_name(names: list[str], places: Floats) -> dict[str, float]:
    return dict(zip(names, places.tolist(), strict=True))
