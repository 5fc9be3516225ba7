"""The review on screen: the stage that keeps the queue in the browser, and what stands on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.analysis.compare import tells_quality
from eap_core.base.errors import EapError
from eap_core.project.results import CandidateFacts
from eap_core.project.review import Answer, receive_decisions
from eap_core.review import REASONS, VERDICT_WORDS, Decision, ItemState, recent_decisions
from eap_core.scoring.posterior import INDISTINGUISHABLE, REALISTIC, UNREALISTIC
from eap_core.store.decisions import Acknowledgement, ReviewState
from eap_core.store.items import Item
from ui import files, frame, session
from ui.charts import WORDS
from ui.scored_project import ScoredProject
from ui.text import error_words
from ui.why import why_in_words

# One candidate as the review stage shows it: its picture or features, what is near, and why.

_ICONS = {REALISTIC: "circle", INDISTINGUISHABLE: "square", UNREALISTIC: "change_history"}
_MOST_KEPT = 4_000


def facts_shown(metadata: Mapping[str, Any]) -> list[list[str]]:
    """What was said of a candidate, but for its known quality: that is for Compare."""
    told = [(str(key), str(value)) for key, value in metadata.items() if value]
    return [[key, value] for key, value in told if not tells_quality(key, value)]


@dataclass(frozen=True, eq=False)
class Cards:
    """Makes what the stage shows of each row of the score table."""

    subject: ScoredProject
    insight: CandidateFacts | None
    places: Mapping[str, int]  # of each candidate in the insight
    made: dict[int, dict[str, Any]]  # shared between visitors

    @cached_property
    def of(self) -> int:
        """How many were ranked; some may have been removed since."""
        return max(len(self.subject.table), int(self.subject.table["rank"].max()))

    def card(self, row: int) -> dict[str, Any]:
        """The candidate in a row of the table; made once for all who look at it."""
        found = self.made.get(row)
        if found is None:
            if len(self.made) > _MOST_KEPT:
                self.made.clear()
            found = self.made[row] = self._card(row)
        return found

    def _card(self, row: int) -> dict[str, Any]:
        facts = self.subject.table.iloc[row]
        item = self.subject.items[facts["item"]]
        place = self.places.get(item.id)
        return {
            "id": item.id,
            "name": item.name,
            "about": facts_shown(item.metadata),
            "picture": files.picture_address(item.sha256, "large") if item.sha256 else None,
            "near": [] if place is None else self._near(place),
            "features": [] if place is None else self._features(place),
            "why": self._why(facts, place),
        }

    def _near(self, place: int) -> list[dict[str, Any]]:
        assert self.insight is not None
        found = self.insight
        rows = [
            ("Nearest normal" if i == 0 else "Near normal", int(row), float(distance))
            for i, (row, distance) in enumerate(
                zip(found.nearest[place], found.nearest_distance[place], strict=True)
            )
        ]
        rows.append(
            (
                "Nearest real anomaly",
                int(found.anomaly[place]),
                float(found.anomaly_distance[place]),
            )
        )
        return [
            self._neighbour(words, self.subject.items[found.training[row]], distance)
            for words, row, distance in rows
            if row >= 0 and found.training[row] in self.subject.items
        ]

    def _neighbour(self, words: str, item: Item, distance: float) -> dict[str, Any]:
        return {
            "role": words,
            "name": item.name,
            "picture": files.picture_address(item.sha256, "large") if item.sha256 else None,
            "distance": compact_card(distance),
        }

    def _features(self, place: int) -> list[dict[str, Any]]:
        assert self.insight is not None
        found = self.insight.deviations
        if found is None:
            return []
        return [
            {
                "name": found.columns[column],
                "value": compact_card(found.value[place, i]),
                "typical": compact_card(found.typical[place, i]),
                "z": float(np.clip(found.z[place, i], -1e6, 1e6)),
            }
            for i, column in enumerate(found.which[place])
            if column >= 0
        ]

    def _why(self, facts: pd.Series, place: int | None) -> dict[str, Any]:
        p, weight, prior = (float(facts[name]) for name in ("looks", "support", "prior"))
        category = str(facts["category"])
        return {
            "category": category,
            "icon": _ICONS[category],
            "words": WORDS[category],
            "percentile": float(facts["percentile"]),
            "sentence": why_in_words(self.subject, facts, self.insight)
            + self._beside(category, place),
            "p": p,
            "weight": weight,
            "score": float(facts["posterior"]),
            "evidence": weight * p,
            "belief": (1 - weight) * prior,
            "best": max(float(self.subject.table["posterior"].max()), 1e-9),
            "numbers": self._numbers(facts, place),
        }

    def _beside(self, category: str, place: int | None) -> str:
        """No normal reaches it, but a real anomaly lies there: that is worth an own look."""
        found = self.insight
        if category != UNREALISTIC or found is None or place is None:
            return ""
        if not found.anomaly_distance[place] < found.nearest_distance[place, 0]:
            return ""
        return " A real anomaly is nearer to it than any normal: judge this one by eye."

    def _place(self, facts: pd.Series) -> list[str]:
        if facts["tied"]:
            return ["tied with", f"{int(facts['tied']):,} of {self.of:,}"]
        return ["rank", f"{int(facts['rank']):,} of {self.of:,}"]

    def _numbers(self, facts: pd.Series, place: int | None) -> list[list[str]]:
        rows = [
            ["score φ", f"{facts['posterior']:.4f} = w·p + (1 − w)·π"],
            ["p (looks anomalous)", f"{facts['looks']:.4f}"],
            ["w (weight of evidence)", f"{facts['support']:.4f}"],
            ["π (prior belief)", f"{facts['prior']:.4f}"],
            ["N (rows of evidence)", compact_card(facts["rows"])],
            self._place(facts),
        ]
        if self.subject.chosen != "reach":  # the interval is EAP's
            interval = f"{facts['eap_low']:.3f} to {facts['eap_high']:.3f}"
            rows.insert(1, ["95 % interval", interval])
        found = self.insight
        if found is None or place is None:
            return rows
        covering = int(found.ball[place])
        if covering < 0:
            return [*rows, ["covered by", f"no ball of {found.k} neighbours"]]
        normal = self.subject.items.get(found.training[covering])
        name = normal.name if normal else "a normal that was removed"
        radius = compact_card(found.radius[place])
        return [
            *rows,
            ["covered by", f"the ball around {name}, {found.k} neighbours, {radius} wide"],
        ]


def item_state(state: ItemState) -> dict[str, Any]:
    """How a candidate stands, in the words of the stage."""
    clash = state.conflicts[-1].earlier if state.conflicts else None
    return {
        "verdict": state.verdict,
        "reason": state.reason,
        "note": state.note,
        "flagged": state.flagged,
        "by": state.reviewer,
        "when": frame.clock(state.at) if state.at else None,
        "conflict": f"({decision_words(clash)})" if clash else None,
    }


def decision_words(earlier: Decision) -> str:
    """What somebody decided, and when."""
    at = f" at {frame.clock(earlier.at)}" if earlier.at else ""
    return f"{earlier.reviewer} {VERDICT_WORDS.get(earlier.verdict, earlier.verdict)} it{at}"


def compact_card(value: float) -> str:
    """A number as people read it: four digits, no more."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


_ASSETS = Path(__file__).parents[1] / "assets"
_BEHIND, _AHEAD = 4, 28
_UNDO_STEPS = 20
_MARKS = {"accept": "a", "reject": "x", "skip": "s"}
_KEY = "review.stage"
_component = st.components.v2.component(
    "review_stage",
    html='<div class="stage"></div>',
    css=(_ASSETS / "review_stage.css").read_text(encoding="utf-8"),
    js="\n".join(
        (_ASSETS / name).read_text(encoding="utf-8")
        for name in ("review_stage.js", "review_drawing.js")
    ),
)


@dataclass(frozen=True, eq=False)
class Queue:
    """The candidates in the order they are shown: rows of the score table; it never reorders."""

    name: str
    rows: tuple[int, ...]
    items: tuple[str, ...]

    @cached_property
    def places(self) -> dict[str, int]:
        return {item: i for i, item in enumerate(self.items)}


def show_stage(subject: ScoredProject, cards: Cards, queue: Queue, blind: bool) -> None:
    """The stage; what the browser sent was saved by a callback before this runs."""
    standing = subject.standing()
    at = _place(queue, standing)
    window = range(max(0, at - _BEHIND), min(at + _AHEAD, len(queue.rows)))
    has = set(cast("list[int]", session.take("review.has") or []))
    states = standing.states
    _component(
        key=_KEY,
        data={
            "key": f"{queue.name} {session.reviewer()}",
            "project": subject.project.id,
            "kind": subject.project.kind,
            "reviewer": session.reviewer(),
            "blind": blind,
            "at": at,
            "total": len(queue.rows),
            "marks": list_marks(queue.items, standing),
            "cards": {str(p): cards.card(queue.rows[p]) for p in window if p not in has},
            "states": {
                str(p): item_state(states[queue.items[p]])
                for p in window
                if queue.items[p] in states
            },
            "seq": standing.seq,
            "answer": _answer(subject),
            "undo": _undoable(subject, queue, standing),
            "reasons": [list(pair) for pair in REASONS.items()],
            "saved": frame.clock(standing.last_saved) if standing.last_saved else None,
        },
        on_sent_change=lambda: _receive(subject, queue),
    )


def _receive(subject: ScoredProject, queue: Queue) -> None:
    """The browser has sent something: save it before anything is drawn."""
    message = str(cast(Any, session.widget(_KEY))["sent"])
    reviewer = session.reviewer()
    try:
        log = subject.standing().log
        answer = receive_decisions(subject.store, subject.project.id, reviewer, message, log)
    except EapError as error:  # the log cannot be read: the browser keeps what it sent
        answer = Answer(trouble=error)
    sent = json.loads(message)
    session.remember("review.answer", (sent.get("number"), answer))
    at = sent.get("at")
    if isinstance(at, int) and 0 <= at < len(queue.items):
        session.point_at(queue.items[at])
    session.remember("review.at", (queue.name, at))
    session.remember("review.has", sent.get("has"))


def _place(queue: Queue, standing: ReviewState) -> int:
    """Where the browser is; at first where the link says, else at the first undecided one."""
    told = cast("tuple[str, int] | None", session.recall("review.at"))
    if told and told[0] == queue.name:
        return told[1]
    linked = session.pointed_at()
    if linked in queue.places:
        return queue.places[linked]
    return max(0, list_marks(queue.items, standing).find("."))


def list_marks(items: Sequence[str], standing: ReviewState) -> str:
    """One letter for each candidate: accepted, rejected, skipped, or a dot."""
    states = standing.states
    return "".join(
        _MARKS.get(states[item].verdict or "", ".") if item in states else "." for item in items
    )


def _answer(subject: ScoredProject) -> dict[str, Any] | None:
    kept = cast("tuple[int, Answer] | None", session.recall("review.answer"))
    if kept is None:
        return None
    number, answer = kept
    return {
        "number": number,
        "saved": {
            uuid: {"conflict": _conflict(ack, subject)} for uuid, ack in answer.saved.items()
        },
        "refused": {uuid: error_words(error) for uuid, error in answer.refused.items()},
        "trouble": error_words(answer.trouble) if answer.trouble else None,
    }


def _conflict(ack: Acknowledgement, subject: ScoredProject) -> str | None:
    if ack.conflict is None:
        return None
    item = subject.items.get(ack.conflict.item)
    name = f"{item.name}: " if item else ""
    return (
        f"{name}{decision_words(ack.conflict)} before you did. Both are kept; the later one counts."
    )


def _undoable(subject: ScoredProject, queue: Queue, standing: ReviewState) -> list[dict[str, Any]]:
    steps = recent_decisions(standing.log, session.reviewer(), _UNDO_STEPS)
    return [
        {
            "uuid": row.uuid,
            "item": row.item,
            "position": queue.places.get(row.item, -1),
            "name": subject.items[row.item].name if row.item in subject.items else "",
            "verdict": row.verdict,
            "batch": row.batch,
        }
        for row in steps
    ]
