"""Who lies near whom: candidates that nearly equal a better one, and a map of all rows.

There is an order, too, in which each candidate is unlike those before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import require
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats, Ints
from eap_core.scoring.distances import SquaredDistances, squared_distances
from eap_core.scoring.rarity import kth_smallest

# Of the distance at which normals usually have their nearest normal. Copies with noise of half a
# hundredth of each column's spread lie at 0.005 to 0.03 of it; the most alike of different
# generated defects in the demo images at 0.56. Of unrelated points in d dimensions about
# 0.7 · 0.1^d come as near by chance.
SHARE = 0.1
MOST_FARTHEST = 2_000  # steps of the diverse order; each looks at all candidates
_SAMPLE = 2_000  # normals whose nearest is looked for
_DIRECTIONS = 16  # in which near pairs are searched for
_BLOCK = 256
_TINY = 1e-150  # the least that is not nothing even when squared


def find_twins(problem: Problem, ranks: Ints) -> Ints:
    """For each candidate the better-ranked one that it nearly equals, −1 where there is none."""
    limit = SHARE * typical_distance(problem.x_train[problem.normals])
    return are_alike(problem.x_candidates, ranks, limit)


def typical_distance(normals: Floats) -> float:
    """The median distance from a normal to its nearest different normal."""
    normals = np.unique(normals, axis=0)
    if len(normals) < 2:
        return 0.0
    chosen = normals[:: -(-len(normals) // _SAMPLE)]
    distances = SquaredDistances(chosen, normals, visited_again=False)
    nearest = np.concatenate(list(distances.map(lambda _, block: kth_smallest(block, 1))))
    return float(np.sqrt(np.median(nearest)))


def are_alike(
    points: Floats,
    ranks: Ints,
    limit: float,
    confirmed: Callable[[int, int], bool] = lambda one, other: True,  # noqa: ARG005
) -> Ints:
    """For each point the better-ranked one within ``limit``, −1 where there is none.

    Whatever is named is not alike to a better one itself, so that those with −1 stand for all.
    """
    found = np.full(len(points), -1, dtype=np.intp)
    order = np.argsort(ranks, kind="stable")
    order = order[has_company(points[order], limit)]  # mostly few: the rest needs no closer look
    kept: list[int] = []
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        among = np.concatenate([np.array(kept, dtype=np.intp), block])
        near = squared_distances(points[block], points[among]) <= limit**2
        for place, row in zip(block, near, strict=True):
            better = (int(i) for i in among[row] if i == place or found[i] < 0)
            # Itself comes last: whatever follows it is ranked below.
            first = next(i for i in better if i == place or confirmed(int(place), i))
            if first == place:
                kept.append(first)
            else:
                found[place] = first
    return found


def has_company(points: Floats, limit: float) -> npt.NDArray[np.bool_]:
    """Which points may have another within the limit: all that do, and few that do not.

    Seen along some directions at right angles, two points are never farther apart than they are.
    """
    from scipy.spatial import cKDTree  # slow to import

    seen = points - points.mean(axis=0)
    if points.shape[1] > _DIRECTIONS:
        chosen = np.random.default_rng(0).normal(size=(points.shape[1], _DIRECTIONS))
        seen = seen @ np.linalg.qr(chosen)[0]
    slack = 1e-9 * float(np.abs(seen).max(initial=0.0))  # what rounding may have moved them
    if len(points) < 2:
        return np.zeros(len(points), dtype=bool)
    nearest, _ = cKDTree(seen).query(seen, k=2, distance_upper_bound=limit + slack + _TINY)
    return np.asarray(np.isfinite(nearest[:, 1]))


def merge_twins(ranks: Ints, *found: Ints) -> Ints:
    """Twins in any of several senses, each traced to one that is nobody's twin."""
    out = np.full(len(ranks), -1, dtype=np.intp)
    for place in np.argsort(ranks, kind="stable"):
        twin = next((int(each[place]) for each in found if each[place] >= 0), -1)
        out[place] = twin if twin < 0 or out[twin] < 0 else out[twin]
    return out


def pick_diverse(points: Floats, ranks: Ints, progress: Progress = silent) -> Ints:
    """The place of each candidate when the best comes first and then always the one farthest from
    all before it; what is left after 2,000 such steps follows best first."""
    order = np.argsort(ranks, kind="stable")
    points = points[order] - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", points, points)
    gaps = np.full(len(points), np.inf)
    chosen = np.zeros(min(len(points), MOST_FARTHEST), dtype=np.intp)
    for step in range(len(chosen)):
        if step % _BLOCK == 0:
            progress(step / len(chosen), "diverse order")
        new = int(gaps.argmax()) if step else 0  # of equals the better, which comes first
        chosen[step] = new
        to_new = norms + norms[new] - 2 * (points @ points[new])
        np.minimum(gaps, np.maximum(to_new, 0.0), out=gaps)
        gaps[new] = -np.inf
    rest = np.setdiff1d(np.arange(len(points)), chosen)
    places = np.empty(len(points), dtype=np.intp)
    places[order[np.concatenate([chosen, rest])]] = np.arange(len(points))
    return places


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
