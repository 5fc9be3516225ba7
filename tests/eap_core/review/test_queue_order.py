"""Every order is a permutation, the same each time, and means what its name says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.errors import SettingsError
from eap_core.review.queue import ORDERS, evaluator_columns, order_queue
from eap_core.scoring import percentiles, ranks


def table(scores: dict[str, list[float]], names: list[str] | None = None) -> pd.DataFrame:
    eap = np.array(scores["eap"], dtype=float)
    ids = names or [f"c{i:03d}" for i in range(len(eap))]
    placed = {"rank": ranks(eap, ids), "percentile": percentiles(eap)} if len(eap) else {}
    return pd.DataFrame({"item": ids, "id": ids, **scores, **placed})


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    count = draw(st.integers(1, 12))
    few = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=count, max_size=count)
    names = draw(st.lists(st.text(min_size=1), min_size=count, max_size=count, unique=True))
    others = draw(st.lists(st.sampled_from(["rarity", "lava", "loo"]), unique=True))
    return table({"eap": draw(few), **{name: draw(few) for name in others}}, names)


@given(tables(), st.sampled_from(list(ORDERS)), st.floats(0, 100), st.integers(0, 9), st.booleans())
def test_an_order_is_a_permutation_that_does_not_depend_on_the_rows_order(
    frame: pd.DataFrame, order: str, threshold: float, seed: int, known: bool
) -> None:
    places = np.arange(len(frame))[::-1]
    found = order_queue(
        frame, order, threshold=threshold, diverse=places if known else None, seed=seed
    )
    assert sorted(found) == list(range(len(frame)))
    mixed = np.random.default_rng(seed).permutation(len(frame))
    again = order_queue(
        frame.iloc[mixed].reset_index(drop=True),
        order,
        threshold=threshold,
        diverse=places[mixed] if known else None,
        seed=seed,
    )
    assert frame["id"].iloc[found].tolist() == frame["id"].iloc[mixed[again]].tolist()


def test_the_orders_mean_what_they_say() -> None:
    frame = table({"eap": [0.9, 0.1, 0.5, 0.3], "rarity": [0.8, 0.9, 0.5, 0.3]})
    assert order_queue(frame, "score") == [0, 2, 3, 1]
    assert order_queue(frame, "threshold", threshold=40.0) == [3, 2, 1, 0]
    assert order_queue(frame, "disputed")[0] == 1
    assert order_queue(frame, "diverse", diverse=[2, 0, 3, 1]) == [1, 3, 0, 2]
    assert order_queue(frame, "random", seed=1) != order_queue(frame, "random", seed=2)


def test_what_is_not_there_falls_back_to_best_first() -> None:
    frame = table({"eap": [0.9, 0.1, 0.5, 0.3]})
    best = order_queue(frame, "score")
    assert order_queue(frame, "disputed") == order_queue(frame, "diverse") == best
    bare = frame[["item", "id", "eap"]]
    assert order_queue(bare, "threshold") == [0, 1, 2, 3]  # nothing but ids to go by
    assert order_queue(table({"eap": []}), "disputed") == []


def test_chance_disputes_nothing() -> None:
    frame = table({"eap": [0.9, 0.1, 0.5], "lava": [0.8, 0.2, 0.5], "random": [0.0, 0.9, 0.1]})
    assert order_queue(frame, "disputed") == order_queue(frame, "score")
    assert order_queue(frame.drop(columns="lava"), "disputed") == order_queue(frame, "score")


def test_ties_are_broken_by_rank_then_id() -> None:
    frame = table({"eap": [0.5, 0.5, 0.5]}, ["b", "c", "a"])
    assert order_queue(frame, "score") == order_queue(frame, "threshold") == [2, 0, 1]


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(SettingsError, match="there is no order 'best' — choose from score"):
        order_queue(table({"eap": [1.0]}), "best")


def test_evaluators_are_listed_in_the_papers_order() -> None:
    frame = pd.DataFrame(columns=["loo", "p_y", "p_y_one_pass", "lava", "eap", "prompt"])
    assert evaluator_columns(frame) == ["eap", "lava", "loo", "p_y_one_pass"]
