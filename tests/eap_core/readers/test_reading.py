"""What the caller states about a text file, and what is said when it cannot be."""

from __future__ import annotations

import pytest

from eap_core.base.errors import SettingsError
from eap_core.readers import read_table
from eap_core.readers.files import Reading
from tests.eap_core.readers.conftest import Refuse, Write


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"delimiter": ";;"}, "a delimiter of ';;' is not possible"),
        ({"delimiter": ""}, "a delimiter of '' is not possible"),
        ({"delimiter": '"'}, "is not possible"),
        ({"delimiter": "x"}, "is not possible"),
        ({"delimiter": "\n"}, "is not possible"),
        ({"delimiter": "é"}, "is not possible"),
        ({"delimiter": ",", "decimal": ","}, "cannot separate the columns and be the decimal mark"),
        ({"decimal": "x"}, "decimal is 'x' — it must be '.' or ','"),
        ({"missing": "mean"}, "missing is 'mean' — it must be 'refuse' or 'drop' or 'median'"),
        ({"encoding": "klingon"}, "the encoding 'klingon' is not known"),
        ({"encoding": "rot13"}, "is not known"),
        ({"encoding": "unicode_escape"}, "is not known"),
        ({"encoding": "\x00"}, "is not known"),
        ({"encoding": ""}, "is not known"),
    ],
)
def test_what_cannot_be_is_refused_at_once(stated: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Reading(**stated)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":", " ", "~", "#", "^"])
def test_any_usual_delimiter(write: Write, delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in (["a", '"b c"'], ["1", "2.5"], ["3", "4"]))
    table = read_table(write(text), Reading(delimiter=delimiter))
    assert table.columns == ("a", "b c")
    assert table.values.tolist() == [[1, 2.5], [3, 4]]


def test_a_delimiter_that_is_not_there(write: Write, refusal: Refuse) -> None:
    message = refusal("a,b\n1,2\n", delimiter=";")
    assert "the stated delimiter ';' is not on the first line, 'a,b' — ',' seems to" in message
    assert read_table(write("a\n1\n2\n"), Reading(delimiter=";")).values.tolist() == [[1], [2]]
    assert "expected 1 value, saw 2" in refusal("a\n1;2\n", delimiter=";")
    assert "contains no data" in refusal("\n \n", delimiter=";")


def test_a_stated_delimiter_beats_the_found_one(write: Write) -> None:
    text = "a;b,c\n1;2,3\n4;5,6\n"
    assert read_table(write(text), Reading(delimiter=",")).columns == ("c",)
    table = read_table(write(text), Reading(delimiter=";", decimal=","))
    assert table.columns == ("a", "b,c")
    assert table.values.tolist() == [[1, 2.3], [4, 5.6]]


def test_a_stated_decimal_mark_settles_what_is_unclear(write: Write, refusal: Refuse) -> None:
    text = "a;b\n1,234;5\n2,345;6\n"
    assert "it is not clear" in refusal(text)
    comma = read_table(write(text), Reading(decimal=","))
    assert comma.values[:, 0].tolist() == [1.234, 2.345]
    point = read_table(write(text), Reading(decimal="."))
    assert point.values[:, 0].tolist() == [1234, 2345]
    assert "'1,234' is 1234" in point.warnings[0]


def test_a_wrong_decimal_mark_is_said(refusal: Refuse) -> None:
    message = refusal("a;b\n0,5;1\n1,25;2\n", decimal=".")
    assert "'0,5' is not a number with '.' as decimal mark (and 1 more in this" in message
    assert "line 2, column 'a'" in message
    assert "state the other decimal mark" in message
    message = refusal("a;b\n7;1\n0.5;2\n", decimal=",")
    assert "'0.5' is not a number with ',' as decimal mark — line 3, column 'a'" in message
    assert "'1.5e3' is not a number with" in refusal("a;b\n1.5e3;1\n1;2\n", decimal=",")


def test_decimal_commas_in_quotes_between_commas(write: Write) -> None:
    text = 'a,b\n"1,5",2\n"2,5",3\n'
    for reading in (Reading(), Reading(decimal=",")):
        table = read_table(write(text), reading)
        assert table.values.tolist() == [[1.5, 2], [2.5, 3]]
        assert "',' separates the columns and is the decimal mark" in table.warnings[0]


def test_a_stated_decimal_mark_does_not_separate(write: Write) -> None:
    text = "kind|width, mm\nred|1,5\nblue|2,5\n"  # either could separate the columns
    assert read_table(write(text)).columns == (" mm",)
    assert read_table(write(text), Reading(decimal=",")).values.tolist() == [[1.5], [2.5]]


def test_without_a_header(write: Write, refusal: Refuse) -> None:
    text = "1,2.5\n3,4\n"
    assert "state that there is none" in refusal(text)
    table = read_table(write(text), Reading(header=False))
    assert table.columns == ("f0", "f1")
    assert table.values.tolist() == [[1, 2.5], [3, 4]]
    assert "the columns are called f0, f1" in table.notes[0]
    table = read_table(write("\n\nx,1,0\n\ny,2,1\n"), Reading(header=False, label="f2"))
    assert table.values.tolist() == [[1], [2]]
    assert table.extras == {"f0": ("x", "y")}
    assert read_table(write("\n1\n2\n"), Reading(header=False)).values.tolist() == [[1], [2]]
    assert "'w' is not a number — line 4" in refusal("1,5\n\n2,6\nw,7\n", header=False)


def test_names_taken_for_data_are_pointed_at(refusal: Refuse) -> None:
    assert "'a' is not a number — line 1" in refusal("a,b\n1,2\n3,4\n", header=False)


def test_numbers_may_be_names(write: Write) -> None:
    table = read_table(write("1,2\n3,4\n"), Reading(header=True))
    assert table.columns == ("1", "2")
    assert table.warnings == ()


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp850"]
)
def test_a_stated_encoding(write: Write, encoding: str) -> None:
    table = read_table(write("Größe,b\n1,2\n".encode(encoding)), Reading(encoding=encoding))
    assert table.columns == ("Größe", "b")
    assert "as stated" in table.notes[0]


def test_a_wrong_encoding_is_said(write: Write, refusal: Refuse) -> None:
    text = "a,Größe\n1,2\n3,ü\n"
    message = refusal(text, encoding="ascii")
    assert "is not written in the stated ascii" in message
    assert "line 1" in message
    assert "bytes that are no text" in refusal(text.encode("cp1252"), encoding="utf-8")
    assert "is not written in the stated utf-16-le" in refusal(b"a,b\n1,2\n0", encoding="utf-16-le")
    message = refusal(text.encode("utf-8-sig"), encoding="cp1252")
    assert "starts with the mark of UTF-8, which is not the stated cp1252" in message
    table = read_table(write("é,b\n1,2\n"), Reading(encoding="cp1252"))
    assert "its bytes are also valid UTF-8" in table.warnings[0]
    assert "NUL" in refusal("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-8")
