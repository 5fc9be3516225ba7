"""Deviations agree with a slow and obvious version, in the units of the file."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.analysis import explain as module
from eap_core.analysis.explain import MOST, find_deviations, robust_scale
from eap_core.base.prepare import problem_from_tables
from eap_core.base.problem import Problem
from eap_core.base.table import Table


def slow(problem: Problem, nearest: np.ndarray, i: int) -> list[tuple[float, ...]]:
    """Column, z, value and typical value of one candidate, the most deviating first."""
    found = []
    for j in range(len(problem.columns)):
        column = [float(problem.x_train[row, j]) for row in problem.normals]
        middle = statistics.median(column)
        gaps = [abs(value - middle) for value in column]
        scale = 1.4826 * statistics.median(gaps) or 1.2533 * statistics.fmean(gaps) or 1.0
        typical = statistics.median(
            float(problem.x_train[row, j]) for row in nearest[i] if row >= 0
        )
        value = float(problem.x_candidates[i, j])
        back = [v * problem.spread[j] + problem.centre[j] for v in (value, typical)]
        found.append((j, (value - typical) / scale, *back))
    return sorted(found, key=lambda each: -abs(each[1]))


@given(st.integers(0, 10**6), st.sampled_from([1, 5, 12]), st.booleans())
def test_it_agrees_with_the_slow_way(seed: int, columns: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, columns))
    if coarse:  # many equal values: no median absolute deviation
        rows = np.where(rng.random(rows.shape) < 0.7, 0.0, rows)
    rows[0] += 1.0
    problem = Problem(
        rows[:14],
        np.r_[np.zeros(11), np.ones(3)].astype(np.int8),
        rows[14:],
        tuple("abcdef"),
        centre=rng.normal(size=columns),
        spread=rng.uniform(0.5, 3, size=columns),
    )
    nearest = np.array([rng.permutation(11)[:3] for _ in range(6)])
    nearest[0, 2] = -1
    found = find_deviations(problem, nearest)
    width = min(columns, MOST)
    for i in range(6):
        expected = slow(problem, nearest, i)
        assert found.z[i, :width] == pytest.approx([each[1] for each in expected[:width]])
        by_column = {int(each[0]): each for each in expected}
        for j, *told in zip(
            found.which[i], found.z[i], found.value[i], found.typical[i], strict=True
        ):
            if j >= 0:
                assert told == pytest.approx(list(by_column[int(j)][1:]))
        assert len({*found.which[i, :width].tolist()} - {-1}) == width
        assert (found.which[i, width:] == -1).all()
        assert np.isnan(found.z[i, width:]).all()


def test_where_most_normals_are_equal_others_decide() -> None:
    normals = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 3.0], [8.0, 0.0, 4.0]])
    assert robust_scale(normals) == pytest.approx([1.2533 * 2.0, 1.0, 1.4826])


def test_values_are_in_the_units_of_the_file_and_categories_in_words() -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(70_000.0, 500.0, 40)
    flags = np.array([i % 4 == 0 for i in range(40)], dtype=float)
    columns = ("weight in g", "colour=red", "a=b")
    values = np.column_stack([weight, flags, rng.normal(size=40)])
    normals = Table("rows.csv", columns, values, tuple(f"n{i}" for i in range(40)))
    odd = Table("odd.csv", columns, np.array([[75_000.0, 1.0, 0.0]]), ("odd",))
    problem = problem_from_tables(normals, odd)
    found = find_deviations(problem, np.array([[1, 2, 3]]))
    assert found.columns == ("weight in g", "colour = red", "a=b")
    assert found.which[0, 0] == 0
    assert found.value[0, 0] == pytest.approx(75_000.0)
    assert found.typical[0, 0] == pytest.approx(np.median(weight[1:4]))
    red = found.which[0].tolist().index(1)
    assert (found.value[0, red], found.typical[0, red]) == pytest.approx((1.0, 0.0))


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    problem = Problem(
        rng.normal(size=(30, 10)),
        np.zeros(30, dtype=np.int8),
        rng.normal(size=(50, 10)),
        tuple(f"c{i}" for i in range(50)),
    )
    nearest = rng.integers(0, 30, (50, 3))
    whole = find_deviations(problem, nearest)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 2_000)
    small = find_deviations(problem, nearest)
    for name in ("which", "z", "value", "typical"):
        np.testing.assert_array_equal(getattr(small, name), getattr(whole, name))
