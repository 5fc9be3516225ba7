"""Results of the study in the layout of the paper's, beside its own, and what is significant."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, spearmanr, studentized_range, wilcoxon

from eap_core.base.errors import DataError, list_names
from eap_core.base.table import Floats
from eap_core.evaluators import EVALUATORS
from eap_core.study.unrealistic import FOREIGN

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
# Those that the paper's tables do not have: they have figures, but no rank among its thirteen.
EXTRAS: Final = frozenset(NAMES[key] for key, each in EVALUATORS.items() if not each.in_paper)
_NUMBER: Final = re.compile(r"\d+(\.\d*)?")
Kind = Literal["evaluator", "prior"]
Side = Literal["gain", "loss"]
SIDES: Final[tuple[Side, ...]] = ("gain", "loss")
_ENDS: Final = {"gain": 1 / 3, "loss": 2 / 3}


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


@dataclass(frozen=True, eq=False)
class Curves:
    """Accuracy by data set, method and share of candidates added, averaged over the seeds.

    Shares are whole candidates and so differ between data sets; here all are at the same ones.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    at: Floats
    accuracy: Floats

    def only(self, i: int) -> Curves:
        """Those of one data set."""
        return replace(self, datasets=self.datasets[i : i + 1], accuracy=self.accuracy[i : i + 1])

    def over(self, track: str) -> str:
        """Of what they are the mean."""
        count = len(self.datasets)
        return f"{track}, {count} data set{'s' if count > 1 else ''}"


def summarise(cells: pd.DataFrame) -> Summary:
    """Means and mean ranks per track, best first; those without a rank last."""
    evaluators, left_out = complete_experiments(cells, "evaluator")
    priors, sweep_left_out = complete_experiments(cells, "prior")
    table, sweep = _table(evaluators, "evaluator"), _table(priors, "prior")
    return Summary(table, sweep, left_out, sweep_left_out)


def complete_experiments(cells: pd.DataFrame, kind: Kind) -> tuple[pd.DataFrame, int]:
    """The experiments in which every method of the track has its figures; how many have not.

    Evaluators are named as the paper does, and rows are in one order whatever it was before.
    """
    chosen = _check_cells(cells[cells["kind"] == kind])
    if kind == "evaluator":
        chosen = chosen.assign(method=_name_methods(chosen["method"]))
    chosen = chosen.assign(place=_places(chosen["method"])).sort_values([*EXPERIMENT, "place"])
    methods = chosen.groupby("track")["method"].nunique()
    whole = chosen.dropna(subset=list(measured(chosen)))
    present = whole.groupby(EXPERIMENT)["method"].transform("size")
    kept = whole[present == whole["track"].map(methods)].reset_index(drop=True)
    return kept, _experiments(chosen) - _experiments(kept)


def measured(figures: pd.DataFrame) -> dict[str, int]:
    """The metrics that were computed: without learning curves AUC_qlt only."""
    return {metric: sign for metric, sign in METRICS.items() if metric in figures}


def has_curves(figures: pd.DataFrame) -> bool:
    return len(measured(figures)) == len(METRICS)


def name_unrealistic(cells: pd.DataFrame) -> str:
    """The kind of unrealistic candidates in all cells; they name it unless it is the paper's."""
    if "unrealistic" not in cells:
        return FOREIGN
    kinds = sorted({str(kind) for kind in cells["unrealistic"].fillna(FOREIGN)})
    if len(kinds) > 1:
        raise DataError(
            f"there are unrealistic candidates of several kinds: {', '.join(kinds)}",
            advice="their figures do not compare: keep one kind",
        )
    return kinds[0] if kinds else FOREIGN


def rank_experiments(whole: pd.DataFrame) -> pd.DataFrame:
    """Complete experiments with a rank for each metric, 1 the best; equals share their mean.

    Evaluators that are not the paper's have none, and change none.
    """
    metrics = measured(whole)
    extra = whole["method"].isin(EXTRAS)
    each = whole.assign(**{m: whole[m].mask(extra) for m in metrics}).groupby(EXPERIMENT)
    ranks = {
        f"r{metric}": each[metric].rank(method="average", ascending=sign < 0)
        for metric, sign in metrics.items()
    }
    return whole.assign(**ranks)


def by_dataset(
    whole: pd.DataFrame, track: str, column: str, how: Literal["mean", "min", "max"] = "mean"
) -> pd.DataFrame:
    """One row per data set and one column per method, over the seeds of complete experiments."""
    rows = whole[whole["track"] == track]
    wide = rows.groupby(["dataset", "method"])[column].agg(how).unstack()
    return wide[in_order(wide.columns)]


def average_curves(whole: pd.DataFrame, track: str, side: Side, methods: Sequence[str]) -> Curves:
    """The learning curves of some methods over complete experiments."""
    at = np.linspace(0, _ENDS[side], 25)
    rows = whole[(whole["track"] == track) & whole["method"].isin(methods)]
    seeds: dict[tuple[str, str], list[Floats]] = {}
    for name, method, x, y in zip(
        rows["dataset"], rows["method"], rows[f"{side}_at"], rows[side], strict=True
    ):
        along = np.interp(at, np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        seeds.setdefault((str(name), str(method)), []).append(along)
    names = sorted({name for name, _ in seeds})
    accuracy = np.array(
        [[np.mean(seeds[name, method], axis=0) for method in methods] for name in names]
    )
    return Curves(tuple(names), tuple(methods), at, accuracy)


def choose_featured(whole: pd.DataFrame, track: str) -> str:
    """EAP where it was run, otherwise the best by its ranks, or by AUC_qlt where none has any."""
    ranks = by_dataset(rank_experiments(whole), track, "rAUC_qlt").mean()
    if ranks.isna().all():
        ranks = -by_dataset(whole, track, "AUC_qlt").mean()
    return EAP if EAP in ranks.index else str(ranks.idxmin())


def count_better(whole: pd.DataFrame, track: str, name: str, other: str) -> int:
    """On how many data sets an evaluator's AUC_qlt, averaged over the seeds, is above another's."""
    means = by_dataset(whole, track, "AUC_qlt")
    return int((means[name] > means[other]).sum())


def choose_methods(table: pd.DataFrame, track: str, own: str) -> list[str]:
    """The featured one, the four strongest others by their ranks, and chance.

    Where fewer than four others have ranks, those that are not the paper's fill up.
    """
    order = [str(name) for name in table.loc[table["data"] == track, "evaluator"]]
    others = [name for name in order if name not in (own, RANDOM)][:4]
    return [own, *others, *([RANDOM] if RANDOM in order and own != RANDOM else [])]


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
    metrics = measured(whole)
    ranks = [f"r{metric}" for metric in metrics]
    columns = [*metrics, *ranks]
    means = rank_experiments(whole).groupby(["track", "method"])[columns].mean().reset_index()
    means = means.rename(columns={"track": "data", "method": kind})
    means["avg_rank"] = means[ranks].mean(axis=1)
    means["place"] = _places(means[kind])
    order = means.sort_values(["data", "avg_rank", "place"]).reset_index(drop=True)
    return order[["data", kind, *columns, *(["avg_rank"] if len(metrics) > 1 else [])]]


def choose_rank(table: pd.DataFrame) -> str:
    """The column of the rank that a table is sorted by."""
    return "avg_rank" if "avg_rank" in table else "rAUC_qlt"


def _check_cells(cells: pd.DataFrame) -> pd.DataFrame:
    strange = sorted({str(track) for track in cells["track"]} - set(TRACKS))
    if strange:
        raise DataError(
            f"there is no track {list_names(strange)}",
            advice=f"there are: {', '.join(TRACKS)}",
        )
    name_unrealistic(cells)
    twice = cells[cells.duplicated([*EXPERIMENT, "method"])]
    if len(twice):
        names = sorted({str(name) for name in twice["dataset"]})
        raise DataError(
            f"an experiment is there twice, of {list_names(names)}",
            advice="keep one row per data set, seed and method",
        )
    return cells


def _name_methods(methods: pd.Series) -> pd.Series:
    unknown = sorted({str(name) for name in methods} - set(NAMES))
    if unknown:
        raise DataError(
            f"there is no evaluator {list_names(unknown)}",
            advice=f"those there are: {', '.join(NAMES)}",
        )
    return methods.map(NAMES)


def _places(methods: pd.Series) -> pd.Series:
    return methods.map({name: i for i, name in enumerate(in_order(methods))}).astype(int)


def _experiments(rows: pd.DataFrame) -> int:
    return len(rows[EXPERIMENT].drop_duplicates())


# The paper's own figures, and ours beside them.

_FILE = Path(__file__).with_name("paper_tables.csv")


@dataclass(frozen=True)
class Orders:
    """Places by mean AUC_qlt among the evaluators both have; ``spearman`` if it is defined."""

    ours: Mapping[str, float]
    paper: Mapping[str, float]
    spearman: float | None


@cache
def _load_published() -> pd.DataFrame:
    return pd.read_csv(_FILE)


def read_published() -> pd.DataFrame:
    """The paper's table: means and mean ranks over its experiments."""
    return _load_published().copy()


def compare_with_paper(table: pd.DataFrame) -> pd.DataFrame:
    """Ours, the paper's and the difference, one row per track, evaluator and metric.

    What the paper does not have has no figure there: NaN.
    """
    keys, metrics = ["data", "evaluator"], list(measured(table))
    ours = table.melt(keys, metrics, "metric", "ours")
    theirs = read_published().melt(keys, metrics, "metric", "paper")
    both = ours.merge(theirs, "left", [*keys, "metric"])
    order = table[keys].merge(pd.DataFrame({"metric": metrics}), "cross")
    both = order.merge(both, "left", [*keys, "metric"])
    return both.assign(difference=both["ours"] - both["paper"])


def compare_orders(table: pd.DataFrame, track: str) -> Orders:
    """How far the order of the evaluators is the paper's."""
    both = compare_with_paper(table)
    both = both[(both["data"] == track) & (both["metric"] == "AUC_qlt")].dropna()
    names = [str(name) for name in both["evaluator"]]
    ours, paper = rankdata(-both["ours"]), rankdata(-both["paper"])
    alike = len(set(ours)) > 1 and len(set(paper)) > 1
    spearman = float(spearmanr(ours, paper).statistic) if alike else None
    return Orders(_by_name(names, ours), _by_name(names, paper), spearman)


def _by_name(names: list[str], places: Floats) -> dict[str, float]:
    return dict(zip(names, places.tolist(), strict=True))


# Whether evaluators differ beyond chance, over data sets.
#
# Friedman's test, Nemenyi's critical difference and Wilcoxon's signed-rank test with Holm's
# correction, as Demšar (2006) recommends. A data set counts once, with its mean over the seeds:
# seeds of one data set are no independent evidence.

LEVEL: Final = 0.05
_FRIEDMAN: Final = 3  # data sets, and methods, below which the test says nothing
_WILCOXON: Final = 6  # with five the smallest possible p is 0.0625
TOO_FEW: Final = "too few data sets to say"


@dataclass(frozen=True)
class Versus:
    """The reference against one other: on how many data sets it is better, and Holm's p."""

    other: str
    better: int
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


def compare_evaluators(cells: pd.DataFrame, track: str, metric: str = "AUC_qlt") -> Significance:
    """Test all evaluators of a track together, and EAP (or the best, without it) against each.

    Those that are not the paper's take no part, or the others' tests would hang on them.
    """
    means = by_dataset(complete_experiments(cells, "evaluator")[0], track, metric) * METRICS[metric]
    means = means[[name for name in means if name not in EXTRAS]]
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


def has_enough(others: int) -> int:
    """The fewest data sets with which a reference that always wins is told apart from so many."""
    count = _WILCOXON
    while others * 2.0 ** (1 - count) >= LEVEL:
        count += 1
    return count


def _pairs_note(count: int, methods: int) -> tuple[str, ...]:
    if methods < 2 or count >= has_enough(methods - 1):
        return ()
    needed = f"{count}, at least {has_enough(methods - 1)} needed for {methods - 1} comparisons"
    return (f"one evaluator against another: {TOO_FEW} ({needed})",)


def _against(means: pd.DataFrame, reference: str) -> tuple[Versus, ...]:
    own = means[reference].to_numpy(dtype=float)
    others = [str(name) for name in means if name != reference]
    gaps = [own - means[name].to_numpy(dtype=float) for name in others]
    p_values = [_signed_rank(gap) for gap in gaps]
    return tuple(
        Versus(name, int((gap > 0).sum()), p, corrected)
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
