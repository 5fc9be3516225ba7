"""The row that says which candidates are shown, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pandas as pd
import streamlit as st

from eap_core.category import CATEGORIES
from eap_core.selection import SORTS, STATES, Twins, Wanted, facets
from ui import session
from ui.charts import WORDS
from ui.words import plain

_TWINS = {"all": "Show them", "without": "Leave them out", "only": "Only them"}
_TITLES = {"generator": "Generator", "defect_type": "Defect type", "prompt": "Prompt"}


@dataclass(frozen=True)
class Shown:
    """What is wanted, in which order, and how many cards are on a page."""

    wanted: Wanted
    sort: str
    size: int


def row(table: pd.DataFrame, twins_known: bool) -> Shown:
    """What the visitor wants to see; the address holds it, but for the columns of metadata."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        text = st.text_input(
            "Find a name",
            key="find",
            bind="query-params",
            icon=":material/search:",
            width=230,
            max_chars=100,
        )
        with st.popover("Filter", icon=":material/filter_list:"):
            wanted = _choices(table, twins_known, text)
        sort, size = _order()
        if wanted.restrictions:
            st.button(
                f"Clear the filter ({wanted.restrictions})",
                icon=":material/filter_list_off:",
                on_click=clear,
                args=(tuple(facets(table)),),
                type="tertiary",
                key="map.clear_filter",
            )
    return Shown(wanted, sort, size)


def clear(columns: tuple[str, ...]) -> None:
    """Everything is wanted again."""
    empty: dict[str, object] = {
        "find": "",
        "stands": [],
        "category": [],
        "percentile": (0, 100),
        "twins": "all",
    }
    for name in columns:
        empty[_key(name)] = []
    for key, value in empty.items():
        session.set_widget(key, value)
    st.rerun()  # also from within a fragment: the filter is outside of it


def _order() -> tuple[str, int]:
    sort = st.selectbox(
        "Sort",
        list(SORTS),
        format_func=SORTS.__getitem__,
        key="sort",
        bind="query-params",
        width=190,
    )
    size = st.segmented_control(
        "Cards on a page",
        [24, 48, 96],
        default=48,
        key="cards",
        bind="query-params",
        required=True,
    )
    return sort or "quality", int(size or 48)


def _choices(table: pd.DataFrame, twins_known: bool, text: str) -> Wanted:
    states = st.pills(
        "Decision",
        STATES,
        selection_mode="multi",
        format_func=str.capitalize,
        key="stands",
        bind="query-params",
    )
    categories = st.pills(
        "Category",
        CATEGORIES,
        selection_mode="multi",
        format_func=lambda name: WORDS[name].capitalize(),
        key="category",
        bind="query-params",
    )
    low, high = st.slider(
        "Quality percentile", 0, 100, (0, 100), key="percentile", bind="query-params"
    )
    twins = "all"
    if twins_known:
        twins = st.segmented_control(
            "Near-duplicates of a better candidate",
            list(_TWINS),
            default="all",
            format_func=_TWINS.__getitem__,
            key="twins",
            bind="query-params",
            required=True,
        )
    values = tuple((name, frozenset(_of_column(table, name))) for name in facets(table))
    return Wanted(
        frozenset(states),
        frozenset(categories),
        values,
        float(low),
        float(high),
        cast(Twins, twins or "all"),
        text,
    )


def _of_column(table: pd.DataFrame, name: str) -> list[str]:
    return st.multiselect(
        plain(_TITLES.get(name, name)),
        sorted(table[name].unique()),
        format_func=lambda value: value or "not given",
        key=_key(name),
        persist_state="session",
        placeholder="All",
    )


def _key(column: str) -> str:
    return f"map.column.{column}"
