from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from eap_core.project.problem import choose_anomalies


def test_anomalies_that_are_rarer_than_the_normals_are_all_used() -> None:
    assert choose_anomalies(5, ["a", "b", "a", "a"]) == [0, 1, 2, 3]


def test_too_many_are_taken_from_each_kind_in_turn() -> None:
    assert choose_anomalies(12, ["a"] * 10 + ["b"] * 2 + ["c"]) == [0, 10, 12]


@given(st.integers(1, 60), st.lists(st.sampled_from("abc"), max_size=80))
def test_the_used_ones_leave_the_guarantee_standing(normals: int, kinds: list[str]) -> None:
    used = choose_anomalies(normals, kinds)
    m, n = len(used), len(used) + normals
    assert used == sorted(set(used))
    assert bool(used) == bool(kinds)
    if normals > 1:
        assert 2 * m < n
    counted = Counter(kinds[i] for i in used)
    if len(used) < len(kinds):
        # No kind gives two before another has given one.
        for kind, available in Counter(kinds).items():
            assert counted[kind] >= min(available, max(counted.values()) - 1)
