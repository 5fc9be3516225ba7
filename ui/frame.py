"""What every page has around it: the steps on top, how the project stands, errors in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from eap_core.base.errors import EapError
from eap_core.store import projects
from eap_core.store.decisions import ReviewState
from eap_core.store.projects import Project
from eap_core.store.store import Store
from ui import cached, session
from ui.text import error_words, escape_markdown


@dataclass(frozen=True)
class Step:
    """A page, and what must be there before it makes sense."""

    file: str
    title: str
    icon: str
    needs: Literal["nothing", "project", "scores"] = "scores"

    @property
    def path(self) -> str:
        return f"pages/{self.file}.py"

    def lacks(self, project: Project | None) -> str | None:
        """Why it must wait, in words."""
        if project is None and self.needs != "nothing":
            return "Choose a project first"
        if self.needs == "scores" and (project is None or project.current_run is None):
            return "Score the candidates first"
        return None


STEPS = (
    Step("data", "Data", ":material/database:", "nothing"),
    Step("score", "Score", ":material/speed:", "project"),
    Step("review", "Review", ":material/rate_review:"),
    Step("map", "Map", ":material/scatter_plot:"),
    Step("compare", "Compare", ":material/balance:"),
    Step("priors", "Priors", ":material/tune:"),
    Step("prompts", "Prompts", ":material/chat:"),
    Step("export", "Export", ":material/ios_share:"),
)


def list_pages() -> list[st.Page]:
    """All steps as pages; the first one is home."""
    return [
        st.Page(step.path, title=step.title, icon=step.icon, default=step is STEPS[0])
        for step in STEPS
    ]


def show_steps() -> None:
    """Links to all steps; those that must wait are grey and say why."""
    wanted = session.current().project
    project = projects.find_known(cached.shared_store(), wanted) if wanted else None
    if project is not None and project.binned_at is not None:
        project = None
    with st.container(horizontal=True, gap="small"):
        for step in STEPS:
            lacks = step.lacks(project)
            st.page_link(
                step.path, label=step.title, icon=step.icon, disabled=bool(lacks), help=lacks
            )


@contextmanager
def show_errors() -> Iterator[None]:
    """A mistake in the input is one sentence on the page; nothing else is caught."""
    try:
        yield
    except EapError as error:
        st.error(escape_markdown(error_words(error)), icon=":material/error:")


def chosen_project(store: Store) -> Project | None:
    """The project this tab looks at; None if none is chosen or it is gone."""
    wanted = session.current().project
    if wanted is None:
        return None
    project = projects.find_known(store, wanted)
    if project is None or project.binned_at is not None:
        st.info("The project of this link is not here any more. Choose another.")
        session.look_at(None)
        return None
    return project


def show_status(
    project: Project,
    standing: ReviewState,
    candidates: Sequence[str],
    beside: Callable[[], None] = lambda: None,
) -> None:
    """Whose work it is and how far it is; "saved" tells what the store has, nothing else."""
    reviewed, accepted = standing.counts(candidates)
    saved = standing.last_saved
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            f"**{escape_markdown(project.name)}** · reviewed {reviewed:,} of {len(candidates):,} · "
            f"accepted {accepted:,}"
            + (f" · last saved {clock(saved)}" if saved else " · nothing decided yet")
        )
        beside()
        _who()


def clock(moment: datetime) -> str:
    """The time as the visitor's clock shows it, with the day unless it is today."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    local = moment.astimezone(zone)
    today = datetime.now(zone).date() == local.date()
    return f"{local:%H:%M:%S}" if today else f"{local:%d %b %Y %H:%M}"


def _who() -> None:
    name = session.reviewer()
    asked = st.popover(f"You: {escape_markdown(name)}", icon=":material/person:", type="tertiary")
    with asked, st.form("frame.reviewer", border=False):
        wanted = st.text_input(
            "Your name, as it will stand beside your decisions", name, max_chars=80
        )
        if st.form_submit_button("Use this name"):
            session.call_reviewer(wanted)
            st.rerun()
