"""Deciding about many candidates at once: what is saved, and what is said of it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

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


def decide(
    view: View,
    items: Sequence[str],
    verdict: Verdict,
    seen: int,
    batch: str,
    reason: str | None = None,
) -> None:
    """A button's callback; its items and the last row it knew of are those that were on screen."""
    outcome = _tried(view, items, verdict, seen, batch, reason)
    dropped = False
    if outcome is not None:
        _tell(outcome)
        dropped = picks.drop_cards(view.subject.run.id)
    _draw_anew(view, dropped)


def undo(view: View) -> None:
    """Take back this reviewer's last step, wherever they made it."""
    log = view.subject.standing().log
    try:
        outcome = batches.undo(view.subject.store, view.subject.project.id, log, session.reviewer())
    except EapError as error:
        session.keep(_SAID, [("failed", str(error))])
    else:
        done = DONE.get(outcome.verdict or "", "decided")
        text = f"Taken back: {outcome.count:,} {done}" if outcome.count else "Nothing to take back"
        session.keep(_SAID, [("done", text)])
    _draw_anew(view)


def decided_in_gallery(view: View, state: object) -> None:
    """Save what the keys in the gallery decided; what cannot be saved stays in the browser."""
    saved = saved_batches(view.subject.standing())
    kept = picks.of_run(view.subject.run.id).cards
    dropped = False
    for entry in entries(state):
        if entry["uuid"] in saved or entry["uuid"] in refused():
            continue
        here = set(entry["shown"])
        others = [item for item in kept if item not in here] if entry["picked"] else []
        items = [*entry["items"], *others]
        outcome = _tried(view, items, entry["verdict"], entry["seen"], entry["uuid"])
        if outcome is None:
            break
        if outcome.count > 1 or outcome.conflicts:  # a single one is seen on its card
            _tell(outcome)
        if entry["picked"]:
            dropped |= picks.drop_cards(view.subject.run.id)
    _draw_anew(view, dropped)


def entries(state: object) -> list[dict[str, Any]]:
    """The decisions that a browser sent, without those that are none."""
    sent = cast(Any, state).get("decided") if isinstance(state, dict) else None
    found = sent.get("entries") if isinstance(sent, dict) else None
    return [entry for entry in found if _is_entry(entry)] if isinstance(found, list) else []


def saved_batches(standing: Standing) -> frozenset[str | None]:
    return frozenset(row.batch for row in standing.log)


def refused() -> tuple[str, ...]:
    """Batches that will never be saved, however often they are sent."""
    return cast("tuple[str, ...]", session.kept("map.refused") or ())


def say() -> None:
    """What came of the last step: a word in passing if all is well, else one that stays."""
    said = cast("list[tuple[Level, str]]", session.kept(_SAID) or [])
    for level, text in said:
        if level == "failed":
            st.error(plain(text), icon=":material/error:")
        elif level == "conflict":
            st.warning(plain(text), icon=":material/call_split:")
        else:
            st.toast(plain(text), icon=":material/check_circle:")
    session.keep(_SAID, [each for each in said if each[0] == "failed"])


def _tried(
    view: View,
    items: Sequence[str],
    verdict: Verdict,
    seen: int,
    batch: str,
    reason: str | None = None,
) -> Outcome | None:
    store, project = view.subject.store, view.subject.project.id
    session.keep(_SAID, [])
    try:
        return batches.decide(
            store, project, batch, items, verdict, session.reviewer(), seen, reason
        )
    except EapError as error:
        session.keep(_SAID, [("failed", str(error))])
        if not isinstance(error, UnavailableError):
            session.keep("map.refused", (*refused(), batch))
        return None


def _tell(outcome: Outcome) -> None:
    done = DONE.get(outcome.verdict or "", "decided")
    said: list[tuple[Level, str]] = [("done", f"{outcome.count:,} {done}. Undo takes it back.")]
    clashes = [row for row in outcome.conflicts if row.verdict != outcome.verdict]
    if clashes:
        who = ", ".join(sorted({row.reviewer for row in clashes}))
        said.append(
            (
                "conflict",
                f"{len(clashes):,} of them had just been decided otherwise by {who}. Both are kept,"
                " yours counts. The filter “conflicting” shows them.",
            )
        )
    session.keep(_SAID, said)


def _draw_anew(view: View, rings: bool = False) -> None:
    """All that a decision shows in; the map only if rings are gone or its points may change."""
    names = [picks.HEAD, picks.GALLERY]
    st.rerun([*names, picks.CHART] if rings or view.wanted.states else names)


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    lists = all(
        isinstance(entry.get(name), list) and all(isinstance(each, str) for each in entry[name])
        for name in ("items", "shown")
    )
    return (
        lists
        and bool(entry["items"])
        and entry.get("verdict") in ("accept", "reject")
        and isinstance(entry.get("uuid"), str)
        and 0 < len(entry["uuid"]) <= 64
        and isinstance(entry.get("seen"), int)
        and isinstance(entry.get("picked"), bool)
    )
