"""What can be computed again is kept whole, or counts as absent."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from eap_core.base.errors import DataError
from eap_core.base.files import FeatureCache, key_of
from eap_core.store import cleanup, projects
from eap_core.store.cleanup import empty_bin
from eap_core.store.store import Store

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3), "none": np.zeros((0, 2))}


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.npz"
    assert cleanup.read_arrays(path) is None
    cleanup.keep_arrays(path, ARRAYS)
    found = cleanup.read_arrays(path)
    assert found is not None
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].tolist()) == (array.dtype, array.tolist())
        assert not found[name].flags.writeable
    assert [each.name for each in path.parent.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("place", [0.02, 0.2, 0.4, 0.6, 0.8, 0.99])
def test_damage_counts_as_absence(tmp_path: Path, place: float) -> None:
    path = tmp_path / "x.npz"
    cleanup.keep_arrays(path, ARRAYS)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(place * len(whole))])
    assert cleanup.read_arrays(path) is None
    data = bytearray(whole)
    at = whole.index(np.float64(4.0).tobytes())
    data[at + 6] ^= 1
    path.write_bytes(data)
    assert cleanup.read_arrays(path) is None
    path.write_bytes(b"")
    assert cleanup.read_arrays(path) is None


def test_no_flipped_bit_is_believed_or_raises(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    cleanup.keep_arrays(path, ARRAYS)
    whole = path.read_bytes()
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 1 << (at % 8)
        path.write_bytes(data)
        found = cleanup.read_arrays(path)
        if found is not None:  # a date or an attribute, which says nothing of the arrays
            assert {name: array.tolist() for name, array in found.items()} == {
                name: array.tolist() for name, array in ARRAYS.items()
            }


def test_arrays_of_another_origin_are_not_believed(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", a=np.arange(3))
    assert cleanup.read_arrays(tmp_path / "bare.npz") is None
    odd = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "pickled.npz", a=odd, sha256=np.zeros(32, dtype=np.uint8))
    assert cleanup.read_arrays(tmp_path / "pickled.npz") is None


def test_nothing_that_could_not_be_read_again_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        cleanup.keep_arrays(tmp_path / "x.npz", {"a": np.array([{}], dtype=object)})
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="a file is there where a folder is needed"):
        cleanup.keep_arrays(tmp_path / "file" / "x.npz", ARRAYS)


def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    for name in ("../../x", "a/b", "", "..", "x" * 5000, "*"):
        path = cleanup.insight_file(tmp_path, name)
        assert path.parent == tmp_path / "cache" / "runs"
        assert len(path.name) < 90
        assert cleanup.map_file(tmp_path, name, "pca").parent == tmp_path / "cache" / "maps"


def test_the_files_of_a_run_are_its_own(tmp_path: Path) -> None:
    for name in ("pca-1", "umap-0-1"):
        cleanup.keep_arrays(cleanup.map_file(tmp_path, "abc", name), ARRAYS)
    cleanup.keep_arrays(cleanup.map_file(tmp_path, "abcd", "pca-1"), ARRAYS)
    found = {
        f"{path.parent.name}/{path.name}" for path in cleanup.files_of_run(tmp_path, "r", "abc")
    }
    own = {"runs/r.npz", "rehearsals/r.npz"}
    assert found == own | {"maps/abc-pca-1.npz", "maps/abc-umap-0-1.npz"}


def features(home: Path, days_ago: dict[str, float]) -> FeatureCache:
    """Entries that were last used so many days ago."""
    cache = FeatureCache(home / "cache" / "features")
    for name, days in days_ago.items():
        cache.store(key_of(name), (ARRAYS["a"],))
        (made,) = cache.folder.rglob(f"{key_of(name)[2:]}.bin")
        os.utime(made, (time.time() - days * 86_400,) * 2)
    return cache


def test_emptying_the_bin_forgets_features_that_were_not_used_for_long(
    store: Store, project: str
) -> None:
    cache = features(store.home, {"old": 100, "used again": 100, "new": 80})
    assert cache.load(key_of("used again")) is not None
    projects.to_bin(store, project)
    empty_bin(store, project)
    known = {name: cache.load(key_of(name)) is not None for name in ("old", "used again", "new")}
    assert known == {"old": False, "used again": True, "new": True}


def test_of_too_many_features_those_used_last_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = features(tmp_path, {"c": 3, "a": 1, "d": 4, "b": 2})
    size = next(cache.folder.rglob("*.bin")).stat().st_size
    monkeypatch.setattr(cleanup, "FEATURES_BYTES", 2 * size)
    cleanup.forget_features(tmp_path)
    assert [name for name in "abcd" if cache.load(key_of(name)) is not None] == ["a", "b"]
    cleanup.forget_features(tmp_path / "nowhere")


def test_features_that_are_being_written_are_left_alone(tmp_path: Path) -> None:
    cache = features(tmp_path, {"old": 100})
    (made,) = cache.folder.rglob("*.bin")
    writing = made.with_name("tmp123.part")
    writing.write_bytes(b"half")
    os.utime(writing, (0, 0))
    cleanup.forget_features(tmp_path)
    assert (made.exists(), writing.exists()) == (False, True)
