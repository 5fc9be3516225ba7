"""The gallery on the page: what is picked, what can be done with it, the cards and their pages."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.review import REASONS, UNTOUCHED
from eap_core.review.queue import (
    SORTS,
    STATES,
    Filter,
    Twins,
    conflicting,
    find_facets,
    state_of_item,
)
from eap_core.scoring.posterior import CATEGORIES
from eap_core.store.decisions import ReviewState
from ui import batches, files, frame, map_selection, session, text
from ui.charts import WORDS
from ui.map_selection import MapSelection, View
from ui.review import compact_card
from ui.text import escape_markdown

# The gallery: one component of the browser for a page of cards; Python sends it texts and URLs.

_ASSETS = Path(__file__).parents[1] / "assets"
KEY = "map.cards"
MOST_FEATURES = 3
_component = st.components.v2.component(
    "gallery",
    html='<div class="gallery"></div>',
    css=(_ASSETS / "gallery.css").read_text(encoding="utf-8"),
    js=(_ASSETS / "gallery.js").read_text(encoding="utf-8"),
)


def show_cards(
    view: View,
    rows: Sequence[int],
    standing: ReviewState,
    picks: MapSelection,
    done: Sequence[str],
    on_picked: Callable[[], None],
    on_decided: Callable[[], None],
) -> str | None:
    """The cards of one page; the item that is to be opened, if one is."""
    cards = [card(view, row, standing) for row in rows]
    for each, short in zip(cards, short_names(view, [one["id"] for one in cards]), strict=True):
        each["short"] = short
    here, picked = {each["id"] for each in cards}, set(picks.cards)
    result = _component(
        key=KEY,
        data={
            "project": view.subject.project.id,
            "reviewer": session.reviewer(),
            "kind": view.subject.project.kind,
            "cards": cards,
            "picked": [each["id"] for each in cards if each["id"] in picked],
            "elsewhere": [item for item in picks.cards if item not in here],
            "turn": picks.turn,
            "seen": standing.seq,
            "done": list(done),
        },
        on_picked_change=on_picked,
        on_decided_change=on_decided,
        on_open_change=lambda: None,
    )
    opened = result.get("open")
    return opened if isinstance(opened, str) and opened in view.row_of else None


def short_names(view: View, items: Sequence[str]) -> list[str]:
    """What the cards of a page are called: told apart by folder, else by who made them."""
    found = [view.subject.items[item] for item in items]
    short = text.shorten([item.name for item in found], view.subject.project.kind)
    often = Counter(short)
    makers = [str(item.metadata.get("generator", "")) for item in found]
    return [
        f"{name} ({maker})" if often[name] > 1 and maker else name
        for name, maker in zip(short, makers, strict=True)
    ]


def card(view: View, row: int, standing: ReviewState) -> dict[str, Any]:
    """What one card says, all of it text."""
    facts = view.subject.table.iloc[row]
    item = view.subject.items[facts["item"]]
    state = standing.states.get(item.id, UNTOUCHED)
    return {
        "id": item.id,
        "name": item.name,
        "picture": files.picture_address(item.sha256) if item.sha256 else None,
        "percentile": round(float(facts["percentile"])),
        "category": WORDS[facts["category"]],
        "state": state_of_item(state),
        "reason": REASONS.get(state.reason or ""),
        "flagged": state.flagged,
        "conflict": conflicting(state),
        "twin": bool(view.twins[row]),
        "features": _features(view, row),
    }


def _features(view: View, row: int) -> list[dict[str, Any]]:
    """What a row of a table is known by: where it is most unlike its nearest normals."""
    found = view.insight.deviations if view.insight else None
    if found is None or view.in_run is None:
        return []
    place = view.in_run[row]
    return [
        {
            "name": found.columns[column],
            "value": compact_card(float(found.value[place, i])),
            "sign": "higher" if found.z[place, i] > 0 else "lower",
        }
        for i, column in enumerate(found.which[place, :MOST_FEATURES])
        if column >= 0 and not np.isnan(found.z[place, i])
    ]


# The row that says which candidates are shown, and in which order.

_TWINS = {"all": "Show them", "without": "Leave them out", "only": "Only them"}
_TITLES = {"generator": "Generator", "defect_type": "Defect type", "prompt": "Prompt"}


@dataclass(frozen=True)
class GalleryFilters:
    """What is wanted, in which order, and how many cards are on a page."""

    wanted: Filter
    sort: str
    size: int


def filter_row(table: pd.DataFrame, twins_known: bool) -> GalleryFilters:
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
                on_click=clear_filters,
                args=(tuple(find_facets(table)),),
                type="tertiary",
                key="map.clear_filter",
            )
    return GalleryFilters(wanted, sort, size)


def clear_filters(columns: tuple[str, ...]) -> None:
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


def _choices(table: pd.DataFrame, twins_known: bool, text: str) -> Filter:
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
    values = tuple((name, frozenset(_of_column(table, name))) for name in find_facets(table))
    return Filter(
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
        escape_markdown(_TITLES.get(name, name)),
        sorted(table[name].unique()),
        format_func=lambda value: value or "not given",
        key=_key(name),
        persist_state="session",
        placeholder="All",
    )


def _key(column: str) -> str:
    return f"map.column.{column}"


@st.fragment(key=map_selection.GALLERY)
def show_gallery(view: View, sort: str, size: int) -> None:
    """Drawn anew for a decision, a page or a lasso, without the map."""
    with st.container():  # always there, so that a message moves nothing below it to a new place
        batches.say(view.subject.project.id)
    with frame.show_errors():
        _show_pane(view, sort, size)


def _show_pane(view: View, sort: str, size: int) -> None:
    standing = view.subject.standing()
    chosen = map_selection.selection_of(view.subject.run.id)
    rows = view.rows(standing, chosen, sort)
    matching = [view.items[row] for row in rows]
    batches.show_bar(view, standing, chosen, matching)
    if not matching:
        _show_nothing(view, chosen)
        return
    pages = -(-len(rows) // size)
    place = st.container()
    page = 1
    if pages > 1:
        page = min(pages, st.pagination(pages, key=_page_key(view, chosen, sort, size)))
    shown = [int(row) for row in rows[(page - 1) * size : page * size]]
    with place:
        opened = _cards(view, standing, chosen, shown)
    if opened is not None:
        batches.open_in_review(matching, opened)


def _cards(view: View, standing: ReviewState, chosen: MapSelection, shown: list[int]) -> str | None:
    sent = batches.entries(session.widget(KEY))
    saved = batches.saved_batches(standing) if sent else frozenset()
    over = batches.list_refused(view.subject.project.id)
    return show_cards(
        view,
        shown,
        standing,
        chosen,
        [entry["uuid"] for entry in sent if entry["uuid"] in saved or entry["uuid"] in over],
        lambda: _receive_picks(view),
        lambda: batches.receive_gallery(view, session.widget(KEY)),
    )


def _receive_picks(view: View) -> None:
    """Cards were picked or let go; a browser may send anything."""
    run = view.subject.run.id
    sent = cast(Any, session.widget(KEY) or {}).get("picked")
    if isinstance(sent, dict) and sent.get("turn") == map_selection.selection_of(run).turn:
        shown, picked = (
            [item for item in sent.get(name) or () if item in view.row_of]
            for name in ("shown", "picked")
        )
        map_selection.toggle_item(run, shown, picked)
    map_selection.redraw_map(map_selection.CHART, map_selection.GALLERY)


def _page_key(view: View, chosen: MapSelection, sort: str, size: int) -> str:
    """Another filter, another first page: the key says what the pages are of."""
    of = repr((view.subject.run.id, view.wanted, chosen.lassoed, sort, size))
    return f"map.page.{hashlib.sha256(of.encode()).hexdigest()[:12]}"


def _show_nothing(view: View, chosen: MapSelection) -> None:
    st.info("No candidate matches.", icon=":material/search_off:")
    if view.wanted.restrictions:
        st.button(
            "Clear the filter",
            icon=":material/filter_list_off:",
            key="map.clear_filter_here",
            on_click=clear_filters,
            args=(tuple(find_facets(view.subject.table)),),
        )
    elif chosen.lassoed:
        st.caption("“Show all” lets go of what is drawn around on the map.")
