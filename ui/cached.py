"""Every cached computation of the app, keyed by the full content of its problem."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from eap_core.assemble import problem_from_tables
from eap_core.demo import demo_tables
from eap_core.evidence import Evidence
from eap_core.problem import Problem
from eap_core.scoring import score
from eap_core.workbench import Workbench


@st.cache_resource(max_entries=1, show_spinner=False)
def demo_problem() -> tuple[Problem, dict[str, tuple[str, ...]]]:
    """The demo, and its candidates' columns that are no features."""
    train, candidates = demo_tables()
    return problem_from_tables(train, candidates), dict(candidates.extras)


@st.cache_resource(
    max_entries=8,
    show_spinner="Scoring the candidates",
    hash_funcs={Problem: lambda problem: problem.fingerprint},
)
def scored(problem: Problem, seed: int) -> tuple[pd.DataFrame, Evidence]:
    """The score table and its evidence; the same call as the command line makes."""
    bench = Workbench(problem, seed=seed)
    return score(bench).frame(), bench.evidence()
