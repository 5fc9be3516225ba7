"""The log of one project, kept folded: a new row costs as much as its own item's rows."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from eap_core.review import Decision, ItemState, fold
from eap_core.store.decisions import log
from eap_core.store.store import Store


@dataclass(frozen=True, eq=False)
class Standing:
    """How a project stands after the row ``seq``; the log may grow behind it, its states do not."""

    seq: int
    log: Sequence[Decision]
    states: Mapping[str, ItemState]

    @property
    def last_saved(self) -> datetime | None:
        return self.log[-1].at if self.log else None

    def counts(self, candidates: Sequence[str]) -> tuple[int, int]:
        """How many of these are decided on, and how many of those accepted."""
        found = [self.states[item].verdict for item in candidates if item in self.states]
        accepted = found.count("accept")
        return accepted + found.count("reject"), accepted


class Ledger:
    """Shared by all visitors of a server: reads only what is new, and folds only what it is about.

    An undo names the item of the row it takes back, so an item's own rows decide its state.
    """

    def __init__(self, store: Store, project: str) -> None:
        self._store, self._project = store, project
        self._lock = threading.Lock()
        self._by_item: defaultdict[str, list[Decision]] = defaultdict(list)
        self._now = Standing(0, [], {})

    def now(self) -> Standing:
        """The project as the store has it at this moment."""
        with self._lock:
            # The last known row comes along: after a restored backup it may be another one.
            rows = log(self._store, self._project, self._now.seq - 1)
            last = self._now.log[-1].uuid if self._now.log else None
            if last is not None and (not rows or rows[0].uuid != last):
                self._by_item.clear()
                self._now, last = Standing(0, [], {}), None
                rows = log(self._store, self._project)
            new = rows[1:] if last else rows
            if new:
                self._now = self._with(new)
            return self._now

    def _with(self, new: Sequence[Decision]) -> Standing:
        for row in new:
            self._by_item[row.item].append(row)
        rows = [row for item in {row.item for row in new} for row in self._by_item[item]]
        states = {**self._now.states, **fold(rows)}
        return Standing(new[-1].seq, [*self._now.log, *new], states)
