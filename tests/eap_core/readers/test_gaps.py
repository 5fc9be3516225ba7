"""Missing values: refused, dropped with their rows, or left open, and never silently."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.base.table import MISSING_WORDS
from eap_core.readers import read_table
from eap_core.readers.files import Reading
from tests.eap_core.readers.conftest import Refuse, Write

TEXT = "id,a,b,kind,label\nx,1,,red,0\nNA,2,5,,1\n-,NA,6,blue,0\n?,4,7,red,1\n"


def test_rows_with_gaps_are_dropped_and_named(write: Write) -> None:
    table = read_table(write(TEXT), Reading(missing="drop"))
    assert table.ids == ("NA", "?")
    assert table.values.tolist() == [[2, 5], [4, 7]]
    assert table.labels is not None
    assert table.labels.tolist() == [1, 1]
    assert table.extras == {"kind": ("", "red")}
    assert table.warnings == (
        "t.csv: 2 of 4 rows are dropped because a value is missing — line 2, line 4",
    )
    assert not table.values.flags.writeable
    assert not table.labels.flags.writeable


def test_gaps_are_left_open_for_the_median(write: Write) -> None:
    table = read_table(write(TEXT), Reading(missing="median"))
    np.testing.assert_array_equal(table.values, [[1, np.nan], [2, 5], [np.nan, 6], [4, 7]])
    assert "t.csv: values are missing: 'a' 1, 'b' 1 — to be filled with a median" in table.notes
    assert table.missing == "median"


def test_made_ids_count_the_rows_of_the_file(write: Write) -> None:
    table = read_table(write("a,b\n1,\n2,3\n"), Reading(missing="drop"))
    assert table.ids == ("t:2",)


def test_nothing_is_left(refusal: Refuse) -> None:
    message = refusal("a,b\n1,\n,2\n", missing="drop")
    assert "every row misses a value" in message


def test_booleans_and_commas_may_have_gaps(write: Write) -> None:
    text = "a;flag;c\n0,5;yes;1.234,5\n;NA;2\n1,5;no;-\n"
    table = read_table(write(text), Reading(missing="median"))
    np.testing.assert_array_equal(
        table.values, [[0.5, 1, 1234.5], [np.nan, np.nan, 2], [1.5, 0, np.nan]]
    )


def test_gaps_hide_no_second_decimal_mark(refusal: Refuse) -> None:
    assert "uses two decimal marks" in refusal("a;b\n1,5;\n2;0.5\n", missing="median")


def test_a_column_of_gaps(write: Write, refusal: Refuse) -> None:
    text = "a,b\n1,\n2,NA\n"
    assert "missing value, one of 2 in 'b' — line 2" in refusal(text)
    table = read_table(write(text), Reading(missing="median"))
    assert np.isnan(table.values[:, 1]).all()


def test_mistakes_are_no_gaps(refusal: Refuse) -> None:
    for missing in ("drop", "median"):
        message = refusal("a,b\n1,\n2,oops\n3,4\n", missing=missing)
        assert "'oops' is not a number — line 3" in message


def test_typed_files(write: Write, refusal: Refuse) -> None:
    buffer = io.BytesIO()
    columns = {
        "a": pa.array([1, None, 3]),
        "b": pa.array([0.5, 2.5, np.nan]),
        "f": pa.array([True, None, False]),
    }
    pq.write_table(pa.table(columns), buffer)
    assert "one of 3 in 'a', 'b', 'f' — row 2, column 'a'" in refusal(
        buffer.getvalue(), "t.parquet"
    )
    path = write(buffer.getvalue(), "t.parquet")
    np.testing.assert_array_equal(
        read_table(path, Reading(missing="median")).values,
        [[1, 0.5, 1], [np.nan, 2.5, np.nan], [3, np.nan, 0]],
    )
    assert read_table(path, Reading(missing="drop")).ids == ("t:1",)
    array = io.BytesIO()
    np.save(array, np.array([[1, np.nan], [2, 3]]))
    table = read_table(write(array.getvalue(), "t.npy"), Reading(missing="drop"))
    assert table.values.tolist() == [[2, 3]]


CELLS = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.integers(-99, 99).map(str),
    st.sampled_from([word.upper() for word in MISSING_WORDS] + [*MISSING_WORDS]),
)


def slowly(rows: list[list[str]], missing: str) -> list[list[float]]:
    """What the readers do, in plain Python."""
    values = [
        [float("nan") if c.strip().lower() in MISSING_WORDS else float(c) for c in row]
        for row in rows
    ]
    return [row for row in values if missing == "median" or not any(v != v for v in row)]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12),
    st.sampled_from(["drop", "median"]),
)
def test_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], missing: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "gaps.csv"
    text = io.StringIO()
    csv.writer(text).writerows([["a", "b", "c"], *rows])
    path.write_text(text.getvalue())
    expected = slowly(rows, missing)
    reading = Reading(missing=missing, delimiter=",", decimal=".")  # type: ignore[arg-type]
    if not expected:
        with pytest.raises(DataError, match="every row misses a value"):
            read_table(path, reading)
        return
    np.testing.assert_array_equal(read_table(path, reading).values, expected)
