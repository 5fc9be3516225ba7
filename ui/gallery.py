"""The gallery: one component of the browser for a page of cards; Python sends it texts and URLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from eap_core.review import REASONS, UNTOUCHED
from eap_core.selection import conflicting, standing_of
from eap_core.store.ledger import Standing
from ui import names, pictures, session
from ui.charts import WORDS
from ui.gallery_view import View
from ui.picks import Picks
from ui.review_item import compact

_ASSETS = Path(__file__).parents[1] / "assets"
KEY = "map.cards"
MOST_FEATURES = 3
_component = st.components.v2.component(
    "gallery",
    html='<div class="gallery"></div>',
    css=(_ASSETS / "gallery.css").read_text(encoding="utf-8"),
    js=(_ASSETS / "gallery.js").read_text(encoding="utf-8"),
)


def show(
    view: View,
    rows: Sequence[int],
    standing: Standing,
    picks: Picks,
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
    short = names.short([item.name for item in found], view.subject.project.kind)
    often = Counter(short)
    makers = [str(item.metadata.get("generator", "")) for item in found]
    return [
        f"{name} ({maker})" if often[name] > 1 and maker else name
        for name, maker in zip(short, makers, strict=True)
    ]


def card(view: View, row: int, standing: Standing) -> dict[str, Any]:
    """What one card says, all of it text."""
    facts = view.subject.table.iloc[row]
    item = view.subject.items[facts["item"]]
    state = standing.states.get(item.id, UNTOUCHED)
    return {
        "id": item.id,
        "name": item.name,
        "picture": pictures.address(item.sha256) if item.sha256 else None,
        "percentile": round(float(facts["percentile"])),
        "category": WORDS[facts["category"]],
        "state": standing_of(state),
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
            "value": compact(float(found.value[place, i])),
            "sign": "higher" if found.z[place, i] > 0 else "lower",
        }
        for i, column in enumerate(found.which[place, :MOST_FEATURES])
        if column >= 0 and not np.isnan(found.z[place, i])
    ]
