"""Tables and ranks of the study, in the layout of the paper's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import pandas as pd

from eap_core.errors import DataError, listed
from eap_core.evaluators import EVALUATORS

# 1 where more is better, -1 where less is.
METRICS: Final[Mapping[str, int]] = MappingProxyType(
    {"AUC_qlt": 1, "AULC_g": 1, "ACC_g": 1, "AULC_p": -1}
)
RANKS: Final = tuple(f"r{metric}" for metric in METRICS)
TRACKS: Final = ("images", "tables")
EXPERIMENT: Final = ["track", "dataset", "seed"]
# The paper writes P_y|x+NP_x where our label has spaces and a dot.
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {key: each.label.replace(" ", "").replace("·", "") for key, each in EVALUATORS.items()}
)
EAP: Final = NAMES["eap"]
RANDOM: Final = NAMES["random"]
_NUMBER: Final = re.compile(r"\d+(\.\d*)?")
Kind = Literal["evaluator", "prior"]


@dataclass(frozen=True, eq=False)
class Summary:
    """The evaluators' table, the priors' (``sweep``), and the experiments missing in each.

    Every figure is over the same experiments: those in which no method is missing. Otherwise a
    method that fails where it is hard would look better than one that does not.
    """

    table: pd.DataFrame
    sweep: pd.DataFrame
    left_out: int
    sweep_left_out: int


def summary(cells: pd.DataFrame) -> Summary:
    """Means and mean ranks per track, best first."""
    evaluators, left_out = complete(cells, "evaluator")
    priors, sweep_left_out = complete(cells, "prior")
    table, sweep = _table(evaluators, "evaluator"), _table(priors, "prior")
    return Summary(table, sweep, left_out, sweep_left_out)


def complete(cells: pd.DataFrame, kind: Kind) -> tuple[pd.DataFrame, int]:
    """The experiments in which every method of the track has its figures; how many have not.

    Evaluators are named as the paper does, and rows are in one order whatever it was before.
    """
    chosen = _checked(cells[cells["kind"] == kind])
    if kind == "evaluator":
        chosen = chosen.assign(method=_named(chosen["method"]))
    chosen = chosen.assign(place=_places(chosen["method"])).sort_values([*EXPERIMENT, "place"])
    methods = chosen.groupby("track")["method"].nunique()
    whole = chosen.dropna(subset=list(METRICS))
    present = whole.groupby(EXPERIMENT)["method"].transform("size")
    kept = whole[present == whole["track"].map(methods)].reset_index(drop=True)
    return kept, _experiments(chosen) - _experiments(kept)


def ranked(whole: pd.DataFrame) -> pd.DataFrame:
    """Complete experiments with a rank for each metric, 1 the best; equals share their mean."""
    each = whole.groupby(EXPERIMENT)
    ranks = {
        f"r{metric}": each[metric].rank(method="average", ascending=sign < 0)
        for metric, sign in METRICS.items()
    }
    return whole.assign(**ranks)


def by_dataset(
    whole: pd.DataFrame, track: str, column: str, how: Literal["mean", "min", "max"] = "mean"
) -> pd.DataFrame:
    """One row per data set and one column per method, over the seeds of complete experiments."""
    rows = whole[whole["track"] == track]
    wide = rows.groupby(["dataset", "method"])[column].agg(how).unstack()
    return wide[in_order(wide.columns)]


def tracks(cells: pd.DataFrame) -> list[str]:
    """The tracks there are, in the paper's order."""
    there = set(cells["track"])
    return [track for track in TRACKS if track in there]


def in_order(methods: Iterable[str]) -> list[str]:
    """Evaluators as in the paper's first table, priors by size with those of words last."""
    known = list(NAMES.values())

    def place(name: str) -> tuple[int, float, str]:
        if name in known:
            return 0, known.index(name), name
        return (1, float(name), name) if _NUMBER.fullmatch(name) else (2, 0.0, name)

    return sorted(set(methods), key=place)


def _table(whole: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    columns = [*METRICS, *RANKS]
    means = ranked(whole).groupby(["track", "method"])[columns].mean().reset_index()
    means = means.rename(columns={"track": "data", "method": kind})
    means["avg_rank"] = means[list(RANKS)].mean(axis=1)
    means["place"] = _places(means[kind])
    order = means.sort_values(["data", "avg_rank", "place"]).reset_index(drop=True)
    return order[["data", kind, *columns, "avg_rank"]]


def _checked(cells: pd.DataFrame) -> pd.DataFrame:
    strange = sorted({str(track) for track in cells["track"]} - set(TRACKS))
    if strange:
        raise DataError(f"there is no track {listed(strange)} — there are: {', '.join(TRACKS)}")
    twice = cells[cells.duplicated([*EXPERIMENT, "method"])]
    if len(twice):
        names = sorted({str(name) for name in twice["dataset"]})
        raise DataError(
            f"an experiment is there twice, of {listed(names)} — keep one row per data set, "
            "seed and method"
        )
    return cells


def _named(methods: pd.Series) -> pd.Series:
    unknown = sorted({str(name) for name in methods} - set(NAMES))
    if unknown:
        raise DataError(
            f"there is no evaluator {listed(unknown)} — those there are: {', '.join(NAMES)}"
        )
    return methods.map(NAMES)


def _places(methods: pd.Series) -> pd.Series:
    return methods.map({name: i for i, name in enumerate(in_order(methods))}).astype(int)


def _experiments(rows: pd.DataFrame) -> int:
    return len(rows[EXPERIMENT].drop_duplicates())
