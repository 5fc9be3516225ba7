"""How a text is taken apart: encoding, delimiter, quotes, header, lines."""

from __future__ import annotations

import numpy as np
import pytest

from eap_core.readers import csv, files, read_table
from tests.eap_core.readers.conftest import Refuse, Write

NUMBERS = np.array([[1.5, 2.0], [3.25, 4.0]])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(write: Write, delimiter: str, end: str) -> None:
    lines = [("a", "b"), ("1.5", "2"), ("3.25", "4")]
    table = read_table(write(end.join(delimiter.join(line) for line in lines) + end))
    assert table.columns == ("a", "b")
    np.testing.assert_array_equal(table.values, NUMBERS)
    said = [note for note in table.notes if "between columns" in note]
    assert len(said) == (delimiter != ",")


def test_the_choice_is_stated(write: Write) -> None:
    table = read_table(write("a;b\n0,5;1\n1,25;2\n"))
    assert table.notes == ("t.csv: read with ';' between columns and ',' as decimal mark",)
    assert table.values[:, 0].tolist() == [0.5, 1.25]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(write: Write, encoding: str) -> None:
    table = read_table(write("Größe,Maß\n1.5,2\n3.25,4\n".encode(encoding)))
    assert table.columns == ("Größe", "Maß")
    assert len(table.notes) == (encoding in ("utf-16", "cp1252"))


def test_utf16_of_either_order(write: Write) -> None:
    for bom, order in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        table = read_table(write(bom + "é,b\n1,2\n".encode(order)))
        assert table.columns == ("é", "b")


@pytest.mark.parametrize(
    "junk", [b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d", b"x\x80y", b"\xff\xfe"]
)
def test_bytes_that_are_no_text(refusal: Refuse, junk: bytes) -> None:
    assert "line 3, column 'b'" in refusal(b"a,b\n1,x\n2," + junk + b"\n")


def test_broken_utf8_is_not_taken_for_windows(refusal: Refuse) -> None:
    text = "a,naïve\n1,café\n2,".encode() + b"caf\xe9\n"
    assert "line 3, column 'naïve'" in refusal(text)


def test_broken_utf16(refusal: Refuse) -> None:
    assert "line 3" in refusal("a,b\n1,2\n".encode("utf-16") + b"\x00\xd8\x31\x00")


def test_nul(refusal: Refuse) -> None:
    assert "line 2, column 'b'" in refusal(b"a,b\n1,\x002\n")


def test_quoted_newlines_count_as_lines(refusal: Refuse) -> None:
    text = 'note,b\n"one\ntwo ""and"" three",1\n"x, y",oops\nz,3\n"w",4\n'
    assert "line 4, column 'b'" in refusal(text)


def test_quoted_values(write: Write) -> None:
    table = read_table(write('"a,1",note\n1,"say ""hi"",\r\nthere"\n"2",plain "quote"\n'))
    assert table.columns == ("a,1",)
    assert table.extras == {"note": ('say "hi",\r\nthere', 'plain "quote"')}


def test_unclosed_quote(refusal: Refuse) -> None:
    assert "line 3" in refusal('a,b\n1,x\n2,"y\n3,z\n')


def test_text_after_a_closing_quote(refusal: Refuse) -> None:
    assert "line 2, '3,1'" in refusal('a,b\n"12"3,1\n4,5\n')


def test_ragged_lines(refusal: Refuse) -> None:
    message = refusal("a,b\n1,2\n3\n4,5\n6,7,8\n")
    assert "line 3: expected 2 values, saw 1; line 5: expected 2 values, saw 3" in message


def test_one_more_value_in_every_row_shifts_nothing(refusal: Refuse) -> None:
    assert "line 2: expected 2 values, saw 3" in refusal("a,b\n1,2,3\n4,5,6\n")


def test_blank_lines(write: Write) -> None:
    table = read_table(write("a,b\n\n1,2\n  \n3,4\n\n \n"))
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert table.notes == ("t.csv: 2 blank lines passed over, the first is line 2",)
    assert read_table(write("a,b\n1,2\n\n\n")).notes == ()


def test_a_blank_line_in_one_column_is_missing(refusal: Refuse, write: Write) -> None:
    assert "missing value — line 3, column 'a'" in refusal("a\n1\n\n2\n")
    assert len(read_table(write("a\n1\n2\n\n \n"))) == 2


@pytest.mark.parametrize("first", ["1,2,3", "0.5,-1e3,7", "5", "0,1", "1,1"])
def test_a_header_is_needed(refusal: Refuse, first: str) -> None:
    assert "a header is needed" in refusal(f"{first}\n{first}\n")


def test_the_names_pandas_makes_up_are_a_header(write: Write) -> None:
    table = read_table(write("0,1,2\n5,6,7\n"))
    assert table.columns == ("0", "1", "2")
    assert "read as column names" in table.warnings[0]


def test_a_row_that_may_be_the_header(write: Write) -> None:
    assert "is the header missing?" in read_table(write("x,0.5,7\ny,1,2\n")).warnings[0]


def test_names_are_unique_and_present(refusal: Refuse) -> None:
    assert "'a' occurs more than once" in refusal("a,b,a\n1,2,3\n")
    assert "column 1 has no name" in refusal(",b\n1,2\n")
    assert "column 3 has no name" in refusal("a,b, \n1,2,3\n")


def test_a_value_may_be_longer_than_the_csv_module_allows(write: Write) -> None:
    table = read_table(write(f'a,note\n1,"{"x" * 200_000}"\n2,y\n'))
    assert "200,000 characters" in table.warnings[0]
    assert len(table.extras["note"][0]) == 200_000


def test_limits(refusal: Refuse, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 3)
    assert len(read_table(write("a,b\n1,2\n1,2\n1,2\n"))) == 3
    assert "4 rows; limit is 3" in refusal("a,b\n1,2\n1,2\n1,2\n1,2\n")
    monkeypatch.setattr(files, "MAX_CELLS", 5)
    assert "3 rows × 2 columns; limit is 5" in refusal("a,b\n1,2\n1,2\n1,2\n")


def test_no_line_is_skipped_where_pyarrow_gives_up(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{i},{'x' * 50}\n" for i in range(500))
    monkeypatch.setattr(csv, "_BLOCK", 40)
    assert read_table(write("a,b\n" + rows)).values[:, 0].tolist() == list(range(500))


def test_names_and_values_never_fill_the_screen(refusal: Refuse) -> None:
    assert len(refusal(f"{'n' * 5_000},b\n1,2\n")) < 300
    assert len(refusal(f"a,b\n1,2\n3,{'x' * 5_000}\n")) < 300
