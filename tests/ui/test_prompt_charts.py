"""Figures of the prompts page: what is where, in which order, and words as they are."""

from __future__ import annotations

import html

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.prompt_results import PairLine, draw_aucs, percent, selection_words

PAIRS = [
    PairLine(("good", "bad"), 0.9, 0.7, bold=True),
    PairLine(("fine", "torn"), 0.8, 0.85),
    PairLine(("neat", "ripped"), 0.6, 0.55),
]


def labels(figure: go.Figure) -> list[str]:
    return [one.text for one in figure.layout.annotations]


def test_every_row_has_both_marks_at_their_values_the_first_on_top() -> None:
    figure = draw_aucs(PAIRS)
    chose, tested = figure.data
    assert (chose.name, tested.name) == ("images that chose", "test images")
    assert list(chose.x) == pytest.approx([90, 80, 60])
    assert list(tested.x) == pytest.approx([70, 85, 55])
    assert list(chose.y) == list(tested.y) == [0, 1, 2]
    bottom, top = figure.layout.yaxis.range
    assert top < 0 < 2 < bottom
    assert chose.marker.symbol != tested.marker.symbol  # colour is never alone
    assert labels(figure) == ["<b>good<br>bad</b>", "fine<br>torn", "neat<br>ripped"]


def test_words_stand_above_their_own_marks_and_below_those_before() -> None:
    figure = draw_aucs(PAIRS)
    for i, label in enumerate(figure.layout.annotations):
        assert i - 0.5 < label.y < i
        assert (label.yanchor, label.xanchor) == ("bottom", "left")


def test_a_line_joins_the_two_marks_of_a_row() -> None:
    joins = [one for one in draw_aucs(PAIRS).layout.shapes if one.y0 == one.y1]
    assert [(one.x0, one.x1, one.y0) for one in joins] == [
        pytest.approx(found) for found in [(70, 90, 0), (80, 85, 1), (55, 60, 2)]
    ]


def test_without_a_test_set_there_is_one_kind_of_marks_and_it_is_named() -> None:
    figure = draw_aucs(
        [PairLine(("good", "bad"), 0.9, None), PairLine(("fine", "torn"), 0.8, None)]
    )
    (only,) = figure.data
    assert list(only.x) == pytest.approx([90, 80])
    assert figure.layout.showlegend


@pytest.mark.parametrize(("worst", "ticks"), [(0.6, [50, 75, 100]), (0.0, [0, 25, 50, 75, 100])])
def test_the_scale_begins_at_guessing_or_below_it_where_a_pair_is_worse(
    worst: float, ticks: list[int]
) -> None:
    figure = draw_aucs([PairLine(("good", "bad"), 0.9, worst)])
    axis = figure.layout.xaxis
    assert axis.range[0] < 100 * worst
    assert axis.range[0] < 50 < 100 < axis.range[1]
    assert list(axis.tickvals) == ticks
    assert axis.ticktext[ticks.index(50)] == "50 (guessing)"


def test_words_are_no_markup() -> None:
    figure = draw_aucs([PairLine(('<b>"a"</b> & b', "c"), 0.9, 0.8)])
    assert labels(figure) == ['&lt;b&gt;"a"&lt;/b&gt; &amp; b<br>c']
    assert figure.data[0].customdata[0] == '&lt;b&gt;"a"&lt;/b&gt; &amp; b<br>c'


def test_long_words_are_cut_beside_the_marks_and_whole_behind_them() -> None:
    long = "a very long description, " * 6
    figure = draw_aucs([PairLine((long, "short"), 0.9, 0.8)])
    first, second = labels(figure)[0].split("<br>")
    assert len(first) == 54
    assert long.startswith(first.removesuffix("…"))
    assert second == "short"
    assert figure.data[0].customdata[0] == f"{long}<br>short"


@given(
    st.lists(
        st.tuples(st.text(max_size=90), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 1))),
        min_size=1,
        max_size=6,
    )
)
def test_every_mark_lies_on_the_scale_and_every_word_is_kept(
    rows: list[tuple[str, float, float | None]],
) -> None:
    figure = draw_aucs([PairLine((text,), chose, tested) for text, chose, tested in rows])
    left, right = figure.layout.xaxis.range
    marks = [value for trace in figure.data for value in trace.x if value is not None]
    assert len(marks) == len(rows) + sum(tested is not None for _, _, tested in rows)
    assert all(left < mark < right for mark in marks)
    assert [html.unescape(one) for one in figure.data[0].customdata] == [row[0] for row in rows]


def test_selections_and_shares_in_words() -> None:
    assert selection_words("rarity") == "Best third by Rarity"
    assert selection_words("random") == "A third at random"
    assert percent(0.12345) == "12.3 %"
