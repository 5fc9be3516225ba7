"""The candidates on which EAP differs most from others, each with where every method puts it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.ranking import percentiles
from ui import charts, compare_charts, session, side_by_side
from ui.methods import words
from ui.subject import Subject
from ui.truth import distance
from ui.words import plain

_ALL = "all methods"
_COUNTS = (6, 12, 24)


def show(found: Subject, columns: Sequence[str]) -> None:
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
            format_func=lambda name: _ALL if name == _ALL else words(name),
            key="compare.with",
            width=240,
        )
        count = st.segmented_control(
            "How many", _COUNTS, default=_COUNTS[0], key="compare.count", required=True
        )
    partner = None if other == _ALL else other
    others = informed[1:] if partner is None else [partner]
    far = distance(places["eap"].to_numpy(), places[others].to_numpy())
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
    marks += f"■ {words(partner)}, " if partner else ""
    st.caption(f"{marks}│ every other one. Right is better. The random method is left out.")


def _average(places: pd.Series) -> str:
    others = places.drop("eap")
    name = words(str(others.index[0])) if len(others) == 1 else "others average"
    return f"{name} {others.mean():.0f}"


def _card(
    found: Subject, columns: Sequence[str], places: pd.Series, row: int, partner: str | None
) -> None:
    candidate = found.table.iloc[row]
    against = f"{words(partner)} {places[partner]:.0f}" if partner else _average(places)
    if found.project.kind == "images":
        side_by_side.one(found.store, "", found.items[candidate["item"]], width=150)
    st.markdown(
        f"**{plain(candidate['id'])}**  \n{charts.WORDS[candidate['category']]} · "
        f"EAP {places['eap']:.0f}, {against}"
    )
    st.plotly_chart(
        compare_charts.strip(columns, places.to_numpy(float), partner),
        config={"displayModeBar": False},
        alt=f"{candidate['id']}: "
        + ", ".join(f"{words(name)} {places[name]:.0f}" for name in columns),
        key=f"compare.strip.{row}",
    )
