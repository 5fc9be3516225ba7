"""One candidate at a time, beside what it should be compared with; one key decides."""

from collections.abc import Callable

import streamlit as st

from eap_core.queue_order import ORDERS, ordered
from eap_core.review import UNTOUCHED, ItemState
from ui import cached, frame, review_stage, session
from ui.review_item import Cards
from ui.review_stage import Queue
from ui.subject import Subject, subject

SHOWN = {
    "all": "All candidates",
    "todo": "Not decided yet",
    "flagged": "Flagged",
    "rejected": "Rejected",
    "accepted": "Accepted",
    "conflicts": "Reviewers disagree",
}


def choices() -> tuple[str, str, bool]:
    """Order, which ones, and whether scores stay hidden until decided."""
    chosen = session.current().chosen
    names = ({"chosen": f"Chosen on the map ({len(chosen):,})"} if chosen else {}) | SHOWN
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        order = st.selectbox(
            "Order",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            key="order",
            bind="query-params",
            width=190,
        )
        which = st.selectbox(
            "Show",
            list(names),
            format_func=names.__getitem__,
            key="show",
            bind="query-params",
            width=210,
        )
        blind = st.toggle(
            "Hide scores until decided",
            key="blind",
            bind="query-params",
            help="So that the score does not sway you. Best with the random order.",
        )
    return order or "score", which or "all", blind


def queue(found: Subject, order: str, which: str) -> Queue:
    """The rows to look at, as they stand when the page is drawn."""
    insight = cached.insight(found.run.id)
    diverse = None
    if insight is not None:
        diverse = [int(place) for place in insight.diverse[insight.rows(found.candidates)]]
    rows = ordered(found.table, order, diverse=diverse)
    wanted = _wanted(found, which)
    items = found.candidates
    rows = [row for row in rows if wanted is None or items[row] in wanted]
    return Queue(f"{order} {which} {len(rows)}", tuple(rows), tuple(items[row] for row in rows))


def _wanted(found: Subject, which: str) -> set[str] | None:
    if which == "all":
        return None
    if which == "chosen":
        return set(session.current().chosen)
    states = found.standing().states
    tests: dict[str, Callable[[ItemState], bool]] = {
        "todo": lambda state: not state.decided,
        "flagged": lambda state: state.flagged,
        "rejected": lambda state: state.verdict == "reject",
        "accepted": lambda state: state.verdict == "accept",
        "conflicts": lambda state: bool(state.conflicts),
    }
    return {item for item in found.candidates if tests[which](states.get(item, UNTOUCHED))}


def review(found: Subject) -> None:
    order, which, blind = choices()
    shown = queue(found, order, which)
    if not shown.rows:
        found.status()
        st.info(f"None is there to look at: {SHOWN[which].lower()}.", icon=":material/info:")
        return
    review_stage.show(found, Cards.of(found, cached.insight(found.run.id)), shown, blind)


session.current()
with frame.errors_said():
    scored = subject()
    if scored is not None:
        review(scored)
