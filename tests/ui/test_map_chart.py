"""The map as a figure: who is drawn, how, and under which id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eap_core.scoring.posterior import CATEGORIES
from ui.map_chart import MOST_NORMALS, MOST_POINTS, MapData, draw_map, sample_rows


def drawn(count: int, normals: int = 3, anomalies: int = 2) -> MapData:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "item": [f"item-{i}" for i in range(count)],
            "id": [f"<b>{i}</b>" for i in range(count)],
            "percentile": np.linspace(100, 0, count),
            "category": [CATEGORIES[i % 3] for i in range(count)],
        }
    )
    points = [rng.normal(size=(n, 2)).astype(np.float32) for n in (count, normals, anomalies)]
    return MapData(table, points[0], points[1], points[2], np.ones(count, dtype=np.bool_))


def none(of: MapData) -> np.ndarray:
    return np.zeros(len(of.table), dtype=np.bool_)


def test_every_candidate_is_drawn_once_under_its_id_with_the_shape_of_its_category() -> None:
    given = drawn(9)
    traces = {trace.name: trace for trace in draw_map(given, none(given)).data}
    assert list(traces) == [
        "normals",
        "realistic",
        "looks normal",
        "too far from the data",
        "real anomalies",
    ]
    candidates = [trace for trace in traces.values() if trace.customdata is not None]
    assert len({trace.marker.symbol for trace in candidates}) == 3
    places = {
        item: (x, y)
        for trace in candidates
        for item, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    }
    assert places == {f"item-{i}": tuple(given.places[i]) for i in range(9)}
    assert "&lt;b&gt;0&lt;/b&gt;" in candidates[0].text
    assert traces["real anomalies"].marker.line.color == "#000000"


def test_what_the_filter_leaves_out_has_no_id_and_picked_ones_have_rings() -> None:
    given = drawn(9)
    given.wanted[:4] = False
    picked = none(given)
    picked[[2, 7]] = True
    traces = {trace.name: trace for trace in draw_map(given, picked).data}
    assert len(traces["left out by the filter"].x) == 4
    ids = [i for trace in traces.values() if trace.customdata is not None for i in trace.customdata]
    assert sorted(ids) == [f"item-{i}" for i in range(4, 9)]
    rings = traces["picked in the gallery"]
    assert np.array_equal(np.c_[rings.x, rings.y], given.places[picked])


@pytest.mark.parametrize(("count", "normals"), [(MOST_POINTS, 0), (100, MOST_POINTS - 100)])
def test_as_many_as_fit_are_all_drawn(count: int, normals: int) -> None:
    rows, below = sample_rows(drawn(count, normals))
    assert (len(rows), len(below)) == (count, normals)


def test_too_many_are_sampled_the_same_way_each_time() -> None:
    given = drawn(MOST_POINTS + 500, 6_000)
    rows, normals = sample_rows(given)
    assert len(normals) == MOST_NORMALS
    assert len(rows) + len(normals) == MOST_POINTS
    assert len(np.unique(rows)) == len(rows)
    assert np.array_equal(rows, sample_rows(given)[0])


def test_what_was_drawn_around_is_drawn_again() -> None:
    given = drawn(3)
    outline = {"type": "path", "xref": "x", "yref": "y", "path": "M0,0L1,0L1,1Z"}
    assert draw_map(given, none(given), [outline]).layout.selections[0].path == outline["path"]
