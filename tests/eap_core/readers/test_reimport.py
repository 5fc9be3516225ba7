"""What an export made harmless for spreadsheets is read as it was; foreign quotes stay."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eap_core.base.files import write_frame
from eap_core.readers import read_table
from eap_core.readers.files import Reading
from tests.bad_files import bad_file
from tests.eap_core.readers.conftest import Write

TRICKY = st.text(st.sampled_from("=+-@'\t＝ab ,;\"\n5.é"), max_size=6)
NAMES = TRICKY.map(lambda text: f"{text}z")
FILES = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FILES
@given(
    st.lists(st.tuples(NAMES, TRICKY, TRICKY), min_size=1, max_size=6, unique_by=lambda r: r[0]),
    st.tuples(NAMES, NAMES).filter(lambda names: len({"id", "a", *names}) == 4),
)
def test_what_is_exported_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str]],
    names: tuple[str, str],
) -> None:
    ids, *columns = zip(*rows, strict=True)
    frame = pd.DataFrame({"id": list(ids), "a": [-float(i) for i in range(len(rows))]})
    for name, cells in zip(names, columns, strict=True):
        frame[name] = pd.Series(list(cells), dtype=object)
    path = tmp_path_factory.getbasetemp() / "export.csv"
    write_frame(frame, path)
    table = read_table(path, Reading(id_column="id", metadata=names))
    assert table.ids == ids
    assert table.columns == ("a",)
    assert table.values[:, 0].tolist() == frame["a"].tolist()
    assert table.extras == dict(zip(names, columns, strict=True))


def test_the_change_is_said(write: Write) -> None:
    table = read_table(write("a,'=n,note\n1,'=1+1,'+x\n2,'-3,y\n"), Reading(metadata=("=n",)))
    assert table.extras == {"=n": ("=1+1", "-3"), "note": ("+x", "y")}
    assert any("taken off in '=n', 'note'" in note for note in table.notes)
    assert any("taken off column names" in note for note in table.notes)


def test_a_bare_formula_shows_that_quotes_are_the_writers_own(write: Write) -> None:
    table = read_table(write("a,n,m\n1,'=1+1,'+x\n2,=2,y\n"))
    assert table.extras == {"n": ("'=1+1", "=2"), "m": ("+x", "y")}
    assert read_table(write("'=a,=b\n1,2\n3,4\n")).columns == ("'=a", "=b")


@pytest.mark.parametrize("cell", ["'quoted'", "it's", "'", "'n' roll", "''"])
def test_other_quotes_stay(write: Write, cell: str) -> None:
    assert read_table(write(f"a,n\n1,{cell}\n2,x\n")).extras == {"n": (cell, "x")}


def test_numbers_are_never_taken_from_behind_a_quote(write: Write) -> None:
    table = read_table(write("a,n\n1,'-5\n2,'-6\n"))
    assert table.columns == ("a",)
    assert table.extras == {"n": ("-5", "-6")}


def test_made_ids_are_left_alone(write: Write) -> None:
    assert read_table(write("a,b\n1,2\n", "'=x.csv")).ids == ("'=x:1",)


def test_the_collection_of_formulas(tmp_path: Path) -> None:
    table = read_table(bad_file("inj_csv_formula.csv"))
    frame = pd.DataFrame({"id": list(table.ids), **{n: list(c) for n, c in table.extras.items()}})
    for j, name in enumerate(table.columns):
        frame[name] = table.values[:, j]
    write_frame(frame, tmp_path / "again.csv")
    again = read_table(tmp_path / "again.csv", Reading(metadata=tuple(table.extras)))
    assert again.ids == table.ids
    assert again.extras == table.extras
    assert again.values.tolist() == table.values.tolist()
