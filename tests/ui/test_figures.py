"""Figures of the score, compare and priors pages say what the data say, and no more."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eap_core.analysis.compare import PriorSweep, compare_runs, sweep_run
from eap_core.project.results import QualityFound, add_parts
from eap_core.scoring.posterior import CATEGORIES
from ui import charts, compare, priors
from ui.text import method_words


def scored(count: int, prior: float = 0.1) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    weight, p_y = rng.random(count) / 2, rng.random(count)
    frame = pd.DataFrame(
        {
            "item": [f"i{i}" for i in range(count)],
            "id": [f"<b>{i}</b>" for i in range(count)],
            "category": [CATEGORIES[i % 3] for i in range(count)],
            "eap": weight * p_y + (1 - weight) * prior,
            "percentile": np.linspace(100, 0, count),
            "weight": weight,
            "p_y": p_y,
            "prior": prior,
            "observations": weight / (1 - weight),
        }
    )
    return add_parts(frame, "eap")


@pytest.fixture(scope="module")
def many() -> PriorSweep:
    return sweep_run(scored(900), 1 / 3)


def test_the_matrix_begins_with_eap_and_what_is_like_it() -> None:
    correlation = np.array([[1.0, -0.25, 0.9], [-0.25, 1.0, 0.04], [0.9, 0.04, 1.0]])
    drawn = compare.correlation_matrix(["eap", "lava", "rarity"], correlation).data[0]
    assert list(drawn.x) == [method_words("eap"), method_words("rarity"), method_words("lava")]
    assert drawn.z[0].tolist() == [1.0, 0.9, -0.25]
    assert list(drawn.text[0]) == ["1", ".9", "−.2"]
    assert drawn.text[1][2] == "0"


def test_bars_show_the_best_on_top() -> None:
    found = [QualityFound("lava", 0.8, 0.1), QualityFound("eap", 0.6, 0.2)]
    drawn = compare.quality_bars(found).data[0]
    assert list(drawn.x) == [60.0, 80.0]  # the axis runs upwards
    assert "EAP" in drawn.y[0]
    assert list(drawn.error_x.array) == [20.0, 10.0]


@pytest.mark.parametrize("partner", [None, "lava"])
def test_a_strip_has_a_mark_for_every_method(partner: str | None) -> None:
    figure = compare.rank_strip(["eap", "lava", "rarity"], np.array([1.0, 50, 99]), partner)
    marks = {name: x for trace in figure.data for name, x in zip(trace.text, trace.x, strict=True)}
    assert marks == {
        method_words("eap"): 1.0,
        method_words("lava"): 50.0,
        method_words("rarity"): 99.0,
    }
    assert figure.data[-1].text == (method_words("eap"),)  # on top of the others


def test_a_run_that_has_not_changed_lies_on_the_line() -> None:
    now = scored(31)
    found = compare_runs(now, now)
    assert found is not None
    assert found.kendall == pytest.approx(1.0)
    assert found.shared == found.top == 10
    for trace in charts.draw_two_runs(found.table).data:
        assert list(trace.x) == list(trace.y)


def test_runs_are_compared_by_the_candidates_they_share() -> None:
    now = scored(30)
    then = now.iloc[10:].assign(eap=-now["eap"], percentile=100 - now["percentile"])
    found = compare_runs(now, then)
    assert found is not None
    assert len(found.table) == 20
    assert found.kendall == pytest.approx(-1.0)
    assert found.table["then"].tolist() == (100 - found.table["now"]).tolist()
    assert compare_runs(now.iloc[:9], now.iloc[8:]) is None


@pytest.mark.parametrize("by_place", [True, False])
def test_many_candidates_are_sampled_and_the_moving_ones_drawn(
    many: PriorSweep, by_place: bool
) -> None:
    marked = np.flatnonzero(many.moving).tolist()
    figure = priors.draw_curves(many, 0.3, marked, by_place)
    gaps = sum(int(np.isnan(trace.y).sum()) for trace in figure.data[:3])
    assert gaps == priors.MOST_LINES
    assert len(figure.data) == 3 + 1 + min(len(marked), priors.MOST_MARKED)
    bold = [trace for trace in figure.data if trace.line.width == 3]
    told = [trace.name for trace in bold if trace.showlegend]
    assert sorted(told) == sorted({trace.name for trace in bold})  # each side once
    assert figure.data[4].text[0] == f"&lt;b&gt;{marked[0]}&lt;/b&gt;"


def test_the_line_of_the_best_has_the_best_above_it(many: PriorSweep) -> None:
    line = priors.draw_curves(many, 0.3, [], by_place=False).data[3].y
    above = (many.sweep.scores >= np.asarray(line)[:, None]).sum(axis=1)
    assert set(above) == {many.sweep.top}


def test_nothing_has_changed_where_the_run_stands(many: PriorSweep) -> None:
    best, order = priors.draw_stability(many, 0.3).data
    at = list(best.x).index(100 * many.sweep.default)
    assert best.y[at] == 100.0
    assert order.y[at] == pytest.approx(100.0)


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.45])
def test_lines_of_equal_score_have_equal_scores(prior: float) -> None:
    table = scored(200, prior)
    lines = [t for t in charts.sides_chart(table, "i3").data if t.mode == "lines"]
    assert lines
    for line in lines:
        x, weight = np.asarray(line.x) / 100, np.asarray(line.y) / 100
        assert np.ptp(weight * x + (1 - weight) * prior) < 1e-9
        assert ((weight >= 0) & (weight <= 1 + 1e-9)).all()


def test_large_tables_are_sampled_evenly_and_many_groups_put_together() -> None:
    table = scored(charts.MOST_POINTS * 2).assign(generator=lambda t: t.index.astype(str))
    assert len(charts.space_evenly(table, 10)) == 10
    assert charts.space_evenly(table, 10)["item"].iloc[[0, -1]].tolist() == [
        "i0",
        f"i{len(table) - 1}",
    ]
    figure = charts.group_bars(table, "generator")
    assert sum(len(trace.x) for trace in figure.data) == charts.MOST_POINTS
    assert "others" in figure.layout.yaxis.ticktext
    assert len(figure.layout.yaxis.ticktext) <= 13
