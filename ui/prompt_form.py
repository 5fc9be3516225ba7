"""What the images show, the pairs of descriptions, and the model that looks at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import pandas as pd
import streamlit as st

from eap_core.analysis import Plan
from eap_core.base.errors import EapError, UnavailableError
from eap_core.images.sources import configured_roots
from eap_core.jobs import PromptJob, launch
from eap_core.project.prompts import PromptPlan, PromptViews
from eap_core.prompts import (
    LONGEST_NAME,
    LONGEST_TEXT,
    SHIPPED,
    Template,
    check_object_name,
    check_templates,
    read_templates,
    templates_csv,
)
from eap_core.store.jobs import Job
from ui import files, frame, jobs, session
from ui.clip_form import ON_FETCHING, by_command, model_and_file, recall_weights
from ui.scored_project import ScoredProject
from ui.text import error_words, escape_markdown, find_fetching

_FAMILIAR = 300  # pixels of the table of templates
_START = "prompts.start"
Rows = Sequence[tuple[str, str]]


def refuse_another() -> UnavailableError:
    """Why a second look is not begun."""
    return UnavailableError(
        "another look at these images is under way",
        advice="yours was not begun, ask again when that has ended",
    )


def latest_look(found: ScoredProject) -> Job | None:
    """The last job that looked, or looks, at the images."""
    return jobs.latest_job(found.store, found.project.id, PromptJob)


def look_failed(job: Job | None) -> bool:
    """Whether the last look failed, and that is news."""
    return job is not None and job.status == "failed" and jobs.just_ended(job)


def is_pressed() -> bool:
    """Whether the button was pressed just now, also if it is not drawn any more."""
    return bool(session.widget(_START))


def show_look(job: Job | None) -> None:
    """What is wrong, in a sentence; the way out is shown where a person can go it."""
    if job is None or not look_failed(job):
        jobs.show_outcome(job)
        return
    said = error_words(job.failure or jobs.UNEXPLAINED, "see “The model” below")
    said = said[:1].upper() + said[1:]
    st.error(escape_markdown(said), icon=":material/error:")


def show_form(found: ScoredProject, seen: PromptViews | None, last: Job | None) -> None:
    """All that is asked before looking; a mistake leaves everything as it was typed."""
    before = _before(seen, last)
    name = st.text_input(
        "What do the images show?",
        before.object if before else "",
        max_chars=LONGEST_NAME,
        placeholder="bottle, woven textile, circuit board",
        help="One object, in a few English words: most models know English best.",
        key=f"prompts.object.{found.project.id}",
        persist_state="session",  # while the work is under way the form is not there
        width=420,
    )
    with st.expander("Pairs of descriptions", icon=":material/edit_note:"):
        rows = _templates(found, before)
    with st.expander("The model", expanded=look_failed(last), icon=":material/memory:"):
        fetching = find_fetching(last.failure) if last and look_failed(last) else None
        model = model_and_file(*_usual(found, before), f"prompts.{found.project.id}", fetching)
        if not configured_roots():
            words = ("prompts", found.project.name, "--object", _check_name(name or ""))
            start = "3. Run" if fetching else "With a model file that you have, run"
            by_command(start, words, model.name)
    costs = ON_FETCHING if model.fetched and seen is None and not look_failed(last) else ""
    count = sum(map(any, rows))
    st.caption(
        f"{len(found.items):,} images, {count:,} pair{'s' if count != 1 else ''}, by "
        f"{escape_markdown(model.name)}. {costs}"
    )
    if st.button(
        "Look at the images" if seen is None else "Look again",
        type="primary" if seen is None else "secondary",
        icon=":material/visibility:",
        key=_START,
    ):
        with frame.show_errors():
            plan = PromptPlan(
                check_object_name(name or ""), _check_rows(rows), model.name, model.file()
            )
            if jobs.active_job(latest_look(found)):  # begun in another tab, or by somebody else
                raise refuse_another()
            launch(found.store, PromptJob(plan), found.project.id)
            _keep(found, plan.templates)
            st.rerun()


def _before(seen: PromptViews | None, last: Job | None) -> PromptPlan | None:
    """What was asked the last time, even if nothing came of it."""
    if last is not None and last.status in ("failed", "cancelled"):
        return PromptJob.from_record(last.arguments).plan
    return seen.plan if seen else None


def _templates(found: ScoredProject, before: PromptPlan | None) -> list[tuple[str, str]]:
    """The pairs as they stand in the table on screen, empty rows among them."""
    st.markdown(
        "Each pair describes a normal object and an anomalous one; **{}** stands for its name. "
        "Change a cell, add a row at the end, or bring a table of your own. The paper's pairs are "
        "spelt as they are there."
    )
    base, version = _base(found, before)
    edited = st.data_editor(
        pd.DataFrame(base, columns=["normal", "anomalous"]),
        num_rows="dynamic",
        hide_index=True,
        height=_FAMILIAR,
        column_config={
            "normal": st.column_config.TextColumn("Normal", max_chars=LONGEST_TEXT),
            "anomalous": st.column_config.TextColumn("Anomalous", max_chars=LONGEST_TEXT),
        },
        key=_editor(found, version),
        alt=f"{len(base)} pairs of descriptions, which can be changed",
    )
    cells = edited.fillna("").astype(str)
    rows = list(zip(cells["normal"], cells["anomalous"], strict=True))
    session.remember(_draft(found), rows)  # the table itself is forgotten with the page
    with st.container(horizontal=True, vertical_alignment="center"):
        address = files.offer_download("prompts.templates", lambda: _csv(rows), "templates.csv")
        files.show_link("Download these pairs (CSV)", address, "prompts.templates.download")
        if st.button("Back to the paper's 27", icon=":material/restart_alt:", type="tertiary"):
            _keep(found, SHIPPED)
            st.rerun()
    file = st.file_uploader(
        "Use the pairs of a CSV with the columns normal, anomalous",
        type=["csv"],
        max_upload_size=1,
        key=f"prompts.file.{found.project.id}.{version}",
    )
    if file is not None:
        with frame.show_errors():
            _keep(found, read_templates(file.getvalue(), file.name))
            st.rerun()
    return rows


def _csv(rows: Iterable[tuple[str, str]]) -> str:
    return templates_csv(Template(*row) for row in rows if any(row))


def _check_rows(rows: list[tuple[str, str]]) -> tuple[Template, ...]:
    """Without the empty rows, which count all the same when a person looks for the fifth."""
    filled = {f"row {i + 1}": row for i, row in enumerate(rows) if any(row)}
    return check_templates(filled.values(), places=list(filled))


def _keep(found: ScoredProject, templates: tuple[Template, ...]) -> None:
    """Another table starts without the changes that were made to the one before."""
    session.take(_draft(found))
    _, version = _base(found, None)
    session.remember(_key(found), (templates, version + 1))


def _base(found: ScoredProject, before: PromptPlan | None) -> tuple[Rows, int]:
    """The pairs that changes are made to, and how many tables there were before.

    Whoever comes back to the page finds the changes that were made when it was left.
    """
    kept = cast("tuple[Rows, int] | None", session.recall(_key(found)))
    rows, version = kept or (before.templates if before else SHIPPED, 0)
    left = cast("Rows | None", session.recall(_draft(found)))
    if left is not None and session.widget(_editor(found, version)) is None:
        rows, version = [row for row in left if any(row)], version + 1
        session.remember(_key(found), (rows, version))
    return rows, version


def _key(found: ScoredProject) -> str:
    return f"prompts.templates.{found.project.id}"


def _draft(found: ScoredProject) -> str:
    return f"prompts.draft.{found.project.id}"


def _editor(found: ScoredProject, version: int) -> str:
    return f"prompts.editor.{found.project.id}.{version}"


def _usual(found: ScoredProject, before: PromptPlan | None) -> tuple[str, Path | None]:
    """The model that looked before, or that made the run's features: it knows the images."""
    if before is not None:
        return before.model, before.weights
    plan = Plan.from_record(dict(found.run.settings))
    if plan.features != "clip":
        return PromptPlan.model, None
    return plan.clip_model, recall_weights(plan.weights)


def _check_name(name: str) -> str:
    try:
        return check_object_name(name)
    except EapError:
        return "NAME"
