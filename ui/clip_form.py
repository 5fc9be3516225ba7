"""Which CLIP model looks at the images, and where its weights come from, as widgets."""

from __future__ import annotations

import shlex
from pathlib import Path

import streamlit as st

from eap_core.images.roots import below_root, configured_roots
from eap_core.projects.plan import Plan


def clip_settings(project: str, given: Plan, key: str) -> tuple[str, str | None]:
    """The model's name and the file of its weights; a DataError where that may not be read."""
    model = st.text_input(
        "CLIP model",
        given.clip_model,
        placeholder=Plan.clip_model,
        key=f"{key}.model",
        persist_state="session",
        help="By open_clip's name for it. Empty is the model of the method's paper.",
    )
    named = (model or "").strip() or Plan.clip_model
    st.caption(
        "The model is fetched once, close to a gigabyte, and then looks at two to four images a "
        "second. If it cannot be fetched, the full features are used instead, and the run says so."
    )
    if configured_roots():
        return named, _file(given, key)
    words = ("python", "-m", "eap_core", "run", project, "--model", named, "--weights", "FILE")
    st.caption("With a file of weights that you have, score from the command line:")
    st.code(shlex.join(words), language=None, wrap_lines=True)
    return named, given.weights if named == given.clip_model else None


def _file(given: Plan, key: str) -> str | None:
    """From the folders that the server's operator has opened, or the one of the run before."""
    file = st.text_input(
        "File with the model's weights on this server (empty: fetched once and kept)",
        given.weights or "",
        placeholder="model.safetensors",
        key=f"{key}.weights",
        persist_state="session",
    )
    path = (file or "").strip()
    if path in ("", given.weights):
        return path or None
    return str(below_root(Path(path), configured_roots()))
