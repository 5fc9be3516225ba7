"""Files that a spreadsheet cannot be tricked with, written whole or not at all."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.base.files import csv_text, neutralise, restore_text, write_frame


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'=1"])
def test_formulas_become_text(text: str) -> None:
    assert neutralise(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "1-1", "it's", "'quoted'", "5.5"])
def test_other_text_is_left_alone(text: str) -> None:
    assert neutralise(text) == text


@given(st.text())
def test_neutral_text_can_be_taken_back(text: str) -> None:
    assert restore_text(neutralise(text)) == text


def test_numbers_keep_their_sign_and_all_their_digits(tmp_path: Path) -> None:
    values = np.array([-5.5, 0.1 + 0.2, 1e-300, -0.0])
    frame = pd.DataFrame({"id": ["-1", "b", "c", "d"], "=x": values})
    path = tmp_path / "out.csv"
    write_frame(frame, path)
    assert path.read_text().startswith("id,'=x\n'-1,-5.5\n")
    back = pd.read_csv(path, dtype={"id": str})
    np.testing.assert_array_equal(back["'=x"], values)


def test_parquet_is_left_as_it_is(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["=1"], "eap": [0.5]})
    write_frame(frame, tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), frame)


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["a"]})
    with pytest.raises(DataError, match=r"must end in \.csv or \.parquet"):
        write_frame(frame, tmp_path / "out.xlsx")
    with pytest.raises(DataError, match="no such folder"):
        write_frame(frame, tmp_path / "nowhere" / "out.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="a folder itself"):
        write_frame(frame, tmp_path / "folder.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_text_columns_of_any_kind_are_neutral() -> None:
    frame = pd.DataFrame({"a": pd.Series(["=1", None], dtype=object), "b": ["+1", "x"]})
    assert csv_text(frame).splitlines()[1] == "'=1,'+1"


def test_a_carriage_return_stays_within_its_cell() -> None:
    frame = pd.DataFrame({"id": ["a\rb", "c"], "x": [0.5, -1.0]})
    back = pd.read_csv(io.StringIO(csv_text(frame), newline=""))
    pd.testing.assert_frame_equal(back, frame)


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\r\nb", '"\r'])
def test_a_line_break_stays_within_the_name_of_its_column(name: str) -> None:
    frame = pd.DataFrame({name: ["x", "y"], "z": [0.5, -1.0]})
    header, *rows = csv.reader(io.StringIO(csv_text(frame), newline=""))
    assert header == [name, "z"]
    assert [len(row) for row in rows] == [2, 2]
