"""Categories and gaps: the training data decide, and no candidate depends on another."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eap_core.base import prepare
from eap_core.base.errors import EapError
from eap_core.base.prepare import problem_from_tables
from eap_core.base.problem import Problem
from eap_core.base.table import MISSING_WORDS, Table


def table(
    colours: list[str], source: str = "t.csv", numbers: list[float] | None = None, **given: Any
) -> Table:
    """One column of numbers, 0, 1, 4, 9, … if not given, and one of colours."""
    n = len(colours)
    values = np.array([numbers or [float(i * i) for i in range(n)]]).T
    given = {"texts": ("colour",), "extras": {"colour": tuple(colours)}} | given
    return Table(source, ("a",), values, tuple(f"{source}:{i}" for i in range(n)), **given)


def raw(normals: Table, candidates: Table, anomalies: Table | None = None) -> Problem:
    return problem_from_tables(normals, candidates, anomalies, scale="none")


TRAIN = table(["red"] * 6 + ["blue"] * 5, "good.csv")


def test_few_texts_become_columns_of_0_and_1() -> None:
    problem = raw(TRAIN, table(["blue", " red "], "made.csv"))
    assert problem.columns == ("a", "colour=blue", "colour=red")
    assert problem.x_candidates.tolist() == [[0, 1, 0], [1, 0, 1]]
    assert problem.x_train[:, 1].tolist() == [0] * 6 + [1] * 5
    note = "good.csv: 'colour' is read as 2 categories, one 0/1 column each: 'blue', 'red'"
    assert note in problem.notes
    assert not [text for text in problem.warnings if "colour" in text]
    scaled = problem_from_tables(TRAIN, TRAIN)
    np.testing.assert_allclose(scaled.x_train.std(axis=0, ddof=1), 1)


def test_a_value_that_no_training_row_has() -> None:
    problem = raw(TRAIN, table(["green", "red", "green", "x"], "made.csv"))
    assert problem.x_candidates[0, 1:].tolist() == [0, 0]
    text = "made.csv: 3 of 4 rows have 'green', 'x' in 'colour', which no training row has"
    assert any(text in warning and "anomalous" in warning for warning in problem.warnings)


@pytest.mark.parametrize(
    "colours",
    [
        ["red"] * 11,
        [f"c{i % 3}" for i in range(14)],
        [f"c{i % 21}" for i in range(210)],
        ["x" * 51, "y"] * 10,
    ],
)
def test_other_texts_are_kept_and_not_scored(colours: list[str]) -> None:
    problem = raw(table(colours), table(["red"], "made.csv"))
    assert problem.columns == ("a",)
    assert any("'colour' holds" in note and "is not scored" in note for note in problem.notes)


def test_what_is_stated_is_a_category_however_many_values() -> None:
    codes: Any = {"texts": (), "categorical": ("colour",)}
    train = table(["1", "2", "none", "NA"], **codes)
    problem = raw(train, table(["none", "3"], "made.csv", **codes))
    assert problem.columns == ("a", "colour=1", "colour=2", "colour=NA", "colour=none")
    assert problem.x_candidates[:, 1:].tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]
    alone = Table("t.csv", (), np.zeros((12, 0)), tuple("abcdefghijkl"), **codes, extras=extra(12))
    assert raw(alone, alone).columns == ("colour=0", "colour=1")


def extra(n: int) -> dict[str, tuple[str, ...]]:
    return {"colour": tuple(str(i % 2) for i in range(n))}


def test_excluded_and_metadata_columns_are_no_categories() -> None:
    assert raw(table(list("rb") * 10, texts=()), table(["r"], "made.csv")).columns == ("a",)


def test_the_column_must_be_there_and_be_text() -> None:
    without = table(["red"], "made.csv", extras={}, texts=())
    with pytest.raises(EapError, match=r"made.csv lacks the column 'colour', which .* exclude it"):
        raw(TRAIN, without)
    numbers = Table("made.csv", ("a", "colour"), np.ones((1, 2)), ("x",))
    with pytest.raises(EapError, match=r"made.csv: the column 'colour' holds numbers here"):
        raw(TRAIN, numbers)
    turned = Table("good.csv", ("a", "colour"), np.arange(20.0).reshape(10, 2), tuple("abcdefghij"))
    with pytest.raises(
        EapError, match=r"made.csv: the column 'colour' holds text or is no feature"
    ):
        raw(turned, table(["red"], "made.csv"))


def test_both_training_tables_count() -> None:
    problem = raw(TRAIN, table(["green"], "made.csv"), table(["green"] * 4, "bad.csv"))
    assert "colour=green" in problem.columns
    with pytest.raises(EapError, match=r"bad.csv lacks the column 'colour'"):
        raw(TRAIN, TRAIN, table(["green"], "bad.csv", extras={}, texts=()))


def test_a_category_may_not_hide_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(22.0).reshape(11, 2)
    train = Table(
        "t.csv", ("a", "colour=red"), values, TRAIN.ids, texts=("colour",), extras=TRAIN.extras
    )
    with pytest.raises(EapError, match="'colour=red' is both a column and a category"):
        raw(train, train)
    monkeypatch.setattr(prepare, "_MOST_CELLS", 65)
    with pytest.raises(EapError, match="it would have 3 columns, more than fit"):
        raw(TRAIN, TRAIN)


def test_missing_categories() -> None:
    gap = ["red", "NA", ""]
    with pytest.raises(EapError, match=r"made.csv: 2 of 3 rows have no value in column 'colour'"):
        raw(TRAIN, table(gap, "made.csv"))
    dropped = raw(TRAIN, table(gap, "made.csv", missing="drop"))
    assert dropped.ids == ("made.csv:0",)
    text = "made.csv: 2 of 3 rows are dropped because a category is missing in 'colour'"
    assert any(text in warning for warning in dropped.warnings)
    filled = raw(TRAIN, table(gap, "made.csv", missing="median"))
    assert filled.x_candidates[:, 1:].tolist() == [[0, 1]] * 3
    text = "2 missing values in 'colour' are filled with the most frequent one of the training"
    assert any(text in note for note in filled.notes)
    with pytest.raises(EapError, match="every row misses a category"):
        raw(TRAIN, table(["", "-"], "made.csv", missing="drop"))


def test_the_usual_category_is_that_of_the_normals() -> None:
    anomalies = table(["blue"] * 4, "bad.csv")  # with them blue would be the most frequent
    problem = raw(TRAIN, table(["NA"], "made.csv", missing="median"), anomalies)
    assert problem.columns == ("a", "colour=blue", "colour=red")
    assert problem.x_candidates[0, 1:].tolist() == [0, 1]


def test_a_blank_is_missing_also_where_categories_are_stated() -> None:
    codes: Any = {"texts": (), "categorical": ("colour",)}
    with pytest.raises(EapError, match="1 of 2 rows have no value in column 'colour'"):
        raw(table(["1", "2"] * 3, **codes), table([" ", "1"], "made.csv", **codes))


def test_nan_is_filled_only_where_it_may_be() -> None:
    odd = table(["red", "red"], "made.csv", [1.0, np.nan])
    with pytest.raises(EapError, match=r"made.csv: missing value — row 'made.csv:1', column 'a'"):
        raw(TRAIN, odd)
    nothing = table(["red"] * 6 + ["blue"] * 5, numbers=[np.nan] * 11, missing="median")
    with pytest.raises(EapError, match="no training normal has a value in column 'a'"):
        raw(nothing, TRAIN)


COLOURS = st.sampled_from(["red", "blue", "green", "NA", "", " red", "-", "Red"])
NUMBERS = st.one_of(st.just(float("nan")), st.integers(-9, 9).map(float))
ROWS = st.lists(st.tuples(NUMBERS, COLOURS), min_size=1, max_size=25)


def slowly(
    normals: list[tuple[float, str]], rows: list[tuple[float, str]]
) -> tuple[float, str | None, list[list[float]]]:
    """Median, usual colour and encoded rows, in plain Python."""
    middle = median([a for a, _ in normals if a == a])
    known = [c.strip() for _, c in normals if c.strip().lower() not in MISSING_WORDS]
    counts = Counter(known)
    values = sorted(counts)
    few = len(values) >= 2 and len(known) >= 5 * len(values)
    usual = sorted(values, key=lambda value: (-counts[value], value))[0] if few else None
    encoded = []
    for a, c in rows:
        colour = usual if c.strip().lower() in MISSING_WORDS else c.strip()
        ones = [float(colour == value) for value in values] if few else []
        encoded.append([middle if a != a else a, *ones])
    return middle, usual, encoded


def from_rows(rows: list[tuple[float, str]], source: str) -> Table:
    numbers, colours = zip(*rows, strict=True)
    return table(list(colours), source, list(numbers), missing="median")


@settings(max_examples=200)
@given(st.lists(st.tuples(NUMBERS, COLOURS), min_size=12, max_size=40), ROWS)
def test_against_plain_python(
    normals: list[tuple[float, str]], rows: list[tuple[float, str]]
) -> None:
    normals = [(0.0, "red"), (100.0, "red"), (7.0, "blue"), *normals]  # so that both columns vary
    _, usual, expected = slowly(normals, rows)
    problem = raw(from_rows(normals, "good.csv"), from_rows(rows, "made.csv"))
    assert problem.x_candidates.tolist() == expected
    assert (usual is not None) == (len(problem.columns) > 1)


@settings(max_examples=100)
@given(st.lists(st.tuples(NUMBERS, COLOURS), min_size=12, max_size=40), ROWS)
def test_no_candidate_depends_on_another_or_on_an_anomaly(
    normals: list[tuple[float, str]], rows: list[tuple[float, str]]
) -> None:
    normals = [(0.0, "red"), (100.0, "red"), (7.0, "blue"), *normals]
    train = from_rows(normals, "good.csv")
    together = problem_from_tables(train, from_rows(rows, "made.csv"))
    for i, row in enumerate(rows):
        alone = problem_from_tables(train, from_rows([row], "made.csv"))
        assert alone.columns == together.columns
        np.testing.assert_array_equal(alone.x_candidates[0], together.x_candidates[i])
    anomalies = from_rows([(1e6, "red"), (2e6, "red")], "bad.csv")
    beside = raw(train, from_rows(rows, "made.csv"), anomalies)
    plain = raw(train, from_rows(rows, "made.csv"))
    np.testing.assert_array_equal(beside.x_candidates[:, 0], plain.x_candidates[:, 0])
