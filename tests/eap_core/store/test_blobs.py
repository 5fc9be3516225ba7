"""Files are stored whole, by content, and never read altered."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eap_core.base.errors import DataError
from eap_core.base.files import whole_file
from eap_core.store import Blobs, explain_disk_errors

DATA = b"the same bytes" * 1000
HASH = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "files")


def test_what_is_put_is_read_by_its_hash(blobs: Blobs) -> None:
    assert blobs.put(DATA) == HASH
    assert blobs.has(HASH)
    assert blobs.read(HASH) == DATA
    assert blobs.verified(HASH).read_bytes() == DATA


def test_a_file_is_stored_as_its_bytes_are(blobs: Blobs, tmp_path: Path) -> None:
    source = tmp_path / "big.bin"
    source.write_bytes(DATA * 300)
    sha256 = blobs.put_file(source)
    assert sha256 == hashlib.sha256(DATA * 300).hexdigest()
    assert blobs.read(sha256) == DATA * 300


def test_the_same_content_is_stored_once_and_nothing_else_is_left(blobs: Blobs) -> None:
    blobs.put(DATA)
    blobs.put(DATA)
    assert [path.name for path in blobs.folder.rglob("*") if path.is_file()] == [HASH]


def test_a_flipped_bit_is_not_read(blobs: Blobs) -> None:
    blobs.put(DATA)
    path = blobs.path(HASH)
    path.write_bytes(bytes([DATA[0] ^ 1]) + DATA[1:])
    with pytest.raises(DataError, match="was altered on the disk"):
        blobs.read(HASH)
    with pytest.raises(DataError, match="was altered on the disk"):
        blobs.verified(HASH)


def test_putting_again_heals_an_altered_file(blobs: Blobs) -> None:
    blobs.put(DATA)
    blobs.path(HASH).write_bytes(b"rotten")
    blobs.put(DATA)
    assert blobs.read(HASH) == DATA


def test_a_missing_file_is_named(blobs: Blobs) -> None:
    with pytest.raises(DataError, match=f"{HASH[:12]}… is missing"):
        blobs.read(HASH)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "", HASH.upper(), HASH[:-1], HASH + "/", f"{HASH}\n"]
)
def test_only_a_hash_is_a_name(blobs: Blobs, name: str) -> None:
    for use in (blobs.path, blobs.thumbnail_path, blobs.has, blobs.read, blobs.remove):
        with pytest.raises(DataError, match="is no SHA-256"):
            use(name)


def test_pieces_with_another_hash_are_not_kept(blobs: Blobs) -> None:
    with pytest.raises(DataError, match="does not match its hash"):
        blobs.put_pieces([b"other"], HASH)
    assert not [path for path in blobs.folder.rglob("*") if path.is_file()]


def test_a_thumbnail_goes_with_its_original(blobs: Blobs) -> None:
    blobs.put(DATA)
    blobs.put_thumbnail(HASH, b"small")
    assert blobs.thumbnail_path(HASH).read_bytes() == b"small"
    blobs.remove(HASH)
    assert not blobs.has(HASH)
    assert not blobs.thumbnail_path(HASH).exists()


def test_a_failed_write_leaves_the_earlier_thumbnail(blobs: Blobs) -> None:
    blobs.put_thumbnail(HASH, b"small")
    with pytest.raises(TypeError):
        blobs.put_thumbnail(HASH, "no bytes")  # type: ignore[arg-type]
    assert blobs.thumbnail_path(HASH).read_bytes() == b"small"
    assert len(list(blobs.thumbnail_path(HASH).parent.iterdir())) == 1


UMASK = """
import os, sys
from pathlib import Path
from eap_core.base.files import whole_file
from eap_core.store import Blobs

os.umask(int(sys.argv[2], 8))
folder = Path(sys.argv[1])
blobs = Blobs(folder)
kept = blobs.path(blobs.put(b"x"))
with whole_file(folder / "b.zip") as file:
    file.write(b"x")
print(*(oct(path.stat().st_mode & 0o777) for path in (kept, folder / "b.zip")))
"""


@pytest.mark.skipif(os.name == "nt", reason="about the umask")
@pytest.mark.parametrize(("umask", "mode"), [("077", "0o600"), ("022", "0o644"), ("002", "0o664")])
def test_files_have_the_rights_that_the_umask_leaves(tmp_path: Path, umask: str, mode: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UMASK, str(tmp_path), umask],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.split() == [mode, mode], done.stderr


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "b.zip").mkdir()
    refused = pytest.raises(DataError, match="not saved: a folder is there, not a file")
    with refused, explain_disk_errors(), whole_file(tmp_path / "b.zip"):
        pytest.fail("the work was begun")
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]
