"""One candidate at a time, beside what it should be compared with; one key decides."""

from collections.abc import Callable

import streamlit as st

from eap_core import jobs as work
from eap_core.queue_order import ORDERS, ordered
from eap_core.review import UNTOUCHED, ItemState
from ui import cached, frame, jobs, review_stage, session
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


def choices() -> None:
    """Order, which ones, and whether scores stay hidden until decided; all kept in the link."""
    chosen = session.current().chosen
    names = ({"chosen": f"Chosen on the map ({len(chosen):,})"} if chosen else {}) | SHOWN
    with st.popover("Order and filter", icon=":material/filter_list:", type="tertiary"):
        st.selectbox(
            "Order", list(ORDERS), format_func=ORDERS.__getitem__, key="order", bind="query-params"
        )
        st.selectbox(
            "Show", list(names), format_func=names.__getitem__, key="show", bind="query-params"
        )
        st.toggle(
            "Hide scores until decided",
            key="blind",
            bind="query-params",
            help="So that the score does not sway you. Best with the random order.",
        )


def queue(found: Subject, order: str, which: str) -> Queue:
    """The rows to look at, as they stood when this order was chosen: it never changes under way."""
    picked = hash(session.current().chosen) if which == "chosen" else ""
    name = f"{found.run.id} {found.state} {order} {which} {picked}"
    before = session.kept("review.queue")
    if isinstance(before, Queue) and before.name == name:
        return before
    insight = cached.insight(found.run.id)
    diverse = None
    if insight is not None:
        diverse = [int(place) for place in insight.diverse[insight.rows(found.candidates)]]
    wanted, items = _wanted(found, which), found.candidates
    rows = tuple(
        row
        for row in ordered(found.table, order, diverse=diverse)
        if wanted is None or items[row] in wanted
    )
    made = Queue(name, rows, tuple(items[row] for row in rows))
    session.keep("review.queue", made)
    return made


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


def cards_of(found: Subject) -> Cards:
    insight = cached.insight(found.run.id)
    made = cached.cards(found.run.id, found.state, insight is not None)
    return Cards(found, insight, insight.places if insight else {}, made)


@st.fragment
def review(found: Subject, cards: Cards) -> None:
    """A decision draws only this anew."""
    with frame.errors_said():  # Streamlit lets none out of a fragment
        _review(found, cards)


def _review(found: Subject, cards: Cards) -> None:
    frame.status(found.project, found.standing(), found.candidates, choices)
    order, which, blind = (session.widget(name) for name in ("order", "show", "blind"))
    shown = queue(found, str(order or "score"), str(which or "all"))
    if not shown.rows:
        st.info("There is none of this kind to look at.", icon=":material/info:")
        if which != "all":
            st.button("Show all candidates", on_click=session.set_widget, args=("show", "all"))
        return
    review_stage.show(found, cards, shown, bool(blind))
    if cards.insight is None:
        _offer_neighbours(found)


def _offer_neighbours(found: Subject) -> None:
    """Scorings of earlier versions and restored ones lack what is kept beside the scores."""
    st.info("What is near each candidate is not known of this scoring.", icon=":material/info:")
    job = jobs.latest(found.store, found.project.id, "score", "complete")
    if job is not None and jobs.active(job):
        jobs.progress(found.store, job.id)
    elif found.changed:
        st.page_link("pages/score.py", label="Score again", icon=":material/speed:")
    elif st.button("Find what is near", icon=":material/search:"):
        asked = {"run": found.run.id, "evaluators": []}
        work.launch(found.store, "complete", asked, found.project.id)
        st.rerun(scope="app")


session.current()
with frame.errors_said():
    scored = subject()
    if scored is not None:
        review(scored, cards_of(scored))
