"""Which candidates a visitor wants to see, in which order, and what a threshold would accept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from eap_core.category import CATEGORIES
from eap_core.metadata import KEYS
from eap_core.queue_order import ordered
from eap_core.review import UNTOUCHED, ItemState

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]
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
_VERDICTS: Mapping[str | None, Standings] = MappingProxyType(
    {"accept": "accepted", "reject": "rejected", "skip": "skipped"}
)


@dataclass(frozen=True)
class Wanted:
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


def standing_of(state: ItemState) -> Standings:
    """The one word for how an item stands; flags and conflicts come on top of it."""
    return _VERDICTS.get(state.verdict, "undecided")


def matching(
    frame: pd.DataFrame, wanted: Wanted, states: Mapping[str, ItemState], twins: Flags
) -> Flags:
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


def sorted_rows(
    frame: pd.DataFrame, sort: str, states: Mapping[str, ItemState]
) -> npt.NDArray[np.intp]:
    """The positions of the table's rows in one of the orders; ties are best first."""
    if sort == "disagreement":
        return np.array(ordered(frame, "disputed"), dtype=np.intp)
    best = np.array(ordered(frame, "score"), dtype=np.intp)
    if sort == "name":
        names = frame["id"].tolist()
        by_name = sorted(best.tolist(), key=lambda i: (names[i].casefold(), names[i]))
        return np.array(by_name, dtype=np.intp)
    if sort == "newest":
        items = frame["item"].tolist()
        seqs = [_last_seq(states.get(item, UNTOUCHED)) for item in items]
        return np.array(sorted(best.tolist(), key=lambda i: -seqs[i]), dtype=np.intp)
    return best


def facets(frame: pd.DataFrame) -> list[str]:
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


def mixture(frame: pd.DataFrame, items: Collection[str]) -> Mixture:
    """Of which categories these items of the table are."""
    found = frame["category"][frame["item"].isin(list(items))].tolist()
    return Mixture(*map(found.count, CATEGORIES))


@dataclass(frozen=True)
class Above:
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


def above(
    frame: pd.DataFrame,
    percentile: float,
    states: Mapping[str, ItemState],
    twins: Flags,
    group: str | None = None,
) -> Above:
    """What accepting from a percentile would mean."""
    inside = frame["percentile"].to_numpy() >= percentile
    items = frame["item"].to_numpy()[inside].tolist()
    verdicts = [states.get(item, UNTOUCHED).verdict for item in items]
    return Above(
        tuple(items),
        tuple(
            item
            for item, verdict in zip(items, verdicts, strict=True)
            if verdict not in ("accept", "reject")
        ),
        mixture(frame, items),
        int(twins[inside].sum()),
        verdicts.count("accept"),
        verdicts.count("reject"),
        group,
        _named(frame[group][inside]) if group else 0,
        _named(frame[group]) if group else 0,
    )


def _named(values: pd.Series) -> int:
    """How many values there are, not counting that none is given."""
    return int(values[values != ""].nunique())


def _in_state(state: ItemState, wanted: frozenset[str]) -> bool:
    return (
        standing_of(state) in wanted
        or (state.flagged and "flagged" in wanted)
        or ("conflicting" in wanted and conflicting(state))
    )


def conflicting(state: ItemState) -> bool:
    """Whether two people decided otherwise, the later one without knowing of the earlier."""
    return any(conflict.disagree for conflict in state.conflicts)


def _last_seq(state: ItemState) -> int:
    return state.decision.seq if state.decision else 0


def flags_of(items: Sequence[str], marked: frozenset[str]) -> Flags:
    """Whether each item is among those marked."""
    return np.fromiter((item in marked for item in items), dtype=np.bool_, count=len(items))
