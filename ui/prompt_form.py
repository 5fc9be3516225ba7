"""What the images show, the pairs of templates, and the model that looks at them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pandas as pd
import streamlit as st

from eap_core import jobs as work
from eap_core.errors import EapError
from eap_core.images.roots import below_root, configured_roots
from eap_core.projects.plan import Plan
from eap_core.projects.prompting import Prompted, PromptPlan
from eap_core.prompts import SHIPPED, Template, checked, object_name, read_templates
from eap_core.prompts.templates import LONGEST_NAME, LONGEST_TEXT, templates_csv
from eap_core.store.jobs import Job
from ui import downloads, frame, jobs, session
from ui.subject import Subject

_FAMILIAR = 300  # pixels of the table of templates


def under_way(found: Subject) -> Job | None:
    """The job that looks at the images, if there is one."""
    job = jobs.latest(found.store, found.project.id, "prompts")
    return job if jobs.active(job) else None


def form(found: Subject, seen: Prompted | None) -> None:
    """All that is asked before looking; a mistake leaves everything as it was typed."""
    last = jobs.latest(found.store, found.project.id, "prompts")
    jobs.outcome(last)
    failed = last is not None and last.status == "failed" and jobs.just_ended(last)
    before = seen.plan if seen else None
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
    with st.expander("The model", expanded=failed, icon=":material/memory:"):
        model, weights = _model(found, before, name or "")
    words = "Look at the images" if seen is None else "Look again"
    if st.button(
        words,
        type="primary" if seen is None else "secondary",
        icon=":material/visibility:",
        key="prompts.start",
    ):
        with frame.errors_said():
            plan = PromptPlan(object_name(name or ""), checked(rows), model, weights())
            if under_way(found) is None:
                arguments = {**plan.record, "run": found.run.id}
                work.launch(found.store, "prompts", arguments, found.project.id)
            _replace(found, plan.templates)


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
            _replace(found, SHIPPED)
    with st.form("prompts.upload", clear_on_submit=True, border=False):
        file = st.file_uploader(
            "Pairs from a CSV with the columns normal, anomalous",
            type=["csv"],
            max_upload_size=1,
            key="prompts.file",
        )
        if st.form_submit_button("Use this file", icon=":material/upload:") and file is not None:
            with frame.errors_said():
                _replace(found, read_templates(file.getvalue(), file.name))
    return rows


def _csv(rows: list[tuple[str, str]]) -> str:
    return templates_csv(Template(normal, anomalous) for normal, anomalous in rows)


def _replace(found: Subject, templates: tuple[Template, ...]) -> None:
    """Another table starts without the changes that were made to the one before."""
    _, version = _base(found, None)
    session.keep(_key(found), (templates, version + 1))
    st.rerun()


def _base(found: Subject, before: PromptPlan | None) -> tuple[tuple[Template, ...], int]:
    """The pairs that changes are made to, and how many tables there were before."""
    kept = cast("tuple[tuple[Template, ...], int] | None", session.kept(_key(found)))
    return kept or (before.templates if before else SHIPPED, 0)


def _key(found: Subject) -> str:
    return f"prompts.templates.{found.run.id}"


def _model(
    found: Subject, before: PromptPlan | None, name: str
) -> tuple[str, Callable[[], Path | None]]:
    """Which model, and how to find its weights, which is a DataError where they may not be read."""
    given, file = _usual(found, before)
    model = st.text_input(
        "CLIP model",
        given,
        placeholder=PromptPlan.model,
        max_chars=120,
        help="By open_clip's name for it. Empty is the model of the method's paper.",
        key=f"prompts.model.{found.run.id}",
        persist_state="session",
        width=420,
    )
    named = (model or "").strip() or PromptPlan.model
    if not configured_roots():
        st.caption("With a file of weights that you have, look from the command line:")
        st.code(_command(found.project.name, name, named), language=None, wrap_lines=True)
        return named, lambda: file if named == given else None
    asked = st.text_input(
        "File with the model's weights on this server (empty: fetched once and kept)",
        str(file or ""),
        placeholder="model.safetensors",
        key=f"prompts.weights.{found.run.id}",
        persist_state="session",
    )
    path = Path((asked or "").strip())
    if path in (Path(), file):
        return named, lambda: file if path == file else None
    return named, lambda: below_root(path, configured_roots())


def _usual(found: Subject, before: PromptPlan | None) -> tuple[str, Path | None]:
    """The model that looked before, or that made the run's features: it knows the images."""
    if before is not None:
        return before.model, before.weights
    plan = Plan.from_record(dict(found.run.settings))
    if plan.features != "clip":
        return PromptPlan.model, None
    return plan.clip_model, Path(plan.weights) if plan.weights else None


def _command(project: str, name: str, model: str) -> str:
    given = [project, "--object", _named(name), "--model", model, "--weights", "FILE"]
    return shlex.join(["python", "-m", "eap_core", "prompts", *given])


def _named(name: str) -> str:
    try:
        return object_name(name)
    except EapError:
        return "NAME"
