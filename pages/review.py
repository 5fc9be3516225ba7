"""One candidate at a time, beside what it should be compared with; one key decides."""

from collections.abc import Callable

import streamlit as st

from eap_core.jobs import CompletionJob, ScoringJob, launch
from eap_core.review import UNTOUCHED, ItemState
from eap_core.review.queue import ORDERS, order_queue
from ui import cached, frame, jobs, review, session
from ui.review import Cards, Queue
from ui.scored_project import ScoredProject, current_project

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


def queue(found: ScoredProject, order: str, which: str) -> Queue:
    """The rows to look at, as they stood when this order was chosen: it never changes under way."""
    picked = hash(session.current().chosen) if which == "chosen" else ""
    name = f"{found.run.id} {found.state} {order} {which} {picked}"
    before = session.recall("review.queue")
    if isinstance(before, Queue) and before.name == name:
        return before
    insight = cached.insight(found.run.id)
    diverse = None
    if insight is not None:
        diverse = [int(place) for place in insight.diverse[insight.rows(found.candidates)]]
    wanted, items = _wanted(found, which), found.candidates
    rows = tuple(
        row
        for row in order_queue(found.table, order, diverse=diverse)
        if wanted is None or items[row] in wanted
    )
    made = Queue(name, rows, tuple(items[row] for row in rows))
    session.remember("review.queue", made)
    return made


def _wanted(found: ScoredProject, which: str) -> set[str] | None:
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


def cards_of(found: ScoredProject) -> Cards:
    insight = cached.insight(found.run.id)
    rehearsed = cached.rehearsal(found.run.id) is not None
    made = cached.cards(found.run.id, found.state, insight is not None, found.chosen, rehearsed)
    return Cards(found, insight, insight.places if insight else {}, made)


@st.fragment
def show_page(found: ScoredProject, cards: Cards) -> None:
    """A decision draws only this anew."""
    with frame.show_errors():  # Streamlit lets none out of a fragment
        _review(found, cards)


def _review(found: ScoredProject, cards: Cards) -> None:
    frame.show_status(found.project, found.standing(), found.candidates, choices)
    order, which, blind = (session.widget(name) for name in ("order", "show", "blind"))
    shown = queue(found, str(order or "score"), str(which or "all"))
    if not shown.rows:
        st.info("There is none of this kind to look at.", icon=":material/info:")
        if which != "all":
            st.button("Show all candidates", on_click=session.set_widget, args=("show", "all"))
        return
    review.show_stage(found, cards, shown, bool(blind))
    if cards.insight is None:
        _offer_neighbours(found)


def _offer_neighbours(found: ScoredProject) -> None:
    """Scorings of earlier versions and restored ones lack what is kept beside the scores."""
    st.info("What is near each candidate is not known of this scoring.", icon=":material/info:")
    job = jobs.latest_job(found.store, found.project.id, ScoringJob, CompletionJob)
    if job is not None and jobs.active_job(job):
        jobs.show_progress(found.store, job.id)
    elif found.changed:
        st.page_link("pages/score.py", label="Score again", icon=":material/speed:")
    elif st.button("Find what is near", icon=":material/search:"):
        launch(found.store, CompletionJob(found.run.id), found.project.id)
        st.rerun(scope="app")


session.current()
with frame.show_errors():
    scored = current_project()
    if scored is not None:
        show_page(scored, cards_of(scored))
