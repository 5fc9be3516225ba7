"""The orders in which candidates can be reviewed, each a permutation of the score table."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from eap_core.analysis.score import column_name
from eap_core.base.errors import SettingsError, quote
from eap_core.base.table import KEYS, Bools, Floats
from eap_core.evaluators import EVALUATORS
from eap_core.review import UNTOUCHED, VERDICT_WORDS, ItemState
from eap_core.scoring import percentiles
from eap_core.scoring.posterior import CATEGORIES

if TYPE_CHECKING:
    import pandas as pd


ORDERS: Mapping[str, str] = MappingProxyType(
    {
        "score": "Best first",
        "threshold": "Near the threshold",
        "disputed": "Methods disagree",
        "diverse": "Diverse",
        "random": "Random",
    }
)


def evaluator_columns(frame: Container[Hashable]) -> list[str]:
    """The columns of the evaluators that the table has, EAP first."""
    return [name for name in map(column_name, EVALUATORS) if name in frame]


def order_queue(
    frame: pd.DataFrame,
    order: str,
    *,
    threshold: float = 80.0,
    diverse: Sequence[int] | npt.NDArray[np.intp] | None = None,
    seed: int = 0,
) -> list[int]:
    """The positions of the table's rows in one of the orders; ties are best first, then by id.

    ``diverse[i]`` is the place of row i in the diverse order; without it that order is best first,
    as is the disputed one where EAP stands alone.
    """
    if order not in ORDERS:
        raise SettingsError(
            f"there is no order {quote(order)}",
            advice=f"choose from {', '.join(ORDERS)}",
        )
    places = _best_first(frame)
    if order == "random":
        # by id, so that a table whose ranks have changed is shuffled in the same way
        by_id = sorted(range(len(frame)), key=frame["id"].tolist().__getitem__)
        return [by_id[i] for i in np.random.default_rng(seed).permutation(len(frame))]
    keys = np.zeros(len(frame))
    if order == "threshold" and "percentile" in frame:
        keys = np.abs(frame["percentile"].to_numpy(np.float64) - threshold)
    elif order == "disputed":
        keys = -_spread(frame)
    elif order == "diverse" and diverse is not None:
        keys = np.asarray(diverse, dtype=np.float64)
    return [int(i) for i in np.lexsort((places, keys))]


def _best_first(frame: pd.DataFrame) -> Floats:
    """The place of each row by rank, then by id."""
    ids = frame["id"].tolist()
    ranks = frame["rank"].tolist() if "rank" in frame else [0] * len(frame)
    best = sorted(range(len(frame)), key=lambda i: (ranks[i], ids[i]))
    places = np.empty(len(frame))
    places[best] = np.arange(len(frame))
    return places


def _spread(frame: pd.DataFrame) -> Floats:
    """How far apart, in percentiles, the methods put each candidate."""
    names = [name for name in evaluator_columns(frame) if name != "random"]  # it has no opinion
    if len(names) < 2 or not len(frame):
        return np.zeros(len(frame))
    columns = frame[names].to_numpy(np.float64)
    return np.asarray(np.ptp([percentiles(column) for column in columns.T], axis=0))


# Which candidates a visitor wants to see, in which order, and what a threshold would accept.

Standings = Literal["undecided", "accepted", "rejected", "skipped", "flagged", "conflicting"]
Twins = Literal["all", "without", "only"]
STATES: tuple[Standings, ...] = (
    "undecided",
    "accepted",
    "rejected",
    "skipped",
    "flagged",
    "conflicting",
)
SORTS: Mapping[str, str] = MappingProxyType(
    {
        "quality": "Best first",
        "name": "By name",
        "disagreement": "Methods disagree",
        "newest": "Newest decision",
    }
)
MOST_VALUES = 30
_OWN = ("item", "id", "category")


@dataclass(frozen=True)
class Filter:
    """What to show; an empty choice is no restriction. ``values`` is by column of metadata."""

    states: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    values: tuple[tuple[str, frozenset[str]], ...] = ()
    low: float = 0.0
    high: float = 100.0
    twins: Twins = "all"
    text: str = ""

    @property
    def restrictions(self) -> int:
        """How many of them there are."""
        return sum(
            map(
                bool,
                (
                    self.states,
                    self.categories,
                    *(chosen for _, chosen in self.values),
                    self.low > 0 or self.high < 100,
                    self.twins != "all",
                    self.text.strip(),
                ),
            )
        )


def state_of_item(state: ItemState) -> Standings:
    """The one word for how an item stands; flags and conflicts come on top of it."""
    return VERDICT_WORDS.get(state.verdict, "undecided")


def filter_rows(
    frame: pd.DataFrame, wanted: Filter, states: Mapping[str, ItemState], twins: Bools
) -> Bools:
    """Whether each row of the table is wanted; ``twins`` says which nearly equal a better one."""
    found = np.ones(len(frame), dtype=np.bool_)
    if wanted.states:
        marks = [_in_state(states.get(item, UNTOUCHED), wanted.states) for item in frame["item"]]
        found &= np.array(marks, dtype=np.bool_)
    if wanted.categories:
        found &= frame["category"].isin(list(wanted.categories)).to_numpy()
    for column, chosen in wanted.values:
        if chosen and column in frame:
            found &= frame[column].isin(list(chosen)).to_numpy()
    if wanted.low > 0 or wanted.high < 100:
        found &= frame["percentile"].between(wanted.low, wanted.high).to_numpy()
    if wanted.twins != "all":
        found &= twins if wanted.twins == "only" else ~twins
    if text := wanted.text.strip().casefold():
        named = [text in str(name).casefold() for name in frame["id"]]
        found &= np.array(named, dtype=np.bool_)
    return found


def sort_rows(
    frame: pd.DataFrame, sort: str, states: Mapping[str, ItemState]
) -> npt.NDArray[np.intp]:
    """The positions of the table's rows in one of the orders; ties are best first."""
    if sort == "disagreement":
        return np.array(order_queue(frame, "disputed"), dtype=np.intp)
    best = np.array(order_queue(frame, "score"), dtype=np.intp)
    if sort == "name":
        names = frame["id"].tolist()
        by_name = sorted(best.tolist(), key=lambda i: (names[i].casefold(), names[i]))
        return np.array(by_name, dtype=np.intp)
    if sort == "newest":
        items = frame["item"].tolist()
        seqs = [_last_seq(states.get(item, UNTOUCHED)) for item in items]
        return np.array(sorted(best.tolist(), key=lambda i: -seqs[i]), dtype=np.intp)
    return best


def find_facets(frame: pd.DataFrame) -> list[str]:
    """The columns of metadata with few enough values to choose from, the usual ones first."""
    found = [
        str(name)
        for name in frame
        if name not in _OWN
        and frame[name].dtype.kind not in "iufb"
        and 1 < frame[name].nunique() <= MOST_VALUES
    ]
    return sorted(found, key=lambda name: KEYS.index(name) if name in KEYS else len(KEYS))


@dataclass(frozen=True)
class Mixture:
    """How many of some candidates are of each category: the best need not be good."""

    realistic: int
    looks_normal: int
    too_far: int

    @property
    def doubtful(self) -> bool:
        return 2 * self.realistic < self.realistic + self.looks_normal + self.too_far


def mix_of(frame: pd.DataFrame, items: Collection[str]) -> Mixture:
    """Of which categories these items of the table are."""
    found = frame["category"][frame["item"].isin(list(items))].tolist()
    return Mixture(*map(found.count, CATEGORIES))


@dataclass(frozen=True)
class AboveLine:
    """What lies at or above a percentile; ``kinds`` are the values of the column ``group``."""

    items: tuple[str, ...]
    undecided: tuple[str, ...]
    mixture: Mixture
    twins: int
    accepted: int
    rejected: int
    group: str | None
    kinds: int
    all_kinds: int


def count_above(
    frame: pd.DataFrame,
    percentile: float,
    states: Mapping[str, ItemState],
    twins: Bools,
    group: str | None = None,
) -> AboveLine:
    """What accepting from a percentile would mean."""
    inside = frame["percentile"].to_numpy() >= percentile
    items = frame["item"].to_numpy()[inside].tolist()
    verdicts = [states.get(item, UNTOUCHED).verdict for item in items]
    return AboveLine(
        tuple(items),
        tuple(
            item
            for item, verdict in zip(items, verdicts, strict=True)
            if verdict not in ("accept", "reject")
        ),
        mix_of(frame, items),
        int(twins[inside].sum()),
        verdicts.count("accept"),
        verdicts.count("reject"),
        group,
        _count_named(frame[group][inside]) if group else 0,
        _count_named(frame[group]) if group else 0,
    )


def _count_named(values: pd.Series) -> int:
    """How many values there are, not counting that none is given."""
    return int(values[values != ""].nunique())


def _in_state(state: ItemState, wanted: frozenset[str]) -> bool:
    return (
        state_of_item(state) in wanted
        or (state.flagged and "flagged" in wanted)
        or ("conflicting" in wanted and conflicting(state))
    )


def conflicting(state: ItemState) -> bool:
    """Whether two people decided otherwise, the later one without knowing of the earlier."""
    return any(conflict.disagree for conflict in state.conflicts)


def _last_seq(state: ItemState) -> int:
    return state.decision.seq if state.decision else 0


def flags_of(items: Sequence[str], marked: frozenset[str]) -> Bools:
    """Whether each item is among those marked."""
    return np.fromiter((item in marked for item in items), dtype=np.bool_, count=len(items))
