"""Which CLIP model looks at the images, where its file comes from, and what if it cannot be had."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import streamlit as st

from eap_core.clip.int8 import installed
from eap_core.health.finding import Finding
from eap_core.images.roots import below_root, configured_roots
from eap_core.projects.plan import Plan
from ui import health
from ui.words import plain

_FETCHED_BY = re.compile(r"\brun (hf download .+?) where there is a connection")
ON_FETCHING = (
    "The model is fetched once, close to a gigabyte, and then looks at two to four images a second."
)


def clip_settings(project: str, given: Plan, key: str) -> tuple[str, str | None, bool]:
    """The model's name, its file and whether to look in 8 bits; a DataError where the file may not
    be read."""
    st.caption(
        f"{ON_FETCHING} If it cannot be fetched, the full features are used instead, and the run "
        "says so."
    )
    file = Path(given.weights) if given.weights else None
    named, chosen = model_and_file(given.clip_model, file, key, ("run", project))
    eight = installed() and st.toggle(
        "Twice as fast, a little coarser (8 bits)",
        given.int8,
        key=f"{key}.int8",
        persist_state="session",
        help="Tried on some normals first: where it would change the ranking it is not used, and "
        "the run says so. Worth it from some hundred images on.",
    )
    found = chosen()
    return named, str(found) if found else None, eight


def fell_back(project: str, asked: Plan, finding: Finding) -> None:
    """That a run does without CLIP, and how to score with it all the same."""
    health.one(replace(finding, what=on_screen(finding.what)))
    if not _FETCHED_BY.search(finding.what):
        return
    with st.expander("Bring the model by hand", icon=":material/memory:"):
        _by_hand(finding.what)
        if configured_roots():
            st.markdown(
                "3. Score again (below): in the settings choose the image features CLIP, and name "
                "the file that ends in `.safetensors`."
            )
        else:
            _by_command("3. Run", ("run", project), asked.clip_model)


def on_screen(error: str, below: str = "") -> str:
    """What is wrong and what to do, where the core speaks of the command line's options.

    ``below`` tells where the steps are that bring a model by hand.
    """
    if _FETCHED_BY.search(error):
        return error.partition(" — ")[0] + below
    said = error.replace("with --weights FILE", "as the model file")
    return said.replace("with --model", "as the CLIP model")


def model_and_file(
    model: str, file: Path | None, key: str, words: tuple[str, ...], error: str = ""
) -> tuple[str, Callable[[], Path | None]]:
    """The model's name, and how to find its file, which is a DataError where it may not be read.

    ``words`` are those of the command line that does the same work; ``error`` is why the model
    could not be had the last time.
    """
    named = st.text_input(
        "CLIP model",
        model,
        placeholder=Plan.clip_model,
        max_chars=120,
        help="By open_clip's name for it. Empty is the model of the method's paper.",
        key=f"{key}.model",
        persist_state="session",
        width=420,
    )
    named = (named or "").strip() or Plan.clip_model
    lost = bool(_FETCHED_BY.search(error))
    if lost:
        st.markdown("**Bring the model by hand**")
        _by_hand(error)
    if configured_roots():
        if lost:
            st.markdown("3. Name the file that ends in `.safetensors` here, and look again.")
        return named, _file(file, key)
    _by_command("3. Run" if lost else "With a model file that you have, run", words, named)
    return named, lambda: file if named == model else None


def _by_hand(error: str) -> None:
    """The first steps to a model for a server without a connection."""
    st.markdown(
        "1. On a computer that has a connection, and Python with `pip install huggingface_hub`, "
        "run this. It makes a folder of files."
    )
    command = _FETCHED_BY.findall(error)[0].replace(" FOLDER", " model")
    st.code(command, language=None, wrap_lines=True)
    st.markdown(
        "2. Copy all of them into one folder on this server, beside the model file if that is "
        f"here already{_below()}."
    )


def _by_command(start: str, words: tuple[str, ...], model: str) -> None:
    """The way past this page, which may open no files."""
    st.markdown(
        f"{start} this in the program's folder on the server, FILE being the file that ends in "
        "`.safetensors`. What it finds appears on this page, too."
    )
    command = ("python", "-m", "eap_core", *words, "--model", model, "--weights", "FILE")
    st.code(shlex.join(command), language=None, wrap_lines=True)
    st.caption(
        "Files can also be named on this page, once whoever runs the server has opened a folder "
        "for them (EAP\\_ROOTS)."
    )


def _file(given: Path | None, key: str) -> Callable[[], Path | None]:
    """From the folders that the server's operator has opened, or the one of the time before."""
    asked = st.text_input(
        "Model file on this server",
        str(given or ""),
        placeholder="empty: the model is fetched once and kept",
        help="What the model has learned, its weights, in one file such as "
        f"open_clip_model.safetensors{_below()}.",
        key=f"{key}.weights",
        persist_state="session",
    )
    path = Path((asked or "").strip())
    if path in (Path(), given):
        return lambda: given if path == given else None
    return lambda: below_root(path, configured_roots())


def _below() -> str:
    roots = [plain(str(root)) for root in configured_roots()]
    return f", below {' or '.join(roots)}" if roots else ""
