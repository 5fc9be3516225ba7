"""What the page of the gallery and the map is about, and which candidates it shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eap_core.project_map import Places
from eap_core.projects.insight import Insight
from eap_core.selection import Flags, Wanted, flags_of, matching, sorted_rows
from eap_core.store.ledger import Standing
from ui.map_chart import Drawn
from ui.picks import Picks
from ui.subject import Subject

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class View:
    """A scored project, what is known of its candidates, and what the visitor wants to see."""

    subject: Subject
    wanted: Wanted
    insight: Insight | None
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
    def twins(self) -> Flags:
        """Which rows nearly equal a better one."""
        if self.insight is None or self.in_run is None:
            return np.zeros(len(self.items), dtype=np.bool_)
        return self.insight.twin[self.in_run] >= 0

    @cached_property
    def group(self) -> str | None:
        """The column whose values a selection should cover."""
        return next((n for n in ("defect_type", "generator") if n in self.subject.table), None)

    def matching(self, standing: Standing) -> Flags:
        return matching(self.subject.table, self.wanted, standing.states, self.twins)

    def rows(self, standing: Standing, picks: Picks, sort: str) -> Rows:
        """The rows to show, in their order: those wanted, within what was drawn around."""
        shown = self.matching(standing)
        if picks.lassoed:
            shown &= flags_of(self.items, frozenset(picks.lassoed))
        order = sorted_rows(self.subject.table, sort, standing.states)
        return order[shown[order]]

    def drawn(self, standing: Standing) -> Drawn | None:
        """What the map is made of; None while there is no map."""
        if self.insight is None or self.places is None or self.in_run is None:
            return None
        anomaly = self.insight.labels == 1
        return Drawn(
            self.subject.table,
            self.places.candidates[self.in_run],
            self.places.training[~anomaly],
            self.places.training[anomaly],
            self.matching(standing),
        )
