"""What a page is about: a scored project, its items and how its review stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from eap_core.project.problem import state_of
from eap_core.project.results import chosen_evaluator
from eap_core.store import runs
from eap_core.store.decisions import ReviewState
from eap_core.store.items import Item
from eap_core.store.projects import Project
from eap_core.store.runs import Run
from eap_core.store.store import Store
from ui import cached, frame
from ui.cached import shared_store


@dataclass(frozen=True, eq=False)
class ScoredProject:
    """A project with its current run; ``table`` has one row per candidate, best first."""

    store: Store
    project: Project
    run: Run
    state: str
    table: pd.DataFrame
    items: Mapping[str, Item]

    @property
    def candidates(self) -> list[str]:
        """The item ids of the table's rows."""
        return list(self.table["item"])

    @property
    def chosen(self) -> str:
        """The evaluator that ranks the candidates."""
        return chosen_evaluator(self.run, list(map(str, self.table)))

    @property
    def changed(self) -> bool:
        """Whether files were added or removed since the run."""
        return self.run.settings.get("state") != self.state

    def standing(self) -> ReviewState:
        """The decisions as the store has them now."""
        return cached.ledger(self.project.id).now()

    def status(self) -> None:
        """The line under the steps."""
        frame.show_status(self.project, self.standing(), self.candidates)


def current_project() -> ScoredProject | None:
    """The scored project of this tab; where there is none, the page says what is missing."""
    store = shared_store()
    project = frame.chosen_project(store)
    if project is None:
        st.info("Choose a project or a demo first.", icon=":material/info:")
    elif project.current_run is None:
        st.info("There are no scores yet: score the candidates first.", icon=":material/info:")
        st.page_link("pages/score.py", label="Score the candidates", icon=":material/speed:")
    else:
        return _load_project(store, project, project.current_run)
    st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")
    return None


def _load_project(store: Store, project: Project, current: str) -> ScoredProject:
    state = state_of(store, project.id)
    run = runs.by_id(store, current)
    table, items = cached.scores_of(run, state), cached.items(project.id, state)
    return ScoredProject(store, project, run, state, table, items)
