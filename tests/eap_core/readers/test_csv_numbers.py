"""What is a number, and what is said about a cell that is not."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eap_core.readers import read_table
from eap_core.readers.numbers import COMMA, POINT, numbers_in
from tests.eap_core.readers.conftest import Refuse, Write


@pytest.mark.parametrize(
    ("text", "value"),
    [("+1.5", 1.5), (" 2 ", 2), (".5", 0.5), ("3.", 3), ("1E3", 1000), ("-0", 0), ("1e-400", 0)],
)
def test_ways_to_write_a_number(write: Write, text: str, value: float) -> None:
    assert read_table(write(f"a,b\n{text},1\n4,2\n")).values[0, 0] == value


@pytest.mark.parametrize("word", ["", " ", "NA", "nan", "NaN", "null", "None", "-", "N/A"])
def test_missing_values_are_pointed_at(refusal: Refuse, word: str) -> None:
    message = refusal(f"a,b\n1,1\n2,{word}\n3,3\n")
    assert "missing value" in message
    assert "line 3, column 'b'" in message
    assert "set missing to 'drop'" in message


@pytest.mark.parametrize("word", ["inf", "-Infinity", "1e309", "-1e999"])
def test_only_finite_numbers(refusal: Refuse, word: str) -> None:
    assert f"'{word}' is not a finite number — line 3" in refusal(f"a,b\n1,1\n2,{word}\n3,3\n")


@pytest.mark.parametrize(
    "word", ["abc", "1_000", "0x10", "１", "12 kg", "1e", "--1", "1 2", "1.2.3"]
)
def test_other_text_is_no_number(refusal: Refuse, word: str) -> None:
    assert f"'{word}' is not a number — line 3" in refusal(f"a,b\n1,1\n2,{word}\n3,3\n")


def test_the_number_of_further_mistakes_is_told(refusal: Refuse) -> None:
    assert "(and 2 more in this column)" in refusal("a,b\n1,x\n2,y\n3,z\n4,1\n")
    message = refusal("a,b,c\n1,,2\n2,3,\n3,4,\n4,5,1\n")
    assert "missing value, one of 3 in 'b', 'c' — line 2, column 'b'" in message


def test_text_travels_along(write: Write) -> None:
    table = read_table(write("a,kind\n1,x\n2,y\n3,\n4,NA\n"))
    assert table.columns == ("a",)
    assert table.extras == {"kind": ("x", "y", "", "NA")}
    assert table.texts == ("kind",)
    assert "'kind' holds text — kept for the export, and scored as categories" in table.notes[0]


def test_where_text_ends_and_mistakes_begin(write: Write, refusal: Refuse) -> None:
    words = "".join(f"{i},word\n" for i in range(9))
    assert "kind" in read_table(write(f"a,kind\n{words}9,7\n")).extras
    assert "'word' is not a number" in refusal(f"a,kind\n{words}9,7\n10,8\n")


def test_without_numbers_there_is_nothing_to_score(refusal: Refuse) -> None:
    assert "no column of numbers" in refusal("a b c\nx y z\n")


@pytest.mark.parametrize(("word", "value"), [("TRUE", 1), ("False", 0), ("yes", 1), ("No", 0)])
def test_booleans(write: Write, word: str, value: float) -> None:
    table = read_table(write(f"a,b\n5,{word}\n6,1\n7,0\n"))
    assert table.values[:, 1].tolist() == [value, 1, 0]
    assert table.warnings == ("t.csv: column 'b' is read as true = yes = 1 and false = no = 0",)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        (["0,5", "1,25"], [0.5, 1.25]),
        (["0,5", "1,304"], [0.5, 1.304]),
        (["0,5", "7"], [0.5, 7]),
        (["0,125", "7"], [0.125, 7]),
        (["1234,567", "7"], [1234.567, 7]),
        (["0,5", "1.304"], [0.5, 1304]),
        (["1.234,5", "1.234"], [1234.5, 1234]),
        (["1.234.567", "1,5e3"], [1234567, 1500]),
        (["1,234.5", "1,234"], [1234.5, 1234]),
        (["1,234,567", "999"], [1234567, 999]),
        (["-1,234.5", "0.5"], [-1234.5, 0.5]),
    ],
)
def test_marks_mean_what_the_whole_file_proves(
    write: Write, rows: list[str], values: list[float]
) -> None:
    cells = "".join(f"{row};{i}\n" for i, row in enumerate(rows))
    assert read_table(write(f"a;b\n{cells}")).values[:, 0].tolist() == values


def test_the_proof_may_stand_in_another_column(write: Write) -> None:
    table = read_table(write('a,b\n"1,234",0.5\n"2,345",1\n'))
    assert table.values[:, 0].tolist() == [1234, 2345]
    assert "',' between thousands: '1,234' is 1234" in table.warnings[0]
    table = read_table(write("a;b\n1.234;0,5\n2.345;1\n"))
    assert table.values[:, 0].tolist() == [1234, 2345]
    assert "'.' between thousands: '1.234' is 1234" in table.warnings[0]


def test_the_proof_may_stand_far_down(write: Write) -> None:
    rows = "1,234;5\n" * 3_000
    assert read_table(write(f"a;b\n{rows}1,5;5\n")).values[0, 0] == 1.234
    assert read_table(write(f"a;b\n{rows}1,234.5;5\n")).values[0, 0] == 1234


@pytest.mark.parametrize("text", ["a;b\n1,234;5\n2,345;6\n", 'a,b\n"1,234",5\n"2,345",6\n'])
def test_what_may_mean_two_things_is_refused(refusal: Refuse, text: str) -> None:
    message = refusal(text)
    assert "it is not clear whether '1,234'" in message
    assert "line 2, column 'a'" in message


def test_two_decimal_marks_are_refused(refusal: Refuse) -> None:
    message = refusal("a;b\n1,5;1\n2;0.5\n")
    assert "'1,5' (line 2, column 'a') and '0.5' (line 3, column 'b')" in message


def test_two_decimal_marks_far_apart(refusal: Refuse) -> None:
    rows = "1,234;5\n" * 3_000
    message = refusal(f"a;b\n{rows}1,5;5\n1,234.5;5\n")
    assert "'1,5' (line 3,002, column 'a') and '1,234.5' (line 3,003, column 'a')" in message


def test_a_missing_value_in_a_decimal_comma_file(refusal: Refuse) -> None:
    assert "missing value — line 3, column 'b'" in refusal("a;b\n0,5;1,5\n1,5;\n2,5;1,0\n")


@given(st.text("0123456789+-.,eEinfax ", max_size=9))
@example("+-1")
@example("nan(1)")
def test_pyarrow_and_the_pattern_agree_on_numbers(text: str) -> None:
    cells = pa.chunked_array([[text]])
    number = numbers_in(cells)
    plain = pa.compute.match_substring_regex(cells, POINT.plain)[0].as_py()
    assert (number is not None) == (plain and math.isfinite(float(text)))
    if number is not None:
        assert number[0] == float(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_comes_back_bit_for_bit(value: float) -> None:
    point = pa.chunked_array([[repr(value)]])
    comma = pa.chunked_array([[repr(value).replace(".", ",")]])
    for cells in (point, COMMA.to_point(comma)):
        found = numbers_in(cells)
        assert found is not None
        assert repr(float(found[0])) == repr(value)


@given(st.integers(-(10**15), 10**15), st.integers(0, 999))
def test_thousands_marks(whole: int, part: int) -> None:
    text = f"{whole:,}.{part:03d}"
    swapped = text.translate(str.maketrans(",.", ".,"))
    for cell, notation in ((text, POINT), (swapped, COMMA)):
        found = numbers_in(notation.to_point(pa.chunked_array([[cell]])))
        assert found is not None
        assert found[0] == float(f"{whole}.{part:03d}")
