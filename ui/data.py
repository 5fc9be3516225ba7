"""Home and data: the projects with how far each is, and files from a browser into the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from eap_core.base.errors import SettingsError
from eap_core.base.table import Missing
from eap_core.images.sources import below_root, configured_roots
from eap_core.jobs import DemoJob, UploadJob, launch
from eap_core.project import Target
from eap_core.project.demos import NAMES, Demo
from eap_core.readers.files import Reading
from eap_core.store import projects
from eap_core.store.projects import Kind, Project
from eap_core.store.store import Store
from ui import frame, jobs, session
from ui.text import ROLE_WORDS, escape_markdown

_DEMOS: dict[Demo, tuple[str, str, str]] = {
    "images": (
        "Machined parts",
        ":material/image:",
        "120 drawn defects by four generators, beside photographs of good and damaged flanges.",
    ),
    "table": (
        "Tumour measurements",
        ":material/table_chart:",
        "160 made-up malignant rows, beside measurements of benign and malignant tumours.",
    ),
}


def show_projects(store: Store) -> None:
    """All that can be opened, and what can be begun."""
    st.title("Which synthetic anomalies are worth keeping?", anchor=False)
    st.markdown(
        "Score generated defects or frauds, look at them, accept or reject each with one key, and "
        "export a set you can defend."
    )
    deleted = session.take("home.deleted")
    if deleted:
        st.success(
            f"{escape_markdown(str(deleted))} is deleted. It can be taken back below the list."
        )
    found = projects.list_overviews(store)
    _demos(store, {row.project.name: row for row in found})
    with st.container(border=True):
        _new(store)
    if found:
        st.subheader("Projects", anchor=False)
    for row in found:
        _row(row)
    _bin(store)


def _demos(store: Store, known: dict[str, projects.Overview]) -> None:
    job = jobs.latest_job(store, None, DemoJob)
    awaited = job is not None and job.id == session.current().awaited
    if job is not None and awaited:
        there = known.get(NAMES[DemoJob.from_record(job.arguments).demo])
        if there is not None and there.project.current_run is not None:
            _open(there.project.id)  # scored: further methods and the map follow by themselves
    if job is not None and jobs.active_job(job) and awaited:
        demo = DemoJob.from_record(job.arguments).demo
        jobs.show_progress(store, job.id, ready=lambda: _is_scored(store, demo))
        return
    jobs.show_outcome(job)
    columns = st.columns(len(_DEMOS))
    for column, (kind, (title, icon, words)) in zip(columns, _DEMOS.items(), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"{icon} **Demo: {title}**  \n{words}")
            if st.button(f"Try {title.lower()}", key=f"demo.{kind}", icon=":material/play_arrow:"):
                there = known.get(NAMES[kind])
                if there is not None and there.project.current_run is not None:
                    _open(there.project.id)
                session.await_demo(launch(store, DemoJob(kind)).id)
                st.rerun()


def _is_scored(store: Store, kind: Demo) -> bool:
    return any(
        row.project.name == NAMES[kind] and row.project.current_run is not None
        for row in projects.list_overviews(store)
    )


def _open(project: str) -> None:
    session.look_at(project)
    st.switch_page("pages/review.py", query_params=session.link())


def _new(store: Store) -> None:
    with st.form("data.new", border=False):
        st.subheader("New project", anchor=False)
        name = st.text_input("Name", max_chars=120, placeholder="Bottle line 3, October")
        kinds: dict[str, Kind] = {"Images": "images", "Table": "table"}
        kind = st.segmented_control("What do you have?", list(kinds), default="Images")
        if st.form_submit_button("Create", type="primary", icon=":material/add:"):
            with frame.show_errors():
                made = projects.create(store, name, kinds[kind or "Images"])
                session.look_at(made.id)
                st.rerun()


def _row(row: projects.Overview) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        icon = ":material/image:" if row.project.kind == "images" else ":material/table_chart:"
        # The name is the button: every one of them is called differently.
        if st.button(
            escape_markdown(row.project.name),
            key=f"open.{row.project.id}",
            icon=icon,
            type="tertiary",
        ):
            session.look_at(row.project.id)
            st.rerun()
        st.caption(_summary(row))
        if row.candidates and row.project.current_run:
            share = row.reviewed / row.candidates
            words = f"reviewed {row.reviewed:,} of {row.candidates:,}, accepted {row.accepted:,}"
            st.progress(min(share, 1.0), words, width=280)


def _summary(row: projects.Overview) -> str:
    counts = ", ".join(
        f"{row.items[role]:,} {words.lower()}"
        for role, words in ROLE_WORDS.items()
        if row.items.get(role)
    )
    scored = "" if row.project.current_run or not counts else " · not scored yet"
    return (counts or "empty") + scored


def _bin(store: Store) -> None:
    binned = projects.list_bin(store)
    if not binned:
        return
    with st.expander(f"Deleted projects ({len(binned):,})"):
        st.caption("Nothing of them is lost until an operator empties the bin.")
        for project in binned:
            if st.button(
                f"Take back {escape_markdown(project.name)}",
                key=f"back.{project.id}",
                icon=":material/undo:",
            ):
                with frame.show_errors():
                    projects.from_bin(store, project.id)
                    st.rerun()


# Files from a browser into the store, and the choices that go with them.

_ENDINGS = {
    "images": ["png", "jpg", "jpeg", "bmp", "tif", "tiff", "webp", "zip"],
    "table": ["csv", "tsv", "txt", "parquet", "npz", "npy"],
}
_TARGETS: dict[Kind, dict[str, Target | None]] = {
    "images": {
        "Normals": "normal",
        "Real anomalies": "anomaly",
        "Candidates": "candidate",
        "Held-out test": "test",
        "Everything in one ZIP": None,
    },
    "table": {
        "Normals": "normal",
        "Real anomalies": "anomaly",
        "Candidates": "candidate",
        "Normals and anomalies with labels": "train",
        "Held-out test with labels": "test",
    },
}
_HELP = {
    None: "Folders tell what each image is: normal, anomaly/scratch, generated/my-generator, "
    "masks, or an MVTec or anomalib tree.",
    "normal": "Good examples: three at the least, fifty or more are better.",
    "anomaly": "A few real defects or frauds; five to fifty are plenty.",
    "candidate": "The generated anomalies that are to be judged.",
    "test": "Real data kept aside, to measure what the curated set is worth. Optional.",
    "train": "One table with a column of 0 for normal and 1 for anomaly.",
}
_MISSING: dict[str, Missing] = {
    "Refuse the file": "refuse",
    "Leave such rows out": "drop",
    "Fill in the normals' median": "median",
}


def add_files(store: Store, project: Project, busy: bool = False) -> None:
    """Choose a role and files, and start adding them; the role stays chosen while others come."""
    targets = _TARGETS[project.kind]
    chosen = st.segmented_control(
        "What are these files?",
        list(targets),
        default="Normals",
        key=f"data.target.{project.kind}",
        required=True,
        disabled=busy,
    )
    if busy:
        return
    target = targets[chosen or "Normals"]
    with st.form("data.files", clear_on_submit=True, border=True):
        files = st.file_uploader(
            "Images, or a ZIP of them" if project.kind == "images" else "Tables",
            accept_multiple_files=True,
            help="For more than a hundred images a ZIP is much faster.",
            key="data.uploader",
        )
        st.caption(f"{_HELP[target]} Accepted: {', '.join(_ENDINGS[project.kind])}.")
        reading = _reading() if project.kind == "table" else Reading
        if st.form_submit_button("Add", type="primary", icon=":material/add:"):
            _launch(store, project, files, target, reading() if callable(reading) else reading)
    if project.kind == "images" and configured_roots():
        _folder(store, project, target)


def _launch(
    store: Store,
    project: Project,
    files: Sequence[UploadedFile],
    target: Target | None,
    reading: Reading,
) -> None:
    if not files:
        raise SettingsError(
            "no file is chosen",
            advice="drop some files into the field first",
        )
    saved = tuple((store.blobs.put(file.getvalue()), file.name) for file in files)
    launch(store, UploadJob(saved, target=target, reading=reading), project.id)
    st.rerun()


def _reading() -> Any:
    """What a person may know better than the file says; returns how to read it."""
    with st.expander("How to read the tables"):
        left, right = st.columns(2)
        label = left.text_input("Label column", placeholder="found by its name")
        row_id = right.text_input("Id column", placeholder="found by its name")
        exclude = left.text_input("Columns to leave out", placeholder="a, b")
        beside = right.text_input("Columns to keep beside the scores", placeholder="good, batch")
        missing = right.selectbox("Missing values", list(_MISSING))
        decimal = left.selectbox("Decimal mark", ["found", ".", ","])
        delimiter = right.selectbox("Between columns", ["found", ",", ";", "tab", "|"])
        encoding = left.text_input("Encoding", placeholder="found")
        header = right.selectbox("First row holds names", ["found", "yes", "no"])

    def reading() -> Reading:
        return Reading(
            label=label.strip() or None,
            id_column=row_id.strip() or None,
            exclude=_split_names(exclude),
            metadata=_split_names(beside),
            missing=_MISSING[missing],
            decimal=None if decimal == "found" else decimal,  # type: ignore[arg-type]
            delimiter={"found": None, "tab": "\t"}.get(delimiter, delimiter),
            encoding=encoding.strip() or None,
            header={"found": None, "yes": True, "no": False}[header],
        )

    return reading


def _split_names(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _folder(store: Store, project: Project, target: Target | None) -> None:
    with st.expander("Or a folder on the server"), st.form("data.folder", border=False):
        folder = st.text_input("Path of the folder")
        if st.form_submit_button("Add the folder", icon=":material/folder:"):
            path = below_root(Path(folder), configured_roots())
            launch(store, UploadJob(folder=path, target=target), project.id)
            st.rerun()
