"""A file is judged by its first bytes, never by its name alone."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from eap_core.base.errors import DataError
from eap_core.readers import files, read_table
from eap_core.readers.files import Reading
from tests.eap_core.readers.conftest import Refuse, Write


def _zip(member: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, "x")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "looks", "advice"),
    [
        (b"\x89PNG\r\n\x1a\n....", "a PNG image", "use .csv"),
        (b"\xff\xd8\xff\xe0....", "a JPEG image", "use .csv"),
        (b"%PDF-1.7\n", "a PDF document", "use .csv"),
        (b"MZ\x90\x00\x03\x00", "a program", "use .csv"),
        (b"<!DOCTYPE html><p>", "an HTML page", "use .csv"),
        (b"\xef\xbb\xbf\n <html>", "an HTML page", "use .csv"),
        (b"PAR1....PAR1", "a Parquet file", "rename it to .parquet"),
        (b"\x93NUMPY\x01\x00", "a NumPy array", "rename it to .npy"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook", "save it as CSV"),
        (_zip("xl/workbook.xml"), "an Excel workbook", "save it as CSV"),
        (_zip("a.txt"), "a ZIP archive", "use .csv"),
    ],
)
def test_other_kinds_named_csv(refusal: Refuse, content: bytes, looks: str, advice: str) -> None:
    message = refusal(content)
    assert f"looks like {looks}" in message
    assert advice in message


def test_a_column_may_be_called_mz(write: Write) -> None:
    assert read_table(write("MZ,intensity\n1,2\n")).columns == ("MZ", "intensity")


@pytest.mark.parametrize("name", ["t.parquet", "t.npz", "t.npy"])
def test_text_named_otherwise(refusal: Refuse, name: str) -> None:
    assert "is not a" in refusal("a,b\n1,2\n", name)


@pytest.mark.parametrize("name", ["t.pt", "t.pkl", "t.json", "t", "t.csv.exe", "t.zip"])
def test_other_endings_are_not_accepted(refusal: Refuse, name: str) -> None:
    message = refusal("a,b\n1,2\n", name)
    assert "is not accepted" in message
    assert ".csv, .tsv, .txt, .parquet, .npz or .npy" in message


def test_a_workbook_is_told_how_to_become_a_table(refusal: Refuse) -> None:
    assert "save it as CSV" in refusal(_zip("xl/workbook.xml"), "t.xlsx")


@pytest.mark.parametrize("name", ["t.CSV", "t.tsv", "t.txt"])
def test_endings_of_text(write: Write, name: str) -> None:
    assert len(read_table(write("a\tb\n1\t2\n", name))) == 1


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.csv cannot be opened"):
        read_table(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match=r"folder\.csv is a folder"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(DataError, match="cannot be opened"):
        read_table(tmp_path / "nul\x00.csv")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="no regular file"):
        read_table(tmp_path / "pipe.csv")


def test_a_file_that_cannot_be_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a,b\n1,2\n")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(DataError, match=r"t\.csv cannot be read — Permission denied"):
        read_table(path)


def test_the_size_is_looked_at_first(refusal: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 5)
    assert "has 8 bytes; limit is 5" in refusal("a,b\n1,2\n")


def test_an_upload_is_known_by_the_name_the_person_gave_it(tmp_path: Path) -> None:
    stored = tmp_path / "9f86d081884c7d65"
    stored.write_bytes(b"a,b\n1,2\n")
    table = read_table(stored, name="my parts.CSV")
    assert table.source == "my parts.CSV"
    assert table.ids == ("my parts:1",)
    with pytest.raises(DataError, match=r"t\.parquet is not a Parquet file") as caught:
        read_table(stored, name="t.parquet")
    assert "9f86" not in str(caught.value)
    with pytest.raises(DataError, match=r"my\.exe: the type '\.exe' is not accepted"):
        read_table(stored, name="C:/Users/me/my.exe")
    array = io.BytesIO()
    np.save(array, np.eye(2))
    stored.write_bytes(array.getvalue())
    assert read_table(stored, name="m.npy").ids == ("m:1", "m:2")
    with pytest.raises(DataError, match=r"x\.csv looks like a NumPy array"):
        read_table(stored, name="x.csv")


@pytest.mark.parametrize("name", ["", "/", "..", "\x00.csv", "a/b/.csv", "💥.csv", "\ud800.csv"])
def test_odd_names_of_uploads(tmp_path: Path, name: str) -> None:
    stored = tmp_path / "t.csv"
    stored.write_bytes(b"a,b\n1,x\n2,y\n")
    if name.endswith("/.csv") or name in ("/", ".."):
        with pytest.raises(DataError, match="is not accepted"):
            read_table(stored, name=name)
        return
    table = read_table(stored, name=name)
    assert table.source.isprintable()
    assert all(text.isprintable() for text in table.ids)


def test_choices_without_meaning_are_said(write: Write) -> None:
    table = read_table(write("a,b\n1,2\n"), Reading(array="X"))
    assert table.notes == ("t.csv: array was stated and has no meaning for .csv files",)
    array = io.BytesIO()
    np.save(array, np.eye(2))
    table = read_table(write(array.getvalue(), "t.npy"), Reading(delimiter=";", header=False))
    assert "delimiter, header was stated and has no meaning for .npy files" in table.notes[-1]


def test_file_names_are_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a\nb\x1b[31m.csv"
    path.write_text("a,b\n1,2\n")
    table = read_table(path)
    assert table.source == "a\\nb\\x1b[31m.csv"
    assert table.ids == ("a\\nb\\x1b[31m:1",)
