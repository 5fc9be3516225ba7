"""Files from a browser into the store, and the choices that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from eap_core import jobs
from eap_core.errors import SettingsError
from eap_core.images.roots import below_root, configured_roots
from eap_core.missing import Missing
from eap_core.projects.given import Target
from eap_core.projects.intake import as_arguments, folder_arguments
from eap_core.readers import Reading
from eap_core.store.projects import Kind, Project
from eap_core.store.store import Store

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
        raise SettingsError("no file is chosen — drop some files into the field first")
    saved = [(store.blobs.put(file.getvalue()), file.name) for file in files]
    jobs.launch(store, "add", as_arguments(saved, target, reading), project.id)
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
            exclude=_listed(exclude),
            metadata=_listed(beside),
            missing=_MISSING[missing],
            decimal=None if decimal == "found" else decimal,  # type: ignore[arg-type]
            delimiter={"found": None, "tab": "\t"}.get(delimiter, delimiter),
            encoding=encoding.strip() or None,
            header={"found": None, "yes": True, "no": False}[header],
        )

    return reading


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _folder(store: Store, project: Project, target: Target | None) -> None:
    with st.expander("Or a folder on the server"), st.form("data.folder", border=False):
        folder = st.text_input("Path of the folder")
        if st.form_submit_button("Add the folder", icon=":material/folder:"):
            path = below_root(Path(folder), configured_roots())
            jobs.launch(store, "add", folder_arguments(path, target), project.id)
            st.rerun()
