"""What is kept comes back as it was, or not at all."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.base.files import CheckedFile, FeatureCache, key_of
from tools.make_demo import pack

ARRAYS = (np.arange(6, dtype=np.float32).reshape(2, 3), np.array(True), np.array(["a", "bc"]))


def only_file(folder: Path) -> Path:
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    return file


def test_arrays_come_back_with_shape_and_type(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "new")
    cache.store(key_of("a"), ARRAYS)
    found = cache.load(key_of("a"))
    assert found is not None
    for array, expected in zip(found, ARRAYS, strict=True):
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)
    assert cache.load(key_of("b")) is None


def test_entries_are_spread_over_folders(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    for i in range(50):
        cache.store(key_of(str(i)), ARRAYS)
    assert len(list(tmp_path.iterdir())) > 20
    assert len(list(tmp_path.rglob("*.bin"))) == 50


def test_the_entries_of_another_cache_are_taken_over(tmp_path: Path) -> None:
    there, here = FeatureCache(tmp_path / "there"), FeatureCache(tmp_path / "here")
    there.store(key_of("a"), ARRAYS)
    pack(there.folder, tmp_path / "entries.zip", zipfile.ZIP_DEFLATED)
    here.store(key_of("b"), ARRAYS[:1])
    here.store(key_of("a"), ARRAYS)
    only_file(here.folder / key_of("a")[:2]).write_bytes(b"damaged")
    here.adopt(tmp_path / "entries.zip")
    for key, count in (("a", 3), ("b", 1)):
        found = here.load(key_of(key))
        assert found is not None
        assert len(found) == count


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_damage_counts_as_absent(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cache = FeatureCache(tmp_path_factory.mktemp("cache"))
    cache.store(key_of("a"), ARRAYS)
    file = only_file(cache.folder)
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    file.write_bytes(data.draw(st.sampled_from([whole[:at], flipped, whole + b"more"])))
    assert cache.load(key_of("a")) is None
    cache.store(key_of("a"), ARRAYS)
    assert cache.load(key_of("a")) is not None


def test_parts_of_a_key_cannot_run_into_each_other() -> None:
    keys = {key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of("", "abc")}
    assert len(keys) == 4


WRITE_OFTEN = """
import sys
from pathlib import Path
import numpy as np
from eap_core.base.files import FeatureCache, key_of
for _ in range(200):
    FeatureCache(Path(sys.argv[1])).store(key_of("shared"), (np.full(2000, int(sys.argv[2])),))
"""


def test_writers_and_readers_at_once_see_whole_entries_only(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_OFTEN, str(tmp_path), str(i)]) for i in (1, 2)
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        found = FeatureCache(tmp_path).load(key_of("shared"))
        if found is not None:
            values = set(found[0].tolist())
            assert len(values) == 1
            seen |= values
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {1, 2}
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".bin"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"cannot be kept in 'file' .* — check"):
        FeatureCache(tmp_path / "file").store(key_of("a"), ARRAYS)


def test_json_comes_back_or_counts_as_absent(tmp_path: Path) -> None:
    file, value = CheckedFile(tmp_path / "new" / "x.npz"), [{"a": "é"}, 1.5, None]
    assert file.load_json() is None
    file.keep_json(value)
    assert file.load_json() == value
    whole = file.path.read_bytes()
    file.path.write_bytes(whole.replace(b"1.5", b"7.5"))
    assert file.load_json() is None
    file.keep({"a": ARRAYS[0]})
    assert file.load_json() is None
