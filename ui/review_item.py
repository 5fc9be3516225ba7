"""One candidate as the review stage shows it: its picture or features, what is near, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from eap_core.category import INDISTINGUISHABLE, REALISTIC, UNREALISTIC
from eap_core.explain import in_words
from eap_core.projects.insight import Insight
from eap_core.review import Decision, ItemState
from eap_core.store.items import Item
from ui import frame, pictures
from ui.charts import WORDS
from ui.subject import Subject

_ICONS = {REALISTIC: "circle", INDISTINGUISHABLE: "square", UNREALISTIC: "change_history"}
_MOST_KEPT = 4_000
DONE = {"accept": "accepted", "reject": "rejected", "skip": "skipped"}


@dataclass(frozen=True, eq=False)
class Cards:
    """Makes what the stage shows of each row of the score table."""

    subject: Subject
    insight: Insight | None
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
            "about": [[str(key), str(value)] for key, value in item.metadata.items() if value],
            "picture": pictures.address(item.sha256, "large") if item.sha256 else None,
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
            "picture": pictures.address(item.sha256, "large") if item.sha256 else None,
            "distance": compact(distance),
        }

    def _features(self, place: int) -> list[dict[str, Any]]:
        assert self.insight is not None
        found = self.insight.deviations
        if found is None:
            return []
        return [
            {
                "name": found.columns[column],
                "value": compact(found.value[place, i]),
                "typical": compact(found.typical[place, i]),
                "z": float(np.clip(found.z[place, i], -1e6, 1e6)),
            }
            for i, column in enumerate(found.which[place])
            if column >= 0
        ]

    def _why(self, facts: pd.Series, place: int | None) -> dict[str, Any]:
        p, weight, prior = (float(facts[name]) for name in ("p_y", "weight", "prior"))
        rank, of = int(facts["rank"]), self.of
        category = str(facts["category"])
        return {
            "category": category,
            "icon": _ICONS[category],
            "words": WORDS[category],
            "percentile": float(facts["percentile"]),
            "sentence": in_words(category, p, weight, rank, of) + self._beside(category, place),
            "p": p,
            "weight": weight,
            "score": float(facts["eap"]),
            "evidence": weight * p,
            "belief": (1 - weight) * prior,
            "best": max(float(self.subject.table["eap"].iloc[0]), 1e-9),
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

    def _numbers(self, facts: pd.Series, place: int | None) -> list[list[str]]:
        rows = [
            ["score φ", f"{facts['eap']:.4f} = w·p + (1 − w)·π"],
            ["95 % interval", f"{facts['eap_low']:.3f} to {facts['eap_high']:.3f}"],
            ["p (looks anomalous)", f"{facts['p_y']:.4f}"],
            ["w (weight of evidence)", f"{facts['weight']:.4f}"],
            ["π (prior belief)", f"{facts['prior']:.4f}"],
            ["N (rows of evidence)", compact(facts["observations"])],
            ["rank", f"{int(facts['rank']):,} of {self.of:,}"],
        ]
        found = self.insight
        if found is None or place is None:
            return rows
        covering = int(found.ball[place])
        if covering < 0:
            return [*rows, ["covered by", f"no ball of {found.k} neighbours"]]
        normal = self.subject.items.get(found.training[covering])
        name = normal.name if normal else "a normal that was removed"
        radius = compact(found.radius[place])
        return [
            *rows,
            ["covered by", f"the ball around {name}, {found.k} neighbours, {radius} wide"],
        ]


def state_of(state: ItemState) -> dict[str, Any]:
    """How a candidate stands, in the words of the stage."""
    clash = state.conflicts[-1].earlier if state.conflicts else None
    return {
        "verdict": state.verdict,
        "reason": state.reason,
        "note": state.note,
        "flagged": state.flagged,
        "by": state.reviewer,
        "when": frame.clock(state.at) if state.at else None,
        "conflict": f"({said(clash)})" if clash else None,
    }


def said(earlier: Decision) -> str:
    """What somebody decided, and when."""
    at = f" at {frame.clock(earlier.at)}" if earlier.at else ""
    return f"{earlier.reviewer} {DONE.get(earlier.verdict, earlier.verdict)} it{at}"


def compact(value: float) -> str:
    """A number as people read it: four digits, no more."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
