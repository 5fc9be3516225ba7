"""A map of training rows and candidates: two coordinates each, near each other where alike."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eap_core.base.extras import require
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats
from eap_core.scoring.distances import SquaredDistances

Method = Literal["pca", "umap"]
Points = npt.NDArray[np.float32]
_NEIGHBOURS = 15
_EXACT_UP_TO = 20_000  # rows; beyond, umap's own approximate neighbours are faster
# What umap compiles on first use, each time anew unless told to keep it.
_COMPILED = (
    ("umap_", ("smooth_knn_dist", "compute_membership_strengths")),
    ("layouts", ("_nb_optimize_layout_euclidean_single_epoch",)),
)


@dataclass(frozen=True, eq=False)
class Places:
    """Coordinates in the order of the problem's training rows and candidates."""

    method: Method
    training: Points
    candidates: Points


def place_by_pca(problem: Problem) -> Places:
    """The two directions in which the training rows vary most; candidates do not turn them."""
    return _split("pca", problem, _flat(problem).astype(np.float32))


def place_by_umap(problem: Problem, seed: int = 0, progress: Progress = silent) -> Places:
    """Neighbourhoods kept where two coordinates can keep them; the same seed, the same map."""
    require("umap", "app")
    rows = _rows(problem)
    count = min(_NEIGHBOURS, len(rows) - 1)
    knn: tuple[Any, ...] = (None, None, None)
    if len(rows) <= _EXACT_UP_TO:
        knn = _neighbours(rows, count, part_of(progress, 0.0, 0.3))
    progress(0.3, "map")
    with warnings.catch_warnings():
        # On import about Tensorflow, then about maps that are not to be extended: neither concerns.
        warnings.simplefilter("ignore")
        from umap import UMAP  # slow to import

        _keep_compiled()
        mapper = UMAP(
            n_neighbors=count,
            init=_start(problem, seed),
            precomputed_knn=knn,
            random_state=seed,
            n_jobs=1,
        )
        places = mapper.fit_transform(rows.astype(np.float32)).astype(np.float32)
    progress(1.0, "map")
    return _split("umap", problem, places)


def _rows(problem: Problem) -> Floats:
    """Training rows, then candidates, around the middle of the former."""
    rows = np.vstack([problem.x_train, problem.x_candidates])
    # Data may have any scale, but a 32-bit number has its limits.
    rows /= max(1.0, float(np.abs(rows).max()) / 1e6)
    return np.asarray(rows - rows[: problem.n].mean(axis=0))


def _flat(problem: Problem) -> Floats:
    rows = _rows(problem)
    train = rows[: problem.n]
    _, _, axes = np.linalg.svd(train.T @ train if _tall(train) else train, full_matrices=False)
    axes = axes[:2]
    # Each axis points where its largest part is positive, or the map might be mirrored elsewhere.
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    places = np.zeros((len(rows), 2))
    places[:, : len(axes)] = rows @ axes.T
    return places


def _tall(rows: Floats) -> bool:
    return len(rows) > 2 * int(rows.shape[1])


def _start(problem: Problem, seed: int) -> Points:
    """The flat map, a little disturbed: rows in one place could never part."""
    places = _flat(problem)
    # What lies far out would squeeze all others into one point.
    low, high = np.percentile(places, [5, 95], axis=0)
    wide = np.maximum(high - low, 1e-12 + float(np.max(high - low)) * 0.01)
    places = 10 * np.tanh((places - (low + high) / 2) / wide)
    places += np.random.default_rng(seed).normal(scale=0.01, size=places.shape)
    return np.asarray(places, dtype=np.float32)


def _neighbours(rows: Floats, count: int, progress: Progress) -> tuple[Any, ...]:
    """Each row's nearest rows, itself first."""
    distances = SquaredDistances(rows, rows, visited_again=False)

    def look(block: slice, squared: Floats) -> tuple[Any, Any]:
        each = np.arange(len(squared))
        squared[each, each + block.start] = -1.0  # nothing is nearer to itself
        where = np.argpartition(squared, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(squared, where, axis=1)
        order = np.argsort(near, axis=1, kind="stable")
        near = np.sqrt(np.maximum(np.take_along_axis(near, order, axis=1), 0.0))
        return np.take_along_axis(where, order, axis=1), near.astype(np.float32)

    found = list(distances.map(look, progress, "map"))
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))


def _keep_compiled() -> None:
    """Have numba keep what it compiles for umap: ten seconds in every process otherwise."""
    import umap

    for module, names in _COMPILED:
        for name in names:
            # Another version may name it otherwise, or there is no folder to keep it in.
            with suppress(AttributeError, RuntimeError):
                getattr(getattr(umap, module), name).enable_caching()


def _split(method: Method, problem: Problem, places: Points) -> Places:
    places.setflags(write=False)
    return Places(method, places[: problem.n], places[problem.n :])
