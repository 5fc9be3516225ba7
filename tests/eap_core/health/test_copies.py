from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.table import ROLES
from eap_core.health import Entry, find_copies


def found(*entries: tuple[str, str, bytes]) -> dict[str, tuple[str, ...]]:
    return {f.code: f.where for f in find_copies([Entry(*e) for e in entries])}  # type: ignore[arg-type]


def test_each_kind_of_copy_is_named_with_its_original() -> None:
    report = found(
        ("n1", "normal", b"a"),
        ("n2", "normal", b"a"),
        ("a1", "anomaly", b"b"),
        ("a2", "anomaly", b"a"),
        ("c1", "candidate", b"a"),
        ("c2", "candidate", b"b"),
        ("c3", "candidate", b"c"),
        ("c4", "candidate", b"c"),
        ("t1", "test_anomaly", b"c"),
        ("t2", "test_normal", b"a"),
    )
    assert report == {
        "duplicate-normal": ("n2 = n1",),
        "duplicate-candidate": ("c4 = c3",),
        "candidate-is-normal": ("c1 = n1",),
        "candidate-is-anomaly": ("c1 = a2", "c2 = a1"),
        "candidate-in-test": ("c3 = t1", "c4 = t1"),
        "train-in-test": ("t2 = n1",),
        "contradiction": ("a2 = n1",),
    }


def test_nothing_is_said_of_distinct_items() -> None:
    assert not found(*((f"i{i}", role, bytes([i])) for i, role in enumerate(ROLES)))


@given(st.lists(st.tuples(st.sampled_from(ROLES), st.binary(min_size=1, max_size=1))))
def test_duplicates_are_counted_as_a_person_would(drawn: list[tuple[str, bytes]]) -> None:
    entries = [(f"item {i}", role, key) for i, (role, key) in enumerate(drawn)]
    report = found(*entries)
    for role in ROLES:
        keys = Counter(key for _, r, key in entries if r == role)
        assert len(report.get(f"duplicate-{role}", ())) == sum(keys.values()) - len(keys)
