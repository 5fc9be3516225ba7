"""Filters, orders and threshold counts are those of the obvious loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from eap_core.review import UNTOUCHED, Conflict, Decision, ItemState, Verdict
from eap_core.review.queue import (
    MOST_VALUES,
    SORTS,
    STATES,
    Filter,
    count_above,
    filter_rows,
    find_facets,
    flags_of,
    sort_rows,
)
from eap_core.scoring import percentiles, ranks
from eap_core.scoring.posterior import CATEGORIES

VERDICTS: list[Verdict | None] = ["accept", "reject", "skip", None]
KINDS = ["scratch", "dent", "stain", ""]


@dataclass(frozen=True)
class Case:
    frame: pd.DataFrame
    states: Mapping[str, ItemState]
    twins: np.ndarray


def a_state(verdict: Verdict | None, seq: int, flagged: bool, conflict: str) -> ItemState:
    row = Decision("u", "i", verdict, "one", seq=seq) if verdict else None
    other: Verdict = "reject" if conflict == "disagree" else "accept"
    found = Decision("v", "i", "accept", "two", seq=1), Decision("w", "i", other, "one", seq=2)
    return ItemState(row, flagged, (Conflict(*found),) if conflict != "none" else ())


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 12))
    each = st.lists
    names = draw(each(st.text("aAbß", min_size=1, max_size=3), min_size=count, max_size=count))
    scores = np.array(draw(each(st.integers(0, 4), min_size=count, max_size=count)), dtype=float)
    frame = pd.DataFrame(
        {
            "item": [f"i{i}" for i in range(count)],
            "id": names,
            "eap": scores,
            "loo": np.array(draw(each(st.integers(0, 4), min_size=count, max_size=count)), float),
            "rank": ranks(scores, names).astype(float),
            "percentile": percentiles(scores) if count else np.zeros(0),
            "category": draw(each(st.sampled_from(CATEGORIES), min_size=count, max_size=count)),
            "defect_type": draw(each(st.sampled_from(KINDS), min_size=count, max_size=count)),
        }
    )
    states = {
        f"i{i}": a_state(
            draw(st.sampled_from(VERDICTS)),
            draw(st.integers(1, 9)),
            draw(st.booleans()),
            draw(st.sampled_from(["none", "agree", "disagree"])),
        )
        for i in range(count)
        if draw(st.booleans())
    }
    twins = np.array(draw(each(st.booleans(), min_size=count, max_size=count)), dtype=np.bool_)
    return Case(frame, states, twins)


wishes = st.builds(
    Filter,
    states=st.frozensets(st.sampled_from(STATES), max_size=3),
    categories=st.frozensets(st.sampled_from(CATEGORIES), max_size=2),
    values=st.frozensets(st.sampled_from(KINDS), max_size=2).map(lambda s: (("defect_type", s),)),
    low=st.sampled_from([0.0, 25.0, 50.0]),
    high=st.sampled_from([50.0, 75.0, 100.0]),
    twins=st.sampled_from(["all", "without", "only"]),
    text=st.sampled_from(["", " ", "a", "B", "SS"]),
)


def words(state: ItemState) -> set[str]:
    found = {"accept": "accepted", "reject": "rejected", "skip": "skipped", None: "undecided"}
    said = {found[state.verdict]}
    if state.flagged:
        said.add("flagged")
    if any(c.earlier.verdict != c.later.verdict for c in state.conflicts):
        said.add("conflicting")
    return said


def is_wanted(row: Mapping[str, object], wish: Filter, state: ItemState, twin: bool) -> bool:
    """Slow and obvious."""
    if wish.states and not words(state) & wish.states:
        return False
    if wish.categories and row["category"] not in wish.categories:
        return False
    for column, chosen in wish.values:
        if chosen and row[column] not in chosen:
            return False
    if not wish.low <= float(str(row["percentile"])) <= wish.high:
        return False
    if wish.twins != "all" and twin != (wish.twins == "only"):
        return False
    return wish.text.strip().casefold() in str(row["id"]).casefold()


@given(cases(), wishes)
def test_what_matches_is_what_the_loop_finds(case: Case, wish: Filter) -> None:
    found = filter_rows(case.frame, wish, case.states, case.twins)
    rows = case.frame.to_dict("records")
    slow = [
        is_wanted({str(k): v for k, v in row.items()}, wish, state, bool(twin))
        for row, twin in zip(rows, case.twins, strict=True)
        for state in [case.states.get(str(row["item"]), UNTOUCHED)]
    ]
    assert found.tolist() == slow
    if wish.restrictions == 0:
        assert all(slow)


@given(cases(), st.sampled_from([0.0, 33.0, 50.0, 80.0, 100.0]))
def test_threshold_counts_are_what_the_loop_counts(case: Case, percentile: float) -> None:
    found = count_above(case.frame, percentile, case.states, case.twins, "defect_type")
    inside = [i for i, p in enumerate(case.frame["percentile"]) if p >= percentile]
    items = [f"i{i}" for i in inside]
    verdicts = {item: case.states.get(item, UNTOUCHED).verdict for item in items}
    kinds = case.frame["defect_type"].tolist()
    assert found.items == tuple(items)
    assert found.undecided == tuple(i for i in items if verdicts[i] in (None, "skip"))
    assert found.twins == sum(bool(case.twins[i]) for i in inside)
    assert found.accepted == sum(v == "accept" for v in verdicts.values())
    assert found.rejected == sum(v == "reject" for v in verdicts.values())
    assert found.kinds == len({kinds[i] for i in inside} - {""})
    assert found.all_kinds == len(set(kinds) - {""})


@given(cases(), st.sampled_from(sorted(SORTS)))
def test_orders_are_permutations_sorted_by_their_key(case: Case, sort: str) -> None:
    rows = sort_rows(case.frame, sort, case.states).tolist()
    assert sorted(rows) == list(range(len(case.frame)))
    state_of = [case.states.get(item, UNTOUCHED) for item in case.frame["item"]]
    columns = [case.frame[name].to_numpy() for name in ("eap", "loo")]
    spread = np.ptp([percentiles(column) for column in columns], axis=0) if rows else []
    names = case.frame["id"].tolist()
    keys: dict[str, list[tuple[object, ...]]] = {
        "quality": [() for _ in rows],
        "name": [(name.casefold(), name) for name in names],
        "disagreement": [(-gap,) for gap in spread],
        "newest": [(-(state.decision.seq if state.decision else 0),) for state in state_of],
    }
    key = [(*keys[sort][i], case.frame["rank"][i]) for i in rows]
    assert key == sorted(key)


def test_facets_are_texts_with_few_values_the_usual_ones_first() -> None:
    count = MOST_VALUES + 1
    frame = pd.DataFrame(
        {
            "item": [f"i{i}" for i in range(count)],
            "id": [f"n{i}" for i in range(count)],
            "eap": range(count),
            "category": ["realistic", *["unrealistic"] * (count - 1)],
            "prompt": [f"prompt {i}" for i in range(count)],
            "line": ["3", *["4"] * (count - 1)],
            "one": ["x"] * count,
            "defect_type": ["a", *["b"] * (count - 1)],
            "generator": [f"g{min(i, MOST_VALUES - 1)}" for i in range(count)],
        }
    )
    assert find_facets(frame) == ["generator", "defect_type", "line"]


def test_flags_tell_which_items_are_marked() -> None:
    assert flags_of(["a", "b", "c"], frozenset("cx")).tolist() == [False, False, True]


def test_restrictions_are_counted() -> None:
    assert Filter().restrictions == 0
    wish = Filter(frozenset({"accepted"}), text=" a ", values=(("g", frozenset()),), high=90)
    assert wish.restrictions == 3
