"""Distances are exact, and the same bits whatever the block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from eap_core.base.errors import SettingsError
from eap_core.base.progress import Cancelled
from eap_core.base.table import Floats
from eap_core.scoring.distances import SquaredDistances


def whole(distances: SquaredDistances) -> Floats:
    return np.concatenate(list(distances.map(lambda _, block: block.copy())))


@given(
    rows=st.integers(1, 200),
    columns=st.integers(1, 150),
    width=st.sampled_from([1, 2, 32, 33, 50, 200]),
    offset=st.sampled_from([0.0, 1e3, 1e7]),
    seed=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_equal_to_the_summed_differences(
    rows: int, columns: int, width: int, offset: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, width)) + offset
    y = rng.normal(size=(columns, width)) + offset
    y[0] = x[0]  # a duplicate must be at exactly no distance
    found = whole(SquaredDistances(x, y))
    np.testing.assert_allclose(found, cdist(x, y, "sqeuclidean"), rtol=1e-11, atol=0)
    assert found[0, 0] == 0


@pytest.mark.parametrize("width", [5, 64])
@pytest.mark.parametrize("cluster", [1.0, 1e-4])
def test_the_same_bits_for_every_budget(width: int, cluster: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(700, width)) * cluster + rng.choice([0, 9], size=(700, 1))
    needed = 8 * 700 * 64 * 8 * SquaredDistances(x, x).workers
    budgets = [needed, 2 * needed, 10 * needed, 10**9]
    found = [whole(SquaredDistances(x, x, budget)) for budget in budgets]
    blocks = {SquaredDistances(x, x, budget).block_rows for budget in budgets}
    assert len(blocks) > 1, "the budgets must lead to different blocks"
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_a_second_visit_gives_the_same() -> None:
    x = np.random.default_rng(1).normal(size=(300, 40))
    distances = SquaredDistances(x, x)
    np.testing.assert_array_equal(whole(distances), whole(distances))


def test_a_budget_that_is_too_small_is_named() -> None:
    x = np.zeros((1000, 2))
    with pytest.raises(SettingsError, match=r"memory budget of .* is too small for 1,000 training"):
        SquaredDistances(x, x, budget=1000)


def test_the_number_of_threads_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert SquaredDistances(np.zeros((3, 2)), np.zeros((3, 2))).workers == 1


def test_cancelling_stops_between_blocks() -> None:
    x = np.random.default_rng(1).normal(size=(5000, 2))
    seen: list[float] = []

    def stop(share: float, _: str) -> None:
        seen.append(share)
        if share > 0.3:
            raise Cancelled

    work: Callable[[slice, Floats], int] = lambda rows, _: rows.start  # noqa: E731
    with pytest.raises(Cancelled):
        list(SquaredDistances(x, x).map(work, stop))
    assert 0 < seen[-1] < 0.6
