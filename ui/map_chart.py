"""The map as a figure: a pure function of data, which knows nothing of Streamlit."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from eap_core.base.table import Bools
from eap_core.scoring.posterior import CATEGORIES
from ui.charts import SHAPES, WORDS

MOST_POINTS = 20_000
MOST_NORMALS = 4_000
_SEED = 0
_GREY, _ORANGE = "#999999", "#D55E00"
_NORMAL = {"color": _GREY, "symbol": "circle", "size": 5, "opacity": 0.35}
_LEFT_OUT = {"color": _GREY, "symbol": "x-thin", "size": 5, "line": {"color": _GREY, "width": 1}}
_ANOMALY = {
    "color": "#ffffff",
    "symbol": "diamond",
    "size": 12,
    "line": {"color": "#000000", "width": 2},
}
_RING = {
    "color": _ORANGE,
    "symbol": "circle-open",
    "size": 17,
    "line": {"color": _ORANGE, "width": 3},
}
Points = npt.NDArray[np.float32]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MapData:
    """What the map is drawn from: ``places`` in the order of the table, which ``wanted`` marks."""

    table: pd.DataFrame
    places: Points
    normals: Points
    anomalies: Points
    wanted: Bools


def sample_rows(drawn: MapData) -> tuple[Rows, Rows]:
    """The rows of candidates and of normals to draw; a seeded part where there are too many."""
    normals, candidates = np.arange(len(drawn.normals)), np.arange(len(drawn.table))
    if len(normals) + len(candidates) <= MOST_POINTS:
        return candidates, normals
    rng = np.random.default_rng(_SEED)
    normals = np.sort(rng.permutation(normals)[:MOST_NORMALS])
    room = MOST_POINTS - len(normals)
    return np.sort(rng.permutation(candidates)[:room]), normals


def draw_map(
    drawn: MapData, picked: Bools, outline: Sequence[Mapping[str, Any]] = (), round_: int = 0
) -> go.Figure:
    """Normals below, real anomalies as diamonds, candidates by quality and category, rings on top.

    ``outline`` is what was drawn around points before, shown again.
    """
    rows, normals = sample_rows(drawn)
    made = go.Figure()
    _marks(made, "normals", drawn.normals[normals], _NORMAL)
    shown = drawn.wanted[rows]
    _marks(made, "left out by the filter", drawn.places[rows[~shown]], _LEFT_OUT)
    for category in CATEGORIES:
        of_kind = (drawn.table["category"] == category).to_numpy()[rows]
        _candidates(made, drawn, rows[shown & of_kind], category)
    _marks(made, "real anomalies", drawn.anomalies, _ANOMALY, "a real anomaly")
    _marks(made, "picked in the gallery", drawn.places[picked], _RING)
    _lay_out(made, outline, round_)
    return made


def _marks(
    made: go.Figure, name: str, at: Points, marker: Mapping[str, Any], says: str = ""
) -> None:
    """What is no candidate: as it is also where points were drawn around."""
    if not len(at):
        return
    made.add_scattergl(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        name=name,
        marker=dict(marker),
        unselected={"marker": {"opacity": marker.get("opacity", 1)}},
        hoverinfo=None if says else "skip",
        hovertemplate=f"{says}<extra></extra>" if says else None,
    )


def _candidates(made: go.Figure, drawn: MapData, rows: Rows, category: str) -> None:
    if not len(rows):
        return
    table = drawn.table.iloc[rows]
    made.add_scattergl(
        x=drawn.places[rows, 0],
        y=drawn.places[rows, 1],
        mode="markers",
        name=WORDS[category],
        customdata=table["item"].tolist(),
        text=[html.escape(str(name)) for name in table["id"].tolist()],
        marker={
            "color": table["percentile"].to_numpy().astype(np.float32),
            "coloraxis": "coloraxis",
            "symbol": SHAPES[category],
            "size": 9 if len(drawn.table) <= 3_000 else 6,
            "line": {"color": "#808080", "width": 0.5},
        },
        unselected={"marker": {"opacity": 0.15}},
        hovertemplate="%{text}<br>percentile %{marker.color:.0f}<extra>%{fullData.name}</extra>",
    )


def _lay_out(made: go.Figure, outline: Sequence[Mapping[str, Any]], round_: int) -> None:
    bare = {"visible": True, "showticklabels": False, "showgrid": False, "zeroline": False}
    made.update_layout(
        height=520,
        dragmode="lasso",
        margin={"l": 0, "r": 0, "t": 30, "b": 0},
        legend={"orientation": "h", "yanchor": "top", "y": -0.02, "x": 0, "itemsizing": "constant"},
        modebar={"orientation": "h"},
        xaxis=bare,
        yaxis=bare,
        selections=[dict(each) for each in outline],
        uirevision=str(round_),
        coloraxis={
            "colorscale": "Cividis",
            "cmin": 0,
            "cmax": 100,
            "colorbar": {
                "title": {"text": "Quality"},
                "tickvals": [2, 98],
                "ticktext": ["worst", "best"],
                "thickness": 12,
                "len": 0.6,
            },
        },
    )
