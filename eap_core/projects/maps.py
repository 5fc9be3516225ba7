"""Maps of runs, kept by what they were made from."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np

from eap_core.problem import Problem
from eap_core.progress import Progress, silent
from eap_core.project_map import Method, Places, pca_places, umap_places
from eap_core.store import derived, runs
from eap_core.store.runs import Run
from eap_core.store.store import Store

_VERSION = 1  # of the way maps are made


def places_of(store: Store, run_id: str) -> Places | None:
    """The map of a run, the better one if it is there; None while there is none."""
    run = runs.by_id(store, run_id)
    return _kept(store, run, "umap") or _kept(store, run, "pca")


def has_map(store: Store, run: Run, method: Method) -> bool:
    return _kept(store, run, method) is not None


def make_map(
    store: Store, run: Run, method: Method, problem: Problem, progress: Progress = silent
) -> None:
    """Make a map of the run's problem, unless it is there, and keep it."""
    if has_map(store, run, method):
        return
    made = pca_places(problem) if method == "pca" else umap_places(problem, _seed(run), progress)
    derived.keep(
        _file(store, run, method), {"training": made.training, "candidates": made.candidates}
    )


def _kept(store: Store, run: Run, method: Method) -> Places | None:
    arrays = derived.kept(_file(store, run, method))
    if arrays is None:
        return None
    return Places(method, np.asarray(arrays["training"]), np.asarray(arrays["candidates"]))


def _seed(run: Run) -> int:
    return int(run.settings.get("seed", 0))


def _file(store: Store, run: Run, method: Method) -> Path:
    made_by = "pca" if method == "pca" else f"umap-{_seed(run)}-{version('umap-learn')}"
    return derived.map_file(store.home, run.fingerprint, f"{made_by}-{_VERSION}")
