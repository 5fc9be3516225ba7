"""What can be done with the picked candidates: accept, reject, review, export, undo."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import streamlit as st

from eap_core.review import REASONS, UNTOUCHED, Verdict, recent
from eap_core.selection import standing_of
from eap_core.store.ledger import Standing
from eap_core.writers import csv_text
from ui import deciding, downloads, picks, session
from ui.gallery_view import View
from ui.picks import Picks

_NO_REASON = "without a reason"


def bar(view: View, standing: Standing, chosen: Picks, matching: Sequence[str]) -> None:
    """The picked candidates and the buttons; ``matching`` are all that the gallery shows."""
    items = chosen.cards or (tuple(matching) if chosen.lassoed else ())
    run = view.subject.run.id
    # before their number is shown: who sees it can have the file
    address = downloads.offered(
        "map", lambda: selection_csv(view, items, standing), "selection.csv"
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_sentence(chosen, matching), width="content")
        if chosen.cards or chosen.lassoed:
            st.button(
                "Show all" if chosen.lassoed else "Pick none",
                icon=":material/deselect:",
                type="tertiary",
                key="map.show_all",
                on_click=_clear,
                args=(run,),
            )
        if len(items) < len(matching):
            st.button(
                f"Pick all {len(matching):,} that match",
                icon=":material/select_all:",
                type="tertiary",
                key="map.pick_all",
                on_click=_pick_all,
                args=(run, tuple(matching)),
            )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _verdicts(view, standing, items)
        _elsewhere(items, address)
        last = recent(standing.log, session.reviewer(), 1)
        st.button(
            "Undo",
            icon=":material/undo:",
            key="map.undo",
            help="Takes back your last step, a whole batch where it was one.",
            disabled=not last,
            on_click=deciding.undo,
            args=(view,),
        )


def selection_csv(view: View, items: Sequence[str], standing: Standing) -> str:
    """The score table of these candidates, with how each stands."""
    table = view.subject.table.iloc[[view.row_of[item] for item in items if item in view.row_of]]
    states = [standing.states.get(item, UNTOUCHED) for item in table["item"]]
    return csv_text(
        table.drop(columns="item").assign(
            decision=[standing_of(state) for state in states],
            reason=[REASONS.get(state.reason or "", "") for state in states],
            reviewer=[state.reviewer or "" for state in states],
        )
    )


def _sentence(chosen: Picks, matching: Sequence[str]) -> str:
    if chosen.cards:
        return f"**{len(chosen.cards):,} picked** of {len(matching):,}"
    if chosen.lassoed:
        left_out = len(chosen.lassoed) - len(matching)
        rest = f" ({left_out:,} more are left out by the filter)" if left_out else ""
        return f"**{len(matching):,} drawn around on the map**{rest}"
    return f"**{len(matching):,} candidates** · none picked"


def _verdicts(view: View, standing: Standing, items: Sequence[str]) -> None:
    count = f" {len(items):,}" if items else ""
    # made here, so that the same button pressed twice is one batch
    batch = str(uuid4())
    accept: Verdict = "accept"
    st.button(
        f"Accept{count}",
        icon=":material/check:",
        key="map.accept",
        disabled=not items,
        on_click=deciding.decide,
        args=(view, items, accept, standing.seq, batch),
    )
    st.menu_button(
        f"Reject{count}",
        [*REASONS, ""],
        format_func=lambda reason: REASONS.get(reason, _NO_REASON).capitalize(),
        icon=":material/close:",
        key="map.reject",
        disabled=not items,
        on_click=_reject,
        args=(view, items, standing.seq, batch),
    )


def _elsewhere(items: Sequence[str], address: str) -> None:
    review = st.button(
        "Review these",
        icon=":material/rate_review:",
        key="map.review",
        disabled=not items,
    )
    downloads.link("Export these", address if items else None, "map.export")
    if review:
        open_in_review(items)


def open_in_review(items: Sequence[str], first: str | None = None) -> None:
    """Go on to the review with these candidates, at the first one or at this one."""
    session.choose(items)
    for name in ("review.at", "review.queue"):  # of an earlier visit: the link says where to begin
        session.taken(name)
    st.switch_page(
        "pages/review.py", query_params={"show": "chosen"} | ({"item": first} if first else {})
    )


def _reject(view: View, items: Sequence[str], seen: int, batch: str) -> None:
    reason = session.widget("map.reject")
    deciding.decide(view, items, "reject", seen, batch, str(reason) if reason else None)


def _clear(run: str) -> None:
    picks.clear(run)
    picks.redraw(picks.CHART, picks.GALLERY)


def _pick_all(run: str, items: tuple[str, ...]) -> None:
    picks.pick_all(run, items)
    picks.redraw(picks.CHART, picks.GALLERY)
