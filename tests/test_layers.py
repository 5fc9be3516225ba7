"""The core is usable without the app, and light to import."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded(code: str) -> str:
    """Which of the two are loaded after running the code in a process of its own."""
    code = f"import sys\n{code}\nprint({{'streamlit', 'torch'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module",
    [
        "eap_core",
        "eap_core.analysis.score",
        "eap_core.cli",
        "eap_core.features.clip_model",
        "eap_core.features",
        "eap_core.jobs",
    ],
)
def test_the_core_loads_neither_streamlit_nor_torch(module: str) -> None:
    assert loaded(f"import {module}") == "set()"


def test_scoring_with_every_evaluator_loads_neither() -> None:
    code = """
from eap_core.base.prepare import problem_from_tables
from eap_core.project.demos import demo_tables
from eap_core.analysis.score import score
from eap_core.scoring.workbench import Workbench
score(Workbench(problem_from_tables(*demo_tables())), ["all"])
"""
    assert loaded(code) == "set()"
