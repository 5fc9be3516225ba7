"""What a bundle is made from, read from the store once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eap_core.errors import SettingsError, shown
from eap_core.projects.results import run_frame
from eap_core.projects.state import state_of
from eap_core.review import Decision, ItemState, fold
from eap_core.roles import ROLES, Role
from eap_core.store import projects, runs
from eap_core.store.decisions import log
from eap_core.store.items import Item, Upload, items_of, uploads_of
from eap_core.store.projects import Project
from eap_core.store.runs import Run
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Source:
    """A scored project at one moment; ``frame`` has one row per scored candidate, best first."""

    project: Project
    run: Run
    frame: pd.DataFrame
    items: Mapping[Role, Sequence[Item]]
    uploads: Sequence[Upload]
    log: Sequence[Decision]
    states: Mapping[str, ItemState]
    changed: bool

    @property
    def best_first(self) -> list[str]:
        return list(self.frame["item"])

    @property
    def scores(self) -> list[float]:
        return [float(score) for score in self.frame["eap"]]

    @property
    def unscored(self) -> list[str]:
        """Candidates that came after the scoring, or could not be scored."""
        scored = set(self.best_first)
        return [item.id for item in self.items["candidate"] if item.id not in scored]


def read_source(store: Store, project: str) -> Source:
    """Everything but the files themselves."""
    found = projects.by_id(store, project)
    if found.current_run is None:
        raise SettingsError(
            f"the project {shown(found.name)} has no scores yet — score its candidates first"
        )
    run = runs.by_id(store, found.current_run)
    before = state_of(store, project)
    decisions = log(store, project)
    frame = run_frame(store, run.id)
    items = items_of(store, project)
    uploads = uploads_of(store, project)
    # These are several looks, and an upload may be removed between two: only what all saw counts.
    held = {upload.id for upload in uploads if upload.removed_at is None}
    items = [item for item in items if item.upload in held]
    frame = frame[frame["item"].isin([item.id for item in items if item.role == "candidate"])]
    return Source(
        found,
        run,
        frame.sort_values(["rank", "item"], ignore_index=True),
        {role: [item for item in items if item.role == role] for role in ROLES},
        [upload for upload in uploads if upload.id in held],
        decisions,
        fold(decisions),
        {before, state_of(store, project)} != {run.settings.get("state")},
    )
