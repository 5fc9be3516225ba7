"""Scores become probabilities without losing digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.scoring.rarity import nearness, squash, threshold


def test_half_at_the_threshold() -> None:
    np.testing.assert_allclose(squash(np.array([0.0, 0.3, 0.6]), 0.3), [0, 0.5, 15 / 16])


def test_small_scores_keep_their_digits() -> None:
    # 1 − 2^−x is x·ln 2 for small x; computed plainly it would be 0.
    assert squash(np.array([1e-12]), 1.0)[0] == pytest.approx(1e-24 * np.log(2), rel=1e-12)


def test_a_threshold_of_zero_makes_everything_above_it_certain() -> None:
    np.testing.assert_array_equal(squash(np.array([0.0, 1e-300, 2.0]), 0.0), [0, 1, 1])


def test_negative_scores_are_never_squared() -> None:
    with pytest.raises(AssertionError, match="negative score"):
        squash(np.array([0.2, -0.1]), 0.3)


def test_a_tiny_threshold_does_not_overflow() -> None:
    np.testing.assert_array_equal(squash(np.array([0.0, 1.0]), 1e-300), [0, 1])


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=30), st.floats(1e-6, 1e3))
def test_monotone_and_a_probability(scores: list[float], level: float) -> None:
    found = squash(np.sort(scores), level)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@given(st.sets(st.floats(0, 1), min_size=3, max_size=40), st.data())
def test_counting_leaves_exactly_m_rows_above_one_half(
    scores: set[float], data: st.DataObject
) -> None:
    values = np.array(sorted(scores))
    m = data.draw(st.integers(0, len(values) - 1))
    level = threshold(values, m / len(values), "count")
    assert np.count_nonzero(values > level) == m


def test_the_percentile_is_a_whole_number() -> None:
    scores = np.arange(101.0)
    assert threshold(scores, 0.055, "percentile") == 94.0


def test_nearness_is_one_half_at_the_length_scale() -> None:
    np.testing.assert_allclose(nearness(np.array([0.0, 4.0, 16.0]), 4.0), [1, 0.5, 1 / 16])
    assert nearness(np.array([1e300]), 1e-300)[0] == 0
