"""The image demo is what it promises to be, before a single picture is drawn."""

from __future__ import annotations

from collections import Counter

import pytest

from eap_core.base.table import ROLES, metadata_key
from eap_core.scoring.posterior import CATEGORIES
from tools.demo_images.catalogue import GENERATORS, REPEATED, catalogue
from tools.demo_images.defects import DEFECTS

ENTRIES = {entry.name: entry for entry in catalogue()}
CANDIDATES = [entry for entry in ENTRIES.values() if entry.role == "candidate"]


def test_every_role_has_its_share() -> None:
    counts = Counter(entry.role for entry in ENTRIES.values())
    assert counts == {
        "normal": 120,
        "anomaly": 12,
        "candidate": 120,
        "test_normal": 20,
        "test_anomaly": 20,
    }
    assert set(counts) == set(ROLES)


def test_names_are_unique_and_folders_tell_the_role() -> None:
    entries = catalogue()
    assert len(ENTRIES) == len(entries)
    folders = {(entry.role, entry.name.split("/")[0]) for entry in entries}
    assert folders == {
        ("normal", "normal"),
        ("anomaly", "anomaly"),
        ("candidate", "generated"),
        ("test_normal", "test_normal"),
        ("test_anomaly", "test_anomaly"),
    }


@pytest.mark.parametrize("role", ["anomaly", "test_anomaly"])
def test_real_anomalies_are_of_every_type_alike(role: str) -> None:
    types = Counter(e.metadata["defect_type"] for e in ENTRIES.values() if e.role == role)
    assert set(types) == set(DEFECTS)
    assert len(set(types.values())) == 1


def test_candidates_have_complete_metadata() -> None:
    for entry in CANDIDATES:
        assert set(entry.metadata) == {"generator", "defect_type", "prompt", "source", "truth"}
        assert all(entry.metadata.values())
        assert entry.metadata["generator"] == entry.name.split("/")[1]
        assert entry.metadata["defect_type"] in DEFECTS
        assert ENTRIES[entry.metadata["source"]].role == "normal"
        assert entry.metadata["truth"] in CATEGORIES
        assert {metadata_key(key) for key in entry.metadata} == set(entry.metadata) - {"truth"} | {
            None
        }


def test_generators_have_their_habits() -> None:
    found = Counter((e.metadata["generator"], e.metadata["truth"]) for e in CANDIDATES)
    assert {generator for generator, _ in found} == set(GENERATORS)
    assert [truth for name, truth in found if name == "careful-inpaint"] == ["realistic"]
    assert [truth for name, truth in found if name == "timid-inpaint"] == ["indistinguishable"]
    assert [truth for name, truth in found if name == "wild-dream"] == ["unrealistic"]
    assert {truth for name, truth in found if name == "cut-and-paste"} == set(CATEGORIES)


def test_only_the_promised_candidates_repeat_another() -> None:
    strokes = Counter((entry.scene, entry.strokes) for entry in CANDIDATES)
    assert sorted(strokes.values())[-3:] == [1, 2, 2]
    for name, original in REPEATED.items():
        assert ENTRIES[name].strokes == original
        assert ENTRIES[name].metadata == ENTRIES[original].metadata


def test_every_other_candidate_starts_from_a_normal_of_its_own() -> None:
    sources = [e.metadata["source"] for e in CANDIDATES if e.name not in REPEATED]
    assert len(set(sources)) == len(sources)


def test_another_seed_gives_the_same_names_and_other_sources() -> None:
    other = catalogue(1)
    assert [entry.name for entry in other] == list(ENTRIES)
    assert [e.scene for e in other if e.role == "candidate"] != [e.scene for e in CANDIDATES]
