"""Deciding about many candidates at once: what is saved, and what is said of it afterwards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import streamlit as st

from eap_core import batches
from eap_core.batches import Outcome
from eap_core.errors import EapError, UnavailableError
from eap_core.review import Verdict
from eap_core.store.ledger import Standing
from ui import picks, session
from ui.gallery_view import View
from ui.review_item import DONE
from ui.words import plain

Level = Literal["done", "conflict", "failed"]
_SAID = "map.said"
_READ_S = 20.0


class _Said(NamedTuple):
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
    _quiet(view)
    outcome = _tried(view, items, verdict, seen, batch, session.reviewer(), reason)
    dropped = False
    if outcome is not None:
        _tell(view, outcome, session.reviewer())
        dropped = picks.drop_cards(view.subject.run.id)
    _draw_anew(view, dropped)


def undo(view: View) -> None:
    """Take back this reviewer's last step, wherever they made it."""
    log = view.subject.standing().log
    try:
        outcome = batches.undo(view.subject.store, view.subject.project.id, log, session.reviewer())
    except EapError as error:
        _quiet(view)
        _add(view, "failed", str(error))
    else:
        _quiet(view)
        done = DONE.get(outcome.verdict or "", "decided")
        text = f"Taken back: {outcome.count:,} {done}" if outcome.count else "Nothing to take back"
        _add(view, "done", text)
    _draw_anew(view)


def decided_in_gallery(view: View, state: object) -> None:
    """Save what the keys in the gallery decided; what cannot be saved stays in the browser."""
    saved = saved_batches(view.subject.standing())
    sent = entries(state)
    dropped = _heard(view, sent)
    _quiet(view)
    for entry in sent:
        if entry["uuid"] in saved or entry["uuid"] in refused(view.subject.project.id):
            continue
        who = entry["reviewer"]
        outcome = _tried(view, entry["items"], entry["verdict"], entry["seen"], entry["uuid"], who)
        if outcome is None:
            break
        if outcome.count > 1 or outcome.conflicts:  # a single one is seen on its card
            _tell(view, outcome, who)
    _draw_anew(view, dropped)


def _heard(view: View, sent: Sequence[dict[str, Any]]) -> bool:
    """Let go of what was picked when a key was pressed, once: sent again, it says nothing of what
    is picked since."""
    before = cast("frozenset[str]", session.kept("map.heard") or frozenset())
    session.keep("map.heard", before | {entry["uuid"] for entry in sent})
    new = [entry for entry in sent if entry["picked"] and entry["uuid"] not in before]
    items = [item for entry in new for item in entry["items"]]
    return picks.let_go(view.subject.run.id, items) if items else False


def entries(state: object) -> list[dict[str, Any]]:
    """The decisions that a browser sent, without those that are none."""
    sent = cast(Any, state).get("decided") if isinstance(state, dict) else None
    found = sent.get("entries") if isinstance(sent, dict) else None
    return [entry for entry in found if _is_entry(entry)] if isinstance(found, list) else []


def saved_batches(standing: Standing) -> frozenset[str | None]:
    return frozenset(row.batch for row in standing.log)


def refused(project: str) -> tuple[str, ...]:
    """Batches that will never be saved, however often they are sent."""
    return cast("tuple[str, ...]", session.kept(f"map.refused.{project}") or ())


def say(project: str) -> None:
    """What came of the last step: a word in passing if all is well, else one that stays."""
    said = _said(project)
    for level, text, _ in said:
        if level == "failed":
            st.error(plain(text), icon=":material/error:")
        elif level == "conflict":
            st.warning(plain(text), icon=":material/call_split:")
        else:
            st.toast(plain(text), icon=":material/check_circle:")
    now = time.monotonic()
    left = [each for each in said if each.level == "failed" or now < each.until]
    session.keep(f"{_SAID}.{project}", left)


def _said(project: str) -> list[_Said]:
    return cast("list[_Said]", session.kept(f"{_SAID}.{project}") or [])


def _quiet(view: View) -> None:
    """What failed before is tried again or over; what was not read yet stays."""
    project = view.subject.project.id
    left = [each for each in _said(project) if each.level != "failed"]
    session.keep(f"{_SAID}.{project}", left)


def _add(view: View, level: Level, text: str) -> None:
    project = view.subject.project.id
    until = time.monotonic() + _READ_S if level == "conflict" else 0.0
    session.keep(f"{_SAID}.{project}", [*_said(project), _Said(level, text, until)])


def _tried(
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
        return batches.decide(store, project, batch, items, verdict, who, seen, reason, states)
    except EapError as error:
        _add(view, "failed", str(error))
        if not isinstance(error, UnavailableError):
            session.keep(f"map.refused.{project}", (*refused(project), batch))
        return None


def in_words(outcome: Outcome, reviewer: str) -> str:
    """What was decided, and whose earlier decisions it goes against."""
    groups = Counter(
        (DONE.get(row.verdict, "decided"), "you" if row.reviewer == reviewer else "others")
        for row in outcome.overturned
    )
    text = f"{outcome.count:,} {DONE.get(outcome.verdict or '', 'decided')}"
    if groups:
        before = [f"{n:,} had been {done} by {who}" for (done, who), n in sorted(groups.items())]
        text += f", of which {' and '.join(before)}"
    return f"{text}. Undo takes it back."


def _tell(view: View, outcome: Outcome, reviewer: str) -> None:
    _add(view, "done", in_words(outcome, reviewer))
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
    names = [picks.HEAD, picks.GALLERY]
    picks.redraw(*names, *([picks.CHART] if rings or view.wanted.states else []))


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
