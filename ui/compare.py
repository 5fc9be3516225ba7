"""The methods beside each other: figures, and the candidates they dispute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from eap_core.base.table import Floats
from eap_core.project.results import QualityFound, rank_distance
from eap_core.scoring import percentiles
from ui import charts, session, why
from ui.scored_project import ScoredProject
from ui.text import escape_markdown, method_words

# Figures that compare methods; pure functions of data.

# From orange over grey to sky blue: told apart with any kind of colour vision, and light enough for
# black figures, in both themes.
_DIVERGING = [[0.0, "#E69F00"], [0.5, "#F0F0F0"], [1.0, "#56B4E9"]]
_EAP, _OTHER, _PARTNER = "#56B4E9", "#B4BCC2", "#E69F00"


def likeness_bars(columns: Sequence[str], correlation: Floats) -> list[int]:
    """Positions of the methods, EAP first, then by how similar their order is to EAP's."""
    eap = list(columns).index("eap")
    return sorted(range(len(columns)), key=lambda i: (i != eap, -correlation[eap, i]))


def correlation_matrix(columns: Sequence[str], correlation: Floats) -> go.Figure:
    """Rank correlations of all methods, those like EAP first."""
    order = likeness_bars(columns, correlation)
    names = [method_words(columns[i]) for i in order]
    values = correlation[np.ix_(order, order)]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=names,
            y=names,
            zmin=-1,
            zmax=1,
            colorscale=_DIVERGING,
            xgap=1,
            ygap=1,
            text=[[_short(value) for value in row] for row in values],
            texttemplate="%{text}",
            textfont={"size": 10, "color": "black"},
            colorbar={
                "orientation": "h",
                "y": 1.02,
                "yanchor": "bottom",
                "thickness": 10,
                "tickvals": [-1, 0, 1],
                "ticktext": ["reverse", "unrelated", "same order"],
            },
            hovertemplate="%{y} and %{x}: %{z:.2f}<extra></extra>",
        )
    )
    figure.update_layout(
        height=150 + 26 * len(names),
        margin={"l": 5, "r": 25, "t": 40, "b": 5},
        xaxis={"tickangle": -90, "showgrid": False},
        yaxis={"autorange": "reversed", "showgrid": False},
    )
    return figure


def _short(value: float) -> str:
    """One digit, which fits on a phone."""
    text = f"{value:.1f}".replace("0.", ".").replace("-", "−")
    return "0" if text in (".0", "−.0") else text.removesuffix(".0")


def quality_bars(found: Sequence[QualityFound]) -> go.Figure:
    """How well each method tells good candidates from others; guessing is at 50 %."""
    shown = list(reversed(found))
    names = [
        f"<b>{method_words(one.column)}</b>" if _own(one) else method_words(one.column)
        for one in shown
    ]
    figure = go.Figure(
        go.Bar(
            x=[100 * one.auc for one in shown],
            y=names,
            orientation="h",
            marker={"color": [_EAP if _own(one) else _OTHER for one in shown]},
            error_x={
                "type": "data",
                "array": [100 * one.margin for one in shown],
                "color": "#808080",
                "thickness": 1.5,
            },
            text=[f"{100 * one.auc:.0f}" for one in shown],
            textposition="inside",
            insidetextanchor="start",
            textfont={"color": "black", "size": 12},
            hovertemplate="%{y}: %{x:.0f} % ± %{error_x.array:.0f}<extra></extra>",
        )
    )
    figure.add_vline(x=50, line={"dash": "dot", "color": "#808080"})
    figure.update_layout(
        height=70 + 28 * len(shown),
        margin={"l": 5, "r": 10, "t": 5, "b": 5},
        xaxis={
            "title": "Good ones placed above others (%)",
            "range": [0, 102],
            "tickvals": [0, 50, 100],
            "ticktext": ["0", "50 (guessing)", "100"],
        },
    )
    return figure


def _own(one: QualityFound) -> bool:
    return one.column == "eap"


def rank_strip(
    columns: Sequence[str], percentiles: Floats, partner: str | None = None
) -> go.Figure:
    """One candidate: where each method puts it among all, EAP on top."""
    own = [column for column in columns if column in ("eap", partner)]
    rest = [column for column in columns if column not in own]
    value = dict(zip(columns, percentiles, strict=True))
    figure = go.Figure()
    figure.add_scatter(
        x=[value[column] for column in rest],
        y=[0] * len(rest),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "color": "#808080", "line": {"width": 2}},
        text=[method_words(column) for column in rest],
        hovertemplate="%{text}: %{x:.0f}<extra></extra>",
    )
    for column in reversed(own):
        eap = column == "eap"
        figure.add_scatter(
            x=[value[column]],
            y=[0],
            mode="markers",
            marker={
                "symbol": "diamond" if eap else "square",
                "size": 13,
                "color": _EAP if eap else _PARTNER,
            },
            text=[method_words(column)],
            hovertemplate="%{text}: %{x:.0f}<extra></extra>",
        )
    figure.update_layout(
        height=64,
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 2, "b": 22, "autoexpand": False},
        xaxis={"range": [-4, 104], "tickvals": [0, 50, 100], "zeroline": False},
        yaxis={"visible": False, "range": [-1, 1], "fixedrange": True},
    )
    return figure


_ALL = "all methods"
_COUNTS = (6, 12, 24)


def show_disputed(found: ScoredProject, columns: Sequence[str]) -> None:
    """A gallery, and the way to review what it shows."""
    # A random number disagrees with everything, and tells nothing about a candidate.
    informed = [column for column in columns if column != "random"]
    table = found.table
    if len(informed) < 2:
        st.info("At least two methods that are not random are needed.", icon=":material/info:")
        return
    places = pd.DataFrame({name: percentiles(table[name].to_numpy(float)) for name in informed})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        other = st.selectbox(
            "Where EAP disagrees with",
            [_ALL, *informed[1:]],
            format_func=lambda name: _ALL if name == _ALL else method_words(name),
            key="compare.with",
            width=240,
        )
        count = st.segmented_control(
            "How many", _COUNTS, default=_COUNTS[0], key="compare.count", required=True
        )
    partner = None if other == _ALL else other
    others = informed[1:] if partner is None else [partner]
    far = rank_distance(places["eap"].to_numpy(), places[others].to_numpy())
    order = np.lexsort((table["rank"], -far))[:count]
    _legend(partner)
    with st.grid(min_column_width=300, border=True):
        for row in order:
            with st.container():
                _card(found, informed, places.iloc[row], int(row), partner)
    if st.button(f"Review these {len(order)}", icon=":material/rate_review:", key="compare.review"):
        session.choose([table["item"].iloc[row] for row in order])
        st.switch_page("pages/review.py")


def _legend(partner: str | None) -> None:
    marks = "Marks show the percentile that each method gives: ◆ is EAP, "
    marks += f"■ {method_words(partner)}, " if partner else ""
    st.caption(f"{marks}│ every other one. Right is better. The random method is left out.")


def _average(places: pd.Series) -> str:
    others = places.drop("eap")
    name = method_words(str(others.index[0])) if len(others) == 1 else "others average"
    return f"{name} {others.mean():.0f}"


def _card(
    found: ScoredProject, columns: Sequence[str], places: pd.Series, row: int, partner: str | None
) -> None:
    candidate = found.table.iloc[row]
    against = f"{method_words(partner)} {places[partner]:.0f}" if partner else _average(places)
    if found.project.kind == "images":
        why.show_picture(found.store, "", found.items[candidate["item"]], width=150)
    st.markdown(
        f"**{escape_markdown(candidate['id'])}**  \n{charts.WORDS[candidate['category']]} · "
        f"EAP {places['eap']:.0f}, {against}"
    )
    st.plotly_chart(
        rank_strip(columns, places.to_numpy(float), partner),
        config={"displayModeBar": False},
        alt=f"{candidate['id']}: "
        + ", ".join(f"{method_words(name)} {places[name]:.0f}" for name in columns),
        key=f"compare.strip.{row}",
    )
