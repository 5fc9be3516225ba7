"""Every cached computation of the app, keyed by a run, which never changes once finished."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from eap_core.evidence import Evidence
from eap_core.problem import Problem
from eap_core.projects.contents import prepared
from eap_core.projects.plan import Plan
from eap_core.projects.results import run_frame
from eap_core.store import runs
from eap_core.workbench import Workbench
from ui.store import opened


@st.cache_resource(max_entries=8, show_spinner=False)
def scores(run: str, state: str) -> pd.DataFrame:  # noqa: ARG001 -- removed items leave the table
    """The score table of a finished run."""
    return run_frame(opened(), run)


@st.cache_resource(max_entries=2, show_spinner="Looking at the evidence")
def evidence(run: str) -> tuple[Problem, Evidence, Plan] | None:
    """What a run's scores rest on, while the project's items are those of the run."""
    found = runs.by_id(opened(), run)
    plan = Plan.from_record(dict(found.settings))
    ready = prepared(opened(), found.project, plan)
    if ready.problem.fingerprint != found.fingerprint:
        return None
    return ready.problem, Workbench(ready.problem, plan.settings, plan.seed).evidence(), plan
