"""What the images show, the pairs of descriptions, and the model that looks at them."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pandas as pd
import streamlit as st

from eap_core import jobs as work
from eap_core.errors import EapError
from eap_core.projects.plan import Plan
from eap_core.projects.prompting import Prompted, PromptPlan
from eap_core.prompts import SHIPPED, Template, checked, object_name, read_templates
from eap_core.prompts.templates import LONGEST_NAME, LONGEST_TEXT, templates_csv
from eap_core.store.jobs import Job
from ui import downloads, frame, jobs, session
from ui.clip_form import ON_FETCHING, model_and_file, on_screen
from ui.subject import Subject
from ui.words import plain

_FAMILIAR = 300  # pixels of the table of templates


def latest(found: Subject) -> Job | None:
    """The last job that looked, or looks, at the images."""
    return jobs.latest(found.store, found.project.id, "prompts")


def failed(job: Job | None) -> bool:
    """Whether the last look failed, and that is news."""
    return job is not None and job.status == "failed" and jobs.just_ended(job)


def outcome(job: Job | None) -> None:
    """What is wrong, in a sentence; the way out is shown where a person can go it."""
    if job is None or not failed(job):
        jobs.outcome(job)
        return
    said = on_screen(job.error or "it failed", " — see “The model” below")
    said = said[:1].upper() + said[1:]
    st.error(plain(said), icon=":material/error:")


def form(found: Subject, seen: Prompted | None, last: Job | None) -> None:
    """All that is asked before looking; a mistake leaves everything as it was typed."""
    before = _before(seen, last)
    name = st.text_input(
        "What do the images show?",
        before.object if before else "",
        max_chars=LONGEST_NAME,
        placeholder="bottle, woven textile, circuit board",
        help="One object, in a few English words: most models know English best.",
        key=f"prompts.object.{found.run.id}",
        persist_state="session",  # while the work is under way the form is not there
        width=420,
    )
    with st.expander("Pairs of descriptions", icon=":material/edit_note:"):
        rows = _templates(found, before)
    model, file = _usual(found, before)
    words = ("prompts", found.project.name, "--object", _named(name or ""))
    with st.expander("The model", expanded=failed(last), icon=":material/memory:"):
        error = last.error if last and failed(last) else None
        key = f"prompts.{found.run.id}"
        model, weights = model_and_file(model, file, key, words, error or "")
    costs = ON_FETCHING if seen is None and not failed(last) else ""
    st.caption(f"{len(found.items):,} images, {len(rows):,} pairs, by {plain(model)}. {costs}")
    if st.button(
        "Look at the images" if seen is None else "Look again",
        type="primary" if seen is None else "secondary",
        icon=":material/visibility:",
        key="prompts.start",
    ):
        with frame.errors_said():
            plan = PromptPlan(object_name(name or ""), checked(rows), model, weights())
            if not jobs.active(latest(found)):
                arguments = {**plan.record, "run": found.run.id}
                work.launch(found.store, "prompts", arguments, found.project.id)
            _keep(found, plan.templates)
            st.rerun()


def _before(seen: Prompted | None, last: Job | None) -> PromptPlan | None:
    """What was asked the last time, even if nothing came of it."""
    if last is not None and last.status in ("failed", "cancelled"):
        return PromptPlan.from_record(last.arguments)
    return seen.plan if seen else None


def _templates(found: Subject, before: PromptPlan | None) -> list[tuple[str, str]]:
    """The pairs as they stand in the table on screen."""
    st.markdown(
        "Each pair describes a normal object and an anomalous one; **{}** stands for its name. "
        "Change a cell, add a row at the end, or bring a table of your own."
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
        key=f"prompts.editor.{found.run.id}.{version}",
        alt=f"{len(base)} pairs of descriptions, which can be changed",
    )
    cells = edited.fillna("").astype(str)
    rows = [(n, a) for n, a in zip(cells["normal"], cells["anomalous"], strict=True) if n or a]
    with st.container(horizontal=True, vertical_alignment="center"):
        address = downloads.offered("prompts.templates", lambda: _csv(rows), "templates.csv")
        downloads.link("Download these pairs (CSV)", address, "prompts.templates.download")
        if st.button("Back to the paper's 27", icon=":material/restart_alt:", type="tertiary"):
            _keep(found, SHIPPED)
            st.rerun()
    file = st.file_uploader(
        "Use the pairs of a CSV with the columns normal, anomalous",
        type=["csv"],
        max_upload_size=1,
        key=f"prompts.file.{found.run.id}.{version}",
    )
    if file is not None:
        with frame.errors_said():
            _keep(found, read_templates(file.getvalue(), file.name))
            st.rerun()
    return rows


def _csv(rows: list[tuple[str, str]]) -> str:
    return templates_csv(Template(normal, anomalous) for normal, anomalous in rows)


def _keep(found: Subject, templates: tuple[Template, ...]) -> None:
    """Another table starts without the changes that were made to the one before."""
    _, version = _base(found, None)
    session.keep(_key(found), (templates, version + 1))


def _base(found: Subject, before: PromptPlan | None) -> tuple[tuple[Template, ...], int]:
    """The pairs that changes are made to, and how many tables there were before."""
    kept = cast("tuple[tuple[Template, ...], int] | None", session.kept(_key(found)))
    return kept or (before.templates if before else SHIPPED, 0)


def _key(found: Subject) -> str:
    return f"prompts.templates.{found.run.id}"


def _usual(found: Subject, before: PromptPlan | None) -> tuple[str, Path | None]:
    """The model that looked before, or that made the run's features: it knows the images."""
    if before is not None:
        return before.model, before.weights
    plan = Plan.from_record(dict(found.run.settings))
    if plan.features != "clip":
        return PromptPlan.model, None
    return plan.clip_model, Path(plan.weights) if plan.weights else None


def _named(name: str) -> str:
    try:
        return object_name(name)
    except EapError:
        return "NAME"
