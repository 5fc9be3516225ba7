"""A map of training rows and candidates: two coordinates each, near each other where alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eap_core.problem import Problem
from eap_core.progress import Progress, silent

Method = Literal["pca", "umap"]
Points = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Places:
    """Coordinates in the order of the problem's training rows and candidates."""

    method: Method
    training: Points
    candidates: Points


def pca_places(problem: Problem) -> Places:
    """The two directions in which the training rows vary most."""
    centred = problem.x_train - problem.x_train.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    rows = np.vstack([problem.x_train, problem.x_candidates]) - problem.x_train.mean(axis=0)
    places = np.zeros((len(rows), 2), dtype=np.float32)
    places[:, : len(axes[:2])] = rows @ axes[:2].T
    return _split("pca", problem, places)


def umap_places(problem: Problem, seed: int = 0, progress: Progress = silent) -> Places:
    """Neighbourhoods kept where two coordinates can keep them; the same seed, the same map."""
    from umap import UMAP  # slow to import

    rows = np.vstack([problem.x_train, problem.x_candidates]).astype(np.float32)
    progress(0.0, "map")
    mapper = UMAP(n_neighbors=min(15, len(rows) - 1), random_state=seed, n_jobs=1, init="pca")
    places = mapper.fit_transform(rows).astype(np.float32)
    progress(1.0, "map")
    return _split("umap", problem, places)


def _split(method: Method, problem: Problem, places: Points) -> Places:
    places.setflags(write=False)
    return Places(method, places[: problem.n], places[problem.n :])
