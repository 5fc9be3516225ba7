"""Deciding about many candidates at once: what can be done, is saved, and is said of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast
from uuid import uuid4

import streamlit as st

from eap_core.base.errors import EapError, UnavailableError
from eap_core.base.files import csv_text
from eap_core.project import review
from eap_core.project.review import Outcome
from eap_core.review import REASONS, UNTOUCHED, VERDICT_WORDS, Verdict, recent_decisions
from eap_core.review.queue import state_of_item
from eap_core.store.decisions import ReviewState
from ui import files, map_selection, session
from ui.map_selection import MapSelection, View
from ui.text import error_words, escape_markdown

Level = Literal["done", "conflict", "failed"]
_SAID = "map.said"
_READ_S = 20.0


class _Notice(NamedTuple):
    """A conflict is said until somebody can have read it, however fast the keys are."""

    level: Level
    text: str
    until: float


def decide(
    view: View,
    items: Sequence[str],
    verdict: Verdict,
    seen: int,
    batch: str,
    reason: str | None = None,
) -> None:
    """A button's callback; its items and the last row it knew of are those that were on screen."""
    _silence(view)
    outcome = _try_saving(view, items, verdict, seen, batch, session.reviewer(), reason)
    dropped = False
    if outcome is not None:
        _tell(view, outcome, session.reviewer())
        dropped = map_selection.drop_cards(view.subject.run.id)
    _draw_anew(view, dropped)


def undo(view: View) -> None:
    """Take back this reviewer's last step, wherever they made it."""
    log = view.subject.standing().log
    try:
        outcome = review.undo(view.subject.store, view.subject.project.id, log, session.reviewer())
    except EapError as error:
        _silence(view)
        _add(view, "failed", error_words(error))
    else:
        _silence(view)
        done = VERDICT_WORDS.get(outcome.verdict or "", "decided")
        text = f"Taken back: {outcome.count:,} {done}" if outcome.count else "Nothing to take back"
        _add(view, "done", text)
    _draw_anew(view)


def receive_gallery(view: View, state: object) -> None:
    """Save what the keys in the gallery decided; what cannot be saved stays in the browser."""
    saved = saved_batches(view.subject.standing())
    sent = entries(state)
    dropped = _hear(view, sent)
    _silence(view)
    for entry in sent:
        if entry["uuid"] in saved or entry["uuid"] in list_refused(view.subject.project.id):
            continue
        who = entry["reviewer"]
        outcome = _try_saving(
            view, entry["items"], entry["verdict"], entry["seen"], entry["uuid"], who
        )
        if outcome is None:
            break
        if outcome.count > 1 or outcome.conflicts:  # a single one is seen on its card
            _tell(view, outcome, who)
    _draw_anew(view, dropped)


def _hear(view: View, sent: Sequence[dict[str, Any]]) -> bool:
    """Let go of what was picked when a key was pressed, once: sent again, it says nothing of what
    is picked since."""
    before = cast("frozenset[str]", session.recall("map.heard") or frozenset())
    session.remember("map.heard", before | {entry["uuid"] for entry in sent})
    new = [entry for entry in sent if entry["picked"] and entry["uuid"] not in before]
    items = [item for entry in new for item in entry["items"]]
    return map_selection.deselect(view.subject.run.id, items) if items else False


def entries(state: object) -> list[dict[str, Any]]:
    """The decisions that a browser sent, without those that are none."""
    sent = cast(Any, state).get("decided") if isinstance(state, dict) else None
    found = sent.get("entries") if isinstance(sent, dict) else None
    return [entry for entry in found if _is_entry(entry)] if isinstance(found, list) else []


def saved_batches(standing: ReviewState) -> frozenset[str | None]:
    return frozenset(row.batch for row in standing.log)


def list_refused(project: str) -> tuple[str, ...]:
    """Batches that will never be saved, however often they are sent."""
    return cast("tuple[str, ...]", session.recall(f"map.refused.{project}") or ())


def say(project: str) -> None:
    """What came of the last step: a word in passing if all is well, else one that stays."""
    said = _list_notices(project)
    for level, text, _ in said:
        if level == "failed":
            st.error(escape_markdown(text), icon=":material/error:")
        elif level == "conflict":
            st.warning(escape_markdown(text), icon=":material/call_split:")
        else:
            st.toast(escape_markdown(text), icon=":material/check_circle:")
    now = time.monotonic()
    left = [each for each in said if each.level == "failed" or now < each.until]
    session.remember(f"{_SAID}.{project}", left)


def _list_notices(project: str) -> list[_Notice]:
    return cast("list[_Notice]", session.recall(f"{_SAID}.{project}") or [])


def _silence(view: View) -> None:
    """What failed before is tried again or over; what was not read yet stays."""
    project = view.subject.project.id
    left = [each for each in _list_notices(project) if each.level != "failed"]
    session.remember(f"{_SAID}.{project}", left)


def _add(view: View, level: Level, text: str) -> None:
    project = view.subject.project.id
    until = time.monotonic() + _READ_S if level == "conflict" else 0.0
    session.remember(f"{_SAID}.{project}", [*_list_notices(project), _Notice(level, text, until)])


def _try_saving(
    view: View,
    items: Sequence[str],
    verdict: Verdict,
    seen: int,
    batch: str,
    who: str,
    reason: str | None = None,
) -> Outcome | None:
    store, project = view.subject.store, view.subject.project.id
    try:
        states = view.subject.standing().states
        return review.decide(store, project, batch, items, verdict, who, seen, reason, states)
    except EapError as error:
        _add(view, "failed", error_words(error))
        if not isinstance(error, UnavailableError):
            session.remember(f"map.refused.{project}", (*list_refused(project), batch))
        return None


def batch_words(outcome: Outcome, reviewer: str) -> str:
    """What was decided, and whose earlier decisions it goes against."""
    groups = Counter(
        (VERDICT_WORDS.get(row.verdict, "decided"), "you" if row.reviewer == reviewer else "others")
        for row in outcome.overturned
    )
    text = f"{outcome.count:,} {VERDICT_WORDS.get(outcome.verdict or '', 'decided')}"
    if groups:
        before = [f"{n:,} had been {done} by {who}" for (done, who), n in sorted(groups.items())]
        text += f", of which {' and '.join(before)}"
    return f"{text}. Undo takes it back."


def _tell(view: View, outcome: Outcome, reviewer: str) -> None:
    _add(view, "done", batch_words(outcome, reviewer))
    clashes = [row for row in outcome.conflicts if row.verdict != outcome.verdict]
    if clashes:
        who = ", ".join(sorted({row.reviewer for row in clashes}))
        _add(
            view,
            "conflict",
            f"{len(clashes):,} of them had just been decided otherwise by {who}. Both are kept,"
            " yours counts. The filter “conflicting” shows them.",
        )


def _draw_anew(view: View, rings: bool = False) -> None:
    """All that a decision shows in; the map only if rings are gone or its points may change."""
    names = [map_selection.HEAD, map_selection.GALLERY]
    map_selection.redraw_map(
        *names, *([map_selection.CHART] if rings or view.wanted.states else [])
    )


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    items, who = entry.get("items"), entry.get("reviewer")
    listed = isinstance(items, list) and all(isinstance(item, str) for item in items)
    named = isinstance(who, str) and who.isprintable() and 0 < len(who) <= 80
    return (
        listed
        and bool(items)
        and named
        and entry.get("verdict") in ("accept", "reject")
        and isinstance(entry.get("uuid"), str)
        and 0 < len(entry["uuid"]) <= 64
        and isinstance(entry.get("seen"), int)
        and isinstance(entry.get("picked"), bool)
    )


# What can be done with the picked candidates: accept, reject, review, export, undo.

_NO_REASON = "without a reason"


def show_bar(
    view: View, standing: ReviewState, chosen: MapSelection, matching: Sequence[str]
) -> None:
    """The picked candidates and the buttons; ``matching`` are all that the gallery shows."""
    items = chosen.cards or (tuple(matching) if chosen.lassoed else ())
    run = view.subject.run.id
    # before their number is shown: who sees it can have the file
    address = files.offer_download(
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
        last = recent_decisions(standing.log, session.reviewer(), 1)
        st.button(
            "Undo",
            icon=":material/undo:",
            key="map.undo",
            help="Takes back your last step, a whole batch where it was one.",
            disabled=not last,
            on_click=undo,
            args=(view,),
        )


def selection_csv(view: View, items: Sequence[str], standing: ReviewState) -> str:
    """The score table of these candidates, with how each stands."""
    table = view.subject.table.iloc[[view.row_of[item] for item in items if item in view.row_of]]
    states = [standing.states.get(item, UNTOUCHED) for item in table["item"]]
    return csv_text(
        table.drop(columns="item").assign(
            decision=[state_of_item(state) for state in states],
            reason=[REASONS.get(state.reason or "", "") for state in states],
            reviewer=[state.reviewer or "" for state in states],
        )
    )


def _sentence(chosen: MapSelection, matching: Sequence[str]) -> str:
    if chosen.cards:
        return f"**{len(chosen.cards):,} picked** of {len(matching):,}"
    if chosen.lassoed:
        left_out = len(chosen.lassoed) - len(matching)
        rest = f" ({left_out:,} more are left out by the filter)" if left_out else ""
        return f"**{len(matching):,} drawn around on the map**{rest}"
    return f"**{len(matching):,} candidates** · none picked"


def _verdicts(view: View, standing: ReviewState, items: Sequence[str]) -> None:
    count = f" {len(items):,}" if items else ""
    # made here, so that the same button pressed twice is one batch
    batch = str(uuid4())
    accept: Verdict = "accept"
    st.button(
        f"Accept{count}",
        icon=":material/check:",
        key="map.accept",
        disabled=not items,
        on_click=decide,
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
    files.show_link("Export these", address if items else None, "map.export")
    if review:
        open_in_review(items)


def open_in_review(items: Sequence[str], first: str | None = None) -> None:
    """Go on to the review with these candidates, at the first one or at this one."""
    session.choose(items)
    for name in ("review.at", "review.queue"):  # of an earlier visit: the link says where to begin
        session.take(name)
    st.switch_page(
        "pages/review.py", query_params={"show": "chosen"} | ({"item": first} if first else {})
    )


def _reject(view: View, items: Sequence[str], seen: int, batch: str) -> None:
    reason = session.widget("map.reject")
    decide(view, items, "reject", seen, batch, str(reason) if reason else None)


def _clear(run: str) -> None:
    map_selection.clear_selection(run)
    map_selection.redraw_map(map_selection.CHART, map_selection.GALLERY)


def _pick_all(run: str, items: tuple[str, ...]) -> None:
    map_selection.select_all(run, items)
    map_selection.redraw_map(map_selection.CHART, map_selection.GALLERY)
