"""Which CLIP model looks at the images, where its file comes from, and what if it cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from eap_core.analysis import Plan
from eap_core.base.errors import DataError, EapError
from eap_core.features.clip import is_installed
from eap_core.health import Finding
from eap_core.images.sources import below_root, configured_roots
from eap_core.project.run import describe_fallback
from ui import health
from ui.text import (
    advise,
    clip_command,
    error_words,
    escape_markdown,
    find_fetching,
    list_options,
)

ON_FETCHING = (
    "The model is fetched once, close to a gigabyte, and then looks at two to four images a second."
)


@dataclass(frozen=True)
class Model:
    """What the fields say; ``file`` is a DataError where the one that is named may not be read."""

    name: str
    file: Callable[[], Path | None]
    fetched: bool  # no file is named


def clip_settings(given: Plan, key: str) -> tuple[str, str | None, bool]:
    """The model's name, its file and whether to look in 8 bits; a DataError where the file may not
    be read, which is said beside its field."""
    place = st.empty()
    model = model_and_file(given.clip_model, recall_weights(given.weights), key)
    if model.fetched:
        place.caption(
            f"{ON_FETCHING} If it cannot be fetched, the full features are used instead, and the "
            "run says so."
        )
    wrong = st.container()
    eight = is_installed() and st.toggle(
        "Twice as fast, a little coarser (8 bits)",
        given.int8,
        key=f"{key}.int8",
        persist_state="session",
        help="Tried on some normals first: where it would change the ranking it is not used, and "
        "the run says so. Worth it from some hundred images on.",
    )
    try:
        found = model.file()
    except DataError as error:
        wrong.error(escape_markdown(error_words(error)), icon=":material/error:")
        raise DataError("The model file cannot be used: see above, beside its field.") from error
    return model.name, str(found) if found else None, eight


def show_fallback(project: str, asked: Plan, finding: Finding, lacking: EapError | None) -> None:
    """That a run does without CLIP, and how to score with it all the same."""
    if lacking is not None:
        finding = replace(finding, what=describe_fallback(advise(lacking)))
    health.show_finding(finding)
    fetching = find_fetching(lacking)
    if fetching is None:
        return
    with st.expander("Bring the model by hand", icon=":material/memory:"):
        _by_hand(fetching)
        if configured_roots():
            st.markdown(
                "3. Score again (below): in the settings choose the image features CLIP, and name "
                "the file that ends in `.safetensors`."
            )
        else:
            score_by_command(project, asked, "3. Run")


def model_and_file(model: str, file: Path | None, key: str, fetching: str | None = None) -> Model:
    """The fields, as they are or as they were the last time.

    ``fetching`` brings the model by hand, if it could not be had then; where files may not be named
    on pages, a command must be offered, too.
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
    if fetching:
        st.markdown("**Bring the model by hand**")
        _by_hand(fetching)
    if configured_roots():
        if fetching:
            st.markdown("3. Name the file that ends in `.safetensors` here, and look again.")
        return _with_file(named, file, key)
    same = file if named == model else None
    if same is not None and not st.toggle(
        f"With the model file {escape_markdown(same.name)}",
        True,
        key=f"{key}.same",
        persist_state="session",
    ):
        same = None
    return Model(named, lambda: same, same is None)


def recall_weights(weights: str | None) -> Path | None:
    """A file of the time before; of one that was named on another machine only the name is here."""
    path = Path(weights) if weights else None
    return path if path is not None and path.is_absolute() else None


def score_by_command(project: str, plan: Plan, start: str) -> None:
    """How to score with a file of weights where pages may open none."""
    by_command(start, ("run", project, *list_options(plan)), plan.clip_model)


def by_command(start: str, words: tuple[str, ...], model: str) -> None:
    """The way past this page, which may open no files."""
    st.markdown(
        f"{start} this in the program's folder on the server, FILE being the file that ends in "
        "`.safetensors`. What it finds appears on this page, too."
    )
    st.code(
        clip_command(*words, "--model", model, "--weights", "FILE"), language=None, wrap_lines=True
    )
    st.caption(
        "Files can also be named on this page, once whoever runs the server has opened a folder "
        "for them (EAP\\_ROOTS)."
    )


def _by_hand(fetching: str) -> None:
    """The first steps to a model for a server without a connection."""
    st.markdown(
        "1. On a computer that has a connection, and Python with `pip install huggingface_hub`, "
        "run this. It makes a folder of files."
    )
    st.code(fetching.replace(" FOLDER", " model"), language=None, wrap_lines=True)
    st.markdown(
        "2. Copy all of them into one folder on this server, beside the model file if that is "
        f"here already{_below()}."
    )


def _with_file(model: str, given: Path | None, key: str) -> Model:
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
    path = Path((asked or "").strip().strip("\"'"))  # as paths are pasted
    if path == Path():
        return Model(model, lambda: None, fetched=True)
    if path == given:
        return Model(model, lambda: given, fetched=False)
    return Model(model, lambda: below_root(path, configured_roots()), fetched=False)


def _below() -> str:
    roots = [escape_markdown(str(root)) for root in configured_roots()]
    return f", below {' or '.join(roots)}" if roots else ""
