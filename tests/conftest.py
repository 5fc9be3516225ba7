"""Problems that the tests share."""

from __future__ import annotations

import os
from pathlib import Path

# Read when numpy and torch are loaded, so before them. Workers of pytest share the cores already:
# where each has threads on all of them, threads wait for each other. Processes that tests start
# inherit it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from eap_core.base.problem import Problem

# No test is about time: what else the machine is doing must not decide.
# New examples are searched for where somebody can look at them; a check of a commit, which may be
# repeated, says the same of the same commit each time.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")

SHARED = Path(__file__).parents[2] / "shared"


def make_problem(
    seed: int = 0, normals: int = 60, anomalies: int = 5, each: int = 10, columns: int = 3
) -> Problem:
    """A cloud of normals, real anomalies beside it, and candidates of the three kinds.

    The first ``each`` candidates are realistic, the next look normal, the last are far away.
    """
    rng = np.random.default_rng(seed)
    beside = np.r_[3.0, np.zeros(columns - 1)]
    x_train = np.vstack(
        [rng.normal(size=(normals, columns)), beside + rng.normal(size=(anomalies, columns))]
    )
    candidates = np.vstack(
        [
            beside + rng.normal(size=(each, columns)) * 0.7,
            rng.normal(size=(each, columns)) * 0.7,
            40 * rng.choice([-1, 1], size=(each, columns)) + rng.normal(size=(each, columns)),
        ]
    )
    return Problem(
        x_train,
        np.repeat([0, 1], [normals, anomalies]).astype(np.int8),
        candidates,
        tuple(f"c{i:02d}" for i in range(3 * each)),
    )


@pytest.fixture
def problem() -> Problem:
    return make_problem()


@pytest.fixture
def golden_folder() -> Path:
    return Path(__file__).parent / "golden"
