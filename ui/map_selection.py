"""What a visitor has picked on the map and in the gallery, and which candidates are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import streamlit as st
from streamlit.errors import StreamlitAPIException

from eap_core.analysis.neighbours import Places
from eap_core.base.table import Bools
from eap_core.project.results import CandidateFacts
from eap_core.review.queue import Filter, filter_rows, flags_of, sort_rows
from eap_core.store.decisions import ReviewState
from ui import session
from ui.map_chart import MapData
from ui.scored_project import ScoredProject

# What a visitor has picked on the map and in the gallery, kept while they move between pages.

CHART, GALLERY, HEAD = "map.chart", "map.gallery", "map.head"  # fragments, drawn anew by name


@dataclass(frozen=True)
class MapSelection:
    """``round`` is a part of the chart's key, since Streamlit forgets a selection only with its
    chart; a new ``turn`` tells the gallery to take over the cards as they are here."""

    run: str
    lassoed: tuple[str, ...] = ()
    outline: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    cards: tuple[str, ...] = ()
    round: int = 0
    turn: int = 0


def selection_of(run: str) -> MapSelection:
    """The picks; those made among the candidates of another run are gone."""
    found = cast("MapSelection | None", session.recall("map.picks"))
    return found if found is not None and found.run == run else MapSelection(run)


def select_by_lasso(run: str, items: Sequence[str], outline: Sequence[dict[str, Any]]) -> None:
    """Show what was drawn around; cards picked before are let go, so that nobody decides unseen."""
    before = selection_of(run)
    session.remember(
        "map.picks",
        replace(
            before,
            lassoed=tuple(items),
            outline=tuple(outline),
            cards=(),
            turn=before.turn + 1,
        ),
    )


def toggle_item(run: str, shown: Sequence[str], picked: Sequence[str]) -> None:
    """Of the cards on one page these are picked; picks on other pages stay."""
    before, here = selection_of(run), frozenset(shown)
    kept = [item for item in before.cards if item not in here]
    session.remember("map.picks", replace(before, cards=(*kept, *picked)))


def select_all(run: str, items: Sequence[str]) -> None:
    before = selection_of(run)
    session.remember("map.picks", replace(before, cards=tuple(items), turn=before.turn + 1))


def drop_cards(run: str) -> bool:
    """Let go of the cards; whether there were any."""
    found = bool(selection_of(run).cards)
    if found:
        select_all(run, ())
    return found


def deselect(run: str, items: Sequence[str]) -> bool:
    """These are decided, which their gallery knows already; whether any of them was picked."""
    before, gone = selection_of(run), frozenset(items)
    left = tuple(item for item in before.cards if item not in gone)
    session.remember("map.picks", replace(before, cards=left))
    return left != before.cards


def redraw_map(*names: str) -> None:
    """Draw these fragments anew; where one is not there, all that Streamlit was about to draw.

    A late message of a browser may find that the page of its fragments is left.
    """
    try:
        st.rerun(names)
    except StreamlitAPIException:
        return


def clear_selection(run: str) -> None:
    before = selection_of(run)
    session.remember("map.picks", MapSelection(run, round=before.round + 1, turn=before.turn + 1))


Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class View:
    """A scored project, what is known of its candidates, and what the visitor wants to see."""

    subject: ScoredProject
    wanted: Filter
    insight: CandidateFacts | None
    places: Places | None

    @cached_property
    def items(self) -> list[str]:
        """The item ids in the order of the table."""
        return self.subject.candidates

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.items)}

    @cached_property
    def in_run(self) -> Rows | None:
        """The place of each row of the table in the run; None where that is not known."""
        if self.insight is None:
            return None
        return self.insight.rows(self.items)

    @cached_property
    def twins(self) -> Bools:
        """Which rows nearly equal a better one."""
        if self.insight is None or self.in_run is None:
            return np.zeros(len(self.items), dtype=np.bool_)
        return self.insight.twin[self.in_run] >= 0

    @cached_property
    def group(self) -> str | None:
        """The column whose values a selection should cover."""
        return next((n for n in ("defect_type", "generator") if n in self.subject.table), None)

    def matching(self, standing: ReviewState) -> Bools:
        return filter_rows(self.subject.table, self.wanted, standing.states, self.twins)

    def rows(self, standing: ReviewState, picks: MapSelection, sort: str) -> Rows:
        """The rows to show, in their order: those wanted, within what was drawn around."""
        shown = self.matching(standing)
        if picks.lassoed:
            shown &= flags_of(self.items, frozenset(picks.lassoed))
        order = sort_rows(self.subject.table, sort, standing.states)
        return order[shown[order]]

    def drawn(self, standing: ReviewState) -> MapData | None:
        """What the map is made of; None while there is no map."""
        if self.insight is None or self.places is None or self.in_run is None:
            return None
        anomaly = self.insight.labels == 1
        return MapData(
            self.subject.table,
            self.places.candidates[self.in_run],
            self.places.training[~anomaly],
            self.places.training[anomaly],
            self.matching(standing),
        )
