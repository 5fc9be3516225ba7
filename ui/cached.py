"""Every cached computation of the app, keyed by a run or by what a project holds."""

from __future__ import annotations

import io
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image

from eap_core.analysis.compare import Comparison, compare_scores
from eap_core.analysis.neighbours import Places
from eap_core.analysis.trust import Rehearsal
from eap_core.images.decode import rgb_of
from eap_core.project.prompts import PromptReport, PromptViews, report_prompts
from eap_core.project.prompts import read_prompts as prompts_of
from eap_core.project.rehearsal import read_rehearsal
from eap_core.project.results import (
    CandidateFacts,
    add_parts,
    chosen_evaluator,
    read_facts,
    read_map,
    run_frame,
)
from eap_core.review.queue import evaluator_columns
from eap_core.store import cleanup, runs
from eap_core.store.decisions import Ledger
from eap_core.store.items import Item, items_of
from eap_core.store.runs import Run
from eap_core.store.store import Store, open_store

# The one store of this server, opened once and shared by every visitor.


@st.cache_resource(show_spinner=False)
def shared_store() -> Store:
    """The store that EAP_HOME and EAP_STORE name; safe to share between threads."""
    return open_store()


_LONGEST = 1_280  # larger than any pane of the review, also at twice the size


def scores_of(run: Run, state: str) -> pd.DataFrame:
    """The score table of a run by the score that is chosen, and the lines that are drawn, now."""
    columns = runs.score_names(shared_store(), run.id)
    chosen = chosen_evaluator(run, columns)
    return scores(run.id, state, columns, chosen, rehearsal(run.id) is not None)


@st.cache_resource(max_entries=8, show_spinner=False)
def scores(
    run: str,
    state: str,  # noqa: ARG001
    columns: tuple[str, ...],  # noqa: ARG001
    chosen: str,
    rehearsed: bool,  # noqa: ARG001
) -> pd.DataFrame:
    """The score table of a run, with the parts of its chosen score; it gains columns while other
    methods finish, and removed items leave it."""
    return add_parts(run_frame(shared_store(), run), chosen)


@st.cache_resource(max_entries=8, show_spinner="Comparing the methods")
def comparison(run: str, state: str, columns: tuple[str, ...]) -> Comparison:  # noqa: ARG001
    """How the methods of a run agree; a second's work for ten thousand candidates."""
    table = scores_of(runs.by_id(shared_store(), run), state)
    return compare_scores(
        {name: table[name].to_numpy(np.float64) for name in evaluator_columns(table)}
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def items(project: str, state: str) -> Mapping[str, Item]:  # noqa: ARG001
    """What a project holds, by id."""
    return MappingProxyType({item.id: item for item in items_of(shared_store(), project)})


@st.cache_resource(max_entries=8, show_spinner=False)
def cards(
    run: str,  # noqa: ARG001
    state: str,  # noqa: ARG001
    insight: bool,  # noqa: ARG001
    chosen: str,  # noqa: ARG001
    rehearsed: bool,  # noqa: ARG001
) -> dict[int, Any]:
    """What the review has shown of a run's candidates so far, by row; whoever looks adds to it."""
    return {}


@st.cache_resource(max_entries=64, show_spinner=False)
def ledger(project: str) -> Ledger:
    """The folded log of a project, which every visitor shares and brings up to date."""
    return Ledger(shared_store(), project)


@st.cache_resource(max_entries=64, show_spinner=False)
def large(sha256: str) -> bytes:
    """An image for the review, encoded anew: as good as the original to the eye."""
    picture = rgb_of(shared_store().blobs.read(sha256))
    if max(picture.size) > _LONGEST:
        picture.thumbnail((_LONGEST, _LONGEST), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=95, subsampling=0)
    return stream.getvalue()


@st.cache_resource(max_entries=8, show_spinner=False, validate=lambda found: found is not None)
def insight(run: str) -> CandidateFacts | None:
    """What is known of a run's candidates beyond their scores; None until it is computed."""
    return read_facts(shared_store(), run)


@st.cache_resource(max_entries=8, show_spinner=False, validate=lambda found: found is not None)
def rehearsal(run: str) -> Rehearsal | None:
    """How right the scores of a run are on its own real anomalies; None until it is computed."""
    return read_rehearsal(shared_store(), run)


@st.cache_resource(
    max_entries=8,
    show_spinner=False,
    validate=lambda found: found is not None and found.method == "umap",
)
def places(run: str) -> Places | None:
    """Where the map shows each row of a run; asked for again until the final map is there."""
    return read_map(shared_store(), run)


def prompts_mark(project: str) -> int:
    """Changes whenever other prompts were tried on a project's images."""
    try:
        return cleanup.prompts_file(shared_store().home, project).stat().st_mtime_ns
    except OSError:
        return 0


@st.cache_resource(max_entries=4, show_spinner=False)
def prompt_views(project: str, state: str, mark: int) -> PromptViews | None:  # noqa: ARG001
    """What a model sees in a project's images; None while none has looked."""
    return prompts_of(shared_store(), project)


@st.cache_resource(max_entries=4, show_spinner="Comparing the prompts")
def prompt_report(
    run: str,
    state: str,
    columns: tuple[str, ...],  # noqa: ARG001
    mark: int,
    accepted: tuple[str, ...],
) -> PromptReport:
    """Which pair each selection chooses, the accepted candidates' among them."""
    about = runs.by_id(shared_store(), run)
    seen = prompt_views(about.project, state, mark)
    assert seen is not None  # whoever asks has looked
    return report_prompts(seen, scores_of(about, state), accepted, int(about.settings["seed"]))
