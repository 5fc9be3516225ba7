"""The splits: sizes, roles that do not overlap, biased anomalies, borrowed rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.base.table import Floats
from eap_core.study.data import (
    DataSet,
    Rows,
    Split,
    SplitCounts,
    borrow,
    choose_datasets,
    counts_of,
    find_datasets,
    fit_columns,
    lenders_of,
    split_dataset,
)


def made(folder: Path, name: str, seed: int = 0) -> Split:
    pool = find_datasets(folder)
    return split_dataset(choose_datasets(pool, [name])[0], pool, seed)


@pytest.mark.parametrize(
    ("anomalies", "counts"),
    [  # the first four are those of splits made by the authors' code
        (126, SplitCounts(63, 13, 50)),
        (268, SplitCounts(134, 27, 107)),
        (239, SplitCounts(120, 24, 95)),
        (176, SplitCounts(88, 18, 70)),
        (100, SplitCounts(50, 10, 40)),
        (5_000, SplitCounts(250, 50, 250)),
        (30, SplitCounts(15, 5, 10)),
    ],
)
def test_sizes(anomalies: int, counts: SplitCounts) -> None:
    assert counts_of(anomalies) == counts


@given(st.integers(20, 100_000))
def test_sizes_fit_into_what_there_is(anomalies: int) -> None:
    counts = counts_of(anomalies)
    assert counts.test + counts.train + counts.candidates <= anomalies
    assert min(counts.test, counts.train, counts.candidates) > 0


def test_a_split_has_the_stated_parts(sets: Path) -> None:
    found = made(sets, "tumours")
    problem = found.problem
    assert (problem.m, len(problem.normals)) == (21, 357 - 106 - 85)
    assert np.bincount(found.kinds).tolist() == [85, 85, 85]
    assert found.y_test.tolist() == [0] * 106 + [1] * 106
    np.testing.assert_allclose(problem.x_train.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(problem.x_train.std(axis=0, ddof=1), 1)


def test_no_row_has_two_parts(sets: Path) -> None:
    found = made(sets, "tumours", seed=4)
    own = found.problem.x_candidates[found.kinds != 2]
    rows = np.concatenate([found.problem.x_train, own, found.x_test]).round(9)
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_the_seed_decides_and_nothing_else(sets: Path) -> None:
    one, same, other = (made(sets, "digits", seed) for seed in (1, 1, 2))
    assert one.problem.fingerprint == same.problem.fingerprint
    assert one.lenders == same.lenders
    np.testing.assert_array_equal(one.x_test, same.x_test)
    assert one.problem.fingerprint != other.problem.fingerprint


def test_ties_are_not_in_the_order_of_quality(sets: Path) -> None:
    """Candidates of equal scores come in the order of their ids, which must say nothing."""
    found = made(sets, "tumours")
    third = len(found.kinds) // 3
    assert list(found.problem.ids) == sorted(found.problem.ids)
    assert 0.2 < found.realistic[:third].mean() < 0.5


def test_training_anomalies_are_a_biased_sample(tmp_path: Path) -> None:
    """Cluster by cluster: of ten kinds of anomalies training knows two, candidates all."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(10), 20)
    anomalies = 100.0 * np.eye(10)[kinds] + rng.normal(size=(200, 10))
    rows = np.concatenate([rng.normal(size=(400, 10)), anomalies])
    np.savez(tmp_path / "kinds.npz", X=rows, y=np.repeat([0, 1], [400, 200]))
    found = made(tmp_path, "kinds")
    problem = found.problem

    def known(rows: Floats) -> int:
        return len(np.unique(np.argmax(rows * problem.spread, axis=1)))

    assert known(problem.x_train[problem.anomalies]) <= 3
    assert known(problem.x_candidates[found.realistic]) >= 8


def test_unrealistic_candidates_are_borrowed_from_the_same_track(sets: Path) -> None:
    images = made(sets, "ones")
    assert images.lenders[0] == "threes"
    assert all(name.startswith("scikit-learn's") for name in images.lenders[1:])
    assert len(images.lenders) == 5


def test_a_data_set_never_borrows_from_itself() -> None:
    pool = [DataSet(f"set {i}", "tables", Path(f"{i}.npz")) for i in range(7)]
    for seed in range(20):
        lenders = lenders_of(pool[3], pool, np.random.default_rng(seed))
        assert len(set(lenders)) == 5
        assert "set 3" not in lenders


@given(st.integers(1, 60), st.integers(2, 40), st.integers(1, 20))
def test_borrowed_rows_get_the_right_number_of_columns(d: int, n: int, columns: int) -> None:
    rows = np.random.default_rng(0).normal(size=(n, columns))
    found = fit_columns(rows, d, seed=1)
    assert found.shape == (n, d)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, fit_columns(rows, d, seed=1))


def test_rows_that_fit_are_borrowed_as_they_are(sets: Path) -> None:
    pool = find_datasets(sets)
    rows = choose_datasets(pool, ["ones"])[0].rows()
    found = borrow(["ones"], pool, rows.values.shape[1], 40, np.random.default_rng(0))
    known = {row.tobytes() for row in rows.values}
    assert len(found) == 40
    assert all(row.tobytes() in known for row in found)


@pytest.mark.parametrize(
    ("normals", "anomalies", "said"),
    [
        (500, 19, "odd has 19 anomalies — at least 20 are needed"),
        (60, 200, "odd has 60 normal rows beside 200 anomalies — at least 221 are needed"),
    ],
)
def test_too_few_rows_are_said(
    sets: Path, tmp_path: Path, normals: int, anomalies: int, said: str
) -> None:
    rows = np.random.default_rng(0).normal(size=(normals + anomalies, 3))
    np.savez(tmp_path / "odd.npz", X=rows, y=np.repeat([0, 1], [normals, anomalies]))
    with pytest.raises(DataError, match=said):
        split_dataset(find_datasets(tmp_path)[0], find_datasets(sets), 0)


def test_the_spare_sets_are_real() -> None:
    pool: list[DataSet] = []
    lone = DataSet("lone", "tables", Path("lone.npz"))
    lenders = lenders_of(lone, pool, np.random.default_rng(0))
    found = borrow(lenders, pool, 12, 250, np.random.default_rng(0))
    assert found.shape == (250, 12)
    assert isinstance(found, np.ndarray)
    assert len(np.unique(found, axis=0)) > 200


def test_rows_know_their_labels(sets: Path) -> None:
    rows = find_datasets(sets)[0].rows()
    assert isinstance(rows, Rows)
    assert rows.values.shape[0] == len(rows.labels)
    assert not rows.values.flags.writeable
