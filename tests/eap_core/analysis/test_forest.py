"""The fast forest against scikit-learn's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from eap_core.analysis.learning import RankedRows


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(2, 60),
    d=st.integers(1, 12),
    values=st.sampled_from((2, 5, 1000)),
)
@settings(max_examples=25)
def test_it_predicts_what_scikit_learns_forest_predicts(
    seed: int, n: int, d: int, values: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, values, size=(2 * n, d)) / 7.0  # many ties where there are few values
    rows[:, : d // 3] = 1.0  # and constant columns
    wanted = rng.integers(0, values, size=(40, d)) / 7.0
    ranked = RankedRows(rows, wanted, seed)
    for _ in range(2):  # forests of different rows share their ranks
        used = rng.permutation(2 * n)[:n]
        labels = np.append([0, 1], rng.integers(0, 2, n - 2)).astype(np.int8)
        slow = RandomForestClassifier(random_state=seed).fit(rows[used], labels).predict(wanted)
        np.testing.assert_array_equal(ranked.labels(used, labels), slow)


def test_values_too_near_to_be_told_apart() -> None:
    """Steps below a ten-millionth, which scikit-learn does not cut, beside larger ones."""
    rng = np.random.default_rng(0)
    steps = rng.choice([2e-8, 6e-8, 3e-7], size=(200, 3))
    rows = np.cumsum(steps, axis=0).astype(np.float32).astype(np.float64)
    labels = rng.integers(0, 2, 200).astype(np.int8)
    slow = RandomForestClassifier(random_state=1).fit(rows, labels).predict(rows)
    found = RankedRows(rows, rows, 1).labels(np.arange(200), labels)
    np.testing.assert_array_equal(found, slow)
    assert np.mean(slow == labels) < 1  # not all were told apart


def test_many_columns_of_mostly_zeros() -> None:
    """Most are constant in most nodes, and are set aside one by one."""
    rng = np.random.default_rng(4)
    rows = (rng.random((300, 400)) < 0.02).astype(np.float64)
    labels = (rows[:, :12].any(axis=1) ^ (rng.random(300) < 0.1)).astype(np.int8)
    slow = RandomForestClassifier(random_state=2).fit(rows[:200], labels[:200]).predict(rows)
    found = RankedRows(rows, rows, 2).labels(np.arange(200), labels[:200])
    np.testing.assert_array_equal(found, slow)
    assert 0 < found[200:].sum() < 100


def test_real_rows_of_large_numbers() -> None:
    rows, benign = load_breast_cancer(return_X_y=True)
    rows, labels = rows * 1e4, (benign == 0).astype(np.int8)
    slow = RandomForestClassifier(random_state=3).fit(rows[::2], labels[::2]).predict(rows[1::2])
    ranked = RankedRows(rows, rows[1::2], 3)
    found = ranked.labels(np.arange(0, len(rows), 2), labels[::2])
    np.testing.assert_array_equal(found, slow)
    assert np.mean(slow == labels[1::2]) > 0.9
