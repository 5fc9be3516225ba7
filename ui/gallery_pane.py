"""The gallery on the page: what is picked, what can be done with it, the cards and their pages."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import streamlit as st

from eap_core.selection import facets
from eap_core.store.ledger import Standing
from ui import batch_bar, deciding, frame, gallery, gallery_filters, picks, session
from ui.gallery_view import View
from ui.picks import Picks


@st.fragment(key=picks.GALLERY)
def show(view: View, sort: str, size: int) -> None:
    """Drawn anew for a decision, a page or a lasso, without the map."""
    with st.container():  # always there, so that a message moves nothing below it to a new place
        deciding.say(view.subject.project.id)
    with frame.errors_said():
        _shown(view, sort, size)


def _shown(view: View, sort: str, size: int) -> None:
    standing = view.subject.standing()
    chosen = picks.of_run(view.subject.run.id)
    rows = view.rows(standing, chosen, sort)
    matching = [view.items[row] for row in rows]
    batch_bar.bar(view, standing, chosen, matching)
    if not matching:
        _nothing(view, chosen)
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
        batch_bar.open_in_review(matching, opened)


def _cards(view: View, standing: Standing, chosen: Picks, shown: list[int]) -> str | None:
    sent = deciding.entries(session.widget(gallery.KEY))
    saved = deciding.saved_batches(standing) if sent else frozenset()
    over = deciding.refused(view.subject.project.id)
    return gallery.show(
        view,
        shown,
        standing,
        chosen,
        [entry["uuid"] for entry in sent if entry["uuid"] in saved or entry["uuid"] in over],
        lambda: _picked(view),
        lambda: deciding.decided_in_gallery(view, session.widget(gallery.KEY)),
    )


def _picked(view: View) -> None:
    """Cards were picked or let go; a browser may send anything."""
    run = view.subject.run.id
    sent = cast(Any, session.widget(gallery.KEY) or {}).get("picked")
    if isinstance(sent, dict) and sent.get("turn") == picks.of_run(run).turn:
        shown, picked = (
            [item for item in sent.get(name) or () if item in view.row_of]
            for name in ("shown", "picked")
        )
        picks.pick(run, shown, picked)
    picks.redraw(picks.CHART, picks.GALLERY)


def _page_key(view: View, chosen: Picks, sort: str, size: int) -> str:
    """Another filter, another first page: the key says what the pages are of."""
    of = repr((view.subject.run.id, view.wanted, chosen.lassoed, sort, size))
    return f"map.page.{hashlib.sha256(of.encode()).hexdigest()[:12]}"


def _nothing(view: View, chosen: Picks) -> None:
    st.info("No candidate matches.", icon=":material/search_off:")
    if view.wanted.restrictions:
        st.button(
            "Clear the filter",
            icon=":material/filter_list_off:",
            key="map.clear_filter_here",
            on_click=gallery_filters.clear,
            args=(tuple(facets(view.subject.table)),),
        )
    elif chosen.lassoed:
        st.caption("“Show all” lets go of what is drawn around on the map.")
