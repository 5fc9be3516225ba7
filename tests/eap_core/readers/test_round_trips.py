"""What is written in any dialect is read back bit for bit, and both splitters see the same."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.base.table import Table
from eap_core.readers import read_table
from eap_core.readers.csv import (
    CsvLayout,
    find_dialect,
    number_lines,
    read_rows,
    split_exact,
    split_fast,
)
from eap_core.readers.files import Reading, ReadNotes

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(st.sampled_from('abÄé ,;|"\n\t=@名'), max_size=8).map(lambda text: f"w{text}")
settings.register_profile(
    "files", settings(), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


Rows = list[tuple[str, float, float]]
ROWS = st.lists(
    st.tuples(WORDS, FINITE, FINITE), min_size=1, max_size=12, unique_by=lambda row: row[0]
)


@dataclass(frozen=True)
class Dialect:
    """One way to write a table as text."""

    delimiter: str
    mark: Literal[".", ","]
    end: str
    encoding: str
    quoting: Literal[0, 1]
    grouped: bool
    header: bool

    def number(self, value: float) -> str:
        text = repr(value)
        if self.grouped and "e" not in text and "." in text:
            whole, part = text.split(".")
            text = f"{int(whole):,}.{part}" if abs(int(whole)) >= 1_000 else text
        return text if self.mark == "." else text.translate(str.maketrans(",.", ".,"))

    def write(self, path: Path, rows: Rows) -> None:
        text = io.StringIO()
        writer = csv.writer(
            text, delimiter=self.delimiter, lineterminator=self.end, quoting=self.quoting
        )
        if self.header:
            writer.writerow(["id", "a", "b"])
        for word, *numbers in rows:
            writer.writerow([word, *map(self.number, numbers)])
        path.write_bytes(text.getvalue().encode(self.encoding))


@st.composite
def dialects(
    draw: st.DrawFn, delimiters: str, encodings: list[str], headers: list[bool]
) -> Dialect:
    delimiter = draw(st.sampled_from(delimiters))
    return Dialect(
        delimiter=delimiter,
        mark=draw(st.sampled_from(".," if delimiter != "," else ".")),
        end=draw(st.sampled_from(["\n", "\r\n"])),
        encoding=draw(st.sampled_from(encodings)),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        grouped=draw(st.booleans()),
        header=draw(st.sampled_from(headers)),
    )


def same(table: Table, rows: Rows) -> bool:
    numbers = [[repr(float(n)) for n in row] for row in table.values]
    return table.ids == tuple(word for word, _, _ in rows) and numbers == [
        [repr(n) for n in row[1:]] for row in rows
    ]


@settings(settings.get_profile("files"), max_examples=150)
@given(ROWS, dialects(",;\t|", ["utf-8", "utf-8-sig", "utf-16"], [True]))
def test_any_dialect_is_found(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, dialect: Dialect
) -> None:
    # One value that proves the mark: without it 1,234 alone is rightly refused.
    rows = [("proof", 0.5, 0.5), *rows]
    path = tmp_path_factory.getbasetemp() / "found.csv"
    dialect.write(path, rows)
    assert same(read_table(path, Reading(id_column="id")), rows)


@settings(settings.get_profile("files"), max_examples=150)
@given(
    ROWS,
    dialects(",;\t|:~ ", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "gb18030"], [True, False]),
)
def test_any_dialect_can_be_stated(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, dialect: Dialect
) -> None:
    path = tmp_path_factory.getbasetemp() / "stated.csv"
    dialect.write(path, rows)
    reading = Reading(
        id_column="id" if dialect.header else "f0",
        encoding=dialect.encoding,
        delimiter=dialect.delimiter,
        decimal=dialect.mark,
        header=dialect.header,
    )
    assert same(read_table(path, reading), rows)


PIECES = [
    "1",
    "2.5",
    "x",
    "é",
    ",",
    ",",
    ",",
    "\n",
    "\n",
    "\r\n",
    "\r",
    '"',
    '""',
    '"a,b"',
    " ",
    "\t",
]


@settings(max_examples=1_500)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_both_splitters_see_the_same(text: str) -> None:
    for header in (("h0",), ("h0", "h1")):
        data = f"{','.join(header)}\n{text}".encode()
        layout = CsvLayout("t.csv", ",", header)
        fast = split_fast(data, layout)
        if fast is None:
            continue  # the exact splitter decides alone
        exact = split_exact(data, layout, ReadNotes("t.csv"))
        assert [column.to_pylist() for column in fast] == [column.to_pylist() for column in exact]
        unnamed = split_fast(data, layout._replace(named=False))
        if unnamed is not None:
            assert [[name, *c.to_pylist()] for name, c in zip(header, exact, strict=True)] == [
                column.to_pylist() for column in unnamed
            ]


def test_the_fast_splitter_takes_what_is_regular() -> None:
    layout = CsvLayout("t.csv", ",", ("a", "b"))
    for text in (b"a,b\n1,2\n", b"a,b\r\n1,2", b"a,b\r1,2\r", b'a,b\n"x\n""y",2\n"",""""\n\n'):
        assert split_fast(text, layout) is not None
    for text in (b"a,b\n\n1,2\n", b"a,b\n1\n", b'a,b\n"1,2\n', b'a,b\n"1"2,3\n', b"a,b\n1\r,2\n"):
        assert split_fast(text, layout) is None
    assert split_fast(b"a,b\n1,2\n", CsvLayout("t.csv", ",", ("a", "c"))) is None


@given(st.lists(st.text("ab\n", max_size=4), min_size=1, max_size=20), st.data())
def test_lines_of_rows(cells: list[str], data: st.DataObject) -> None:
    lines, text = [], "h0,h1\n"
    for cell in cells:
        lines.append(text.count("\n") + 1)
        text += f'"{cell}",1\n'
    wanted = data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=1, max_size=4))
    layout = CsvLayout("t.csv", ",", ("h0", "h1"))
    assert number_lines(text.encode(), layout, wanted) == [lines[row] for row in wanted]
    assert [record.line for record in read_rows(text.encode(), layout)] == lines


@given(st.text(max_size=60))
def test_any_text_is_divided_or_refused(text: str) -> None:
    try:
        delimiter, header = find_dialect(text.encode(errors="ignore"), "t.csv")
    except DataError:
        return
    assert delimiter in ",;\t|"
    assert header


def test_a_large_table_agrees_with_numpy(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(3_000, 20)) * 10.0 ** np.arange(-10, 10)
    lines = [",".join(f"f{j}" for j in range(20))]
    lines += [",".join(repr(float(n)) for n in row) for row in values]
    path = tmp_path / "large.csv"
    path.write_text("\n".join(lines))
    np.testing.assert_array_equal(read_table(path).values, values)
