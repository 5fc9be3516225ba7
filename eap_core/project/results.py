"""What a run has found: its scores, facts about each candidate, and the map."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eap_core.analysis.duplicates import find_twins, merge_twins, pick_diverse
from eap_core.analysis.explain import Deviations, find_deviations, find_surroundings
from eap_core.analysis.projection import Method, Places, place_by_pca, place_by_umap
from eap_core.analysis.score import column_name
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats, Ints, Labels, free_name
from eap_core.evaluators import EVALUATORS
from eap_core.project.duplicates import find_duplicates
from eap_core.project.problem import PreparedProblem
from eap_core.review.queue import evaluator_columns
from eap_core.scoring.posterior import category_of
from eap_core.scoring.workbench import Workbench
from eap_core.store import cleanup, projects, runs
from eap_core.store.items import names_of
from eap_core.store.runs import Run
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


_EAP = ("eap", "percentile", "rank", "category", "p_y", "weight", "prior", "observations", "p_x")


def run_frame(store: Store, run_id: str) -> pd.DataFrame:
    """One row per candidate of the run that is still in the project, best first.

    It has the columns of what the run has so far: EAP with its parts, other evaluators, metadata.
    """
    import pandas as pd  # slow to import

    run = runs.by_id(store, run_id)
    order = runs.candidates_of(store, run_id)
    known = names_of(store, run.project, "candidate")
    kept = [i for i, item in enumerate(order) if item in known]
    items = [order[i] for i in kept]
    columns: dict[str, Any] = {
        name: values[kept] for name, values in runs.scores_of(store, run_id).items()
    }
    if {"p_y", "covered"} <= set(columns):
        columns["category"] = category_of(columns["p_y"], columns["covered"])
    if "rank" in columns:
        columns["rank"] = columns["rank"].astype(int)
    rows: dict[str, Any] = {"item": items, "id": [known[item][0] for item in items]}
    rows |= {name: columns[name] for name in _in_order(columns)}
    ours = {column_name(name) for name in EVALUATORS}  # also those that are not computed
    for key, cells in _metadata([known[item][1] for item in items]).items():
        rows[free_name(key, {*rows, *ours}.__contains__)] = cells
    frame = pd.DataFrame(rows)
    return frame.sort_values("rank", ignore_index=True) if "rank" in frame else frame


def _in_order(columns: Mapping[str, Any]) -> list[str]:
    """EAP and what it is made of, then the other evaluators."""
    others = [name for name in evaluator_columns(columns) if name != "eap"]
    first = [name for name in _EAP if name in columns]
    return [*first, *(name for name in columns if name not in (*first, *others)), *others]


def _metadata(told: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What people said of each candidate, a column for each thing that any of them has."""
    keys = dict.fromkeys(key for metadata in told for key in metadata)
    return {key: [str(metadata.get(key, "")) for metadata in told] for key in keys}


# What the pages say of each candidate beyond its scores, computed once with the run and kept.

_FACTS_VERSION = 1  # of what is kept; what another version has kept counts as lost
_TEXTS = ("candidates", "training", "columns")


@dataclass(frozen=True, eq=False)
class CandidateFacts:
    """Rows in the order of the run's candidates; positions are those in ``training``.

    Attributes
    ----------
    candidates, training : item ids, the latter in the order of the problem's training rows.
    labels : 0 or 1 for each training row.
    nearest, nearest_distance : the three nearest normals, −1 where there are fewer.
    anomaly, anomaly_distance : the nearest real anomaly, −1 and infinity without any.
    ball, radius : the normal with the smallest ball that covers it, −1 and NaN if none does.
    k : how many neighbours a ball spans.
    twin : position among ``candidates`` of the better-ranked one it nearly equals, else −1.
    diverse : its place, from 0, in the order in which each is unlike those before.
    deviations : for tables, the features that are most unlike its nearest normals.
    """

    candidates: tuple[str, ...]
    training: tuple[str, ...]
    labels: Labels
    nearest: Ints
    nearest_distance: Floats
    anomaly: Ints
    anomaly_distance: Floats
    ball: Ints
    radius: Floats
    k: int
    twin: Ints
    diverse: Ints
    deviations: Deviations | None

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each candidate, by item id."""
        return MappingProxyType({item: i for i, item in enumerate(self.candidates)})

    def rows(self, items: Sequence[str]) -> Ints:
        """The positions of these candidates."""
        return np.array([self.places[item] for item in items], dtype=np.intp)


def read_facts(store: Store, run_id: str) -> CandidateFacts | None:
    """The insight of a run; None while it is not computed, or made otherwise."""
    arrays = cleanup.read_arrays(cleanup.insight_file(store.home, run_id))
    if arrays is None or arrays.get("version", np.array(0)) != _FACTS_VERSION:
        return None
    return _unpack_facts(arrays)


def make_facts(
    store: Store,
    run: Run,
    ready: PreparedProblem,
    bench: Workbench,
    ranks: Ints,
    progress: Progress = silent,
) -> None:
    """Compute the insight of a run, and keep it."""
    # With a new run the evidence is there already; for an older one it takes most of the time.
    problem, evidence = ready.problem, bench.evidence(part_of(progress, 0.0, 0.4))
    around = find_surroundings(
        problem, evidence, bench.settings, part_of(progress, 0.4, 0.5), bench.budget
    )
    arrays: dict[str, npt.NDArray[Any]] = {
        "candidates": _pack_texts([item.id for item in ready.candidates]),
        "training": _pack_texts([item.id for item in ready.training]),
        "labels": problem.y_train,
        **vars(around),
        "k": np.array(int(evidence.k[0])),
        "diverse": pick_diverse(problem.x_candidates, ranks, part_of(progress, 0.5, 0.6)),
        "version": np.array(_FACTS_VERSION),
    }
    found = find_twins(problem, ranks)
    if projects.by_id(store, run.project).kind == "images":
        same = find_duplicates(store, ready.candidates, ranks, part_of(progress, 0.6, 1.0))
        arrays["twin"] = merge_twins(ranks, found, same)
    else:
        deviate = find_deviations(problem, around.nearest)
        arrays |= {"twin": found, **vars(deviate), "columns": _pack_texts(deviate.columns)}
    cleanup.keep_arrays(cleanup.insight_file(store.home, run.id), arrays)
    progress(1.0, "surroundings")


def _pack_texts(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Texts as JSON: numpy's own would lose what ends in a zero character."""
    return np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8)


def _unpack_facts(arrays: dict[str, npt.NDArray[Any]]) -> CandidateFacts:
    texts = {name: tuple(json.loads(arrays[name].tobytes())) for name in _TEXTS if name in arrays}
    given: dict[str, Any] = {**arrays, **texts, "k": int(arrays["k"])}
    found = None
    if "columns" in arrays:
        found = Deviations(**{field.name: given[field.name] for field in fields(Deviations)})
    own = [field.name for field in fields(CandidateFacts) if field.name != "deviations"]
    return CandidateFacts(**{name: given[name] for name in own}, deviations=found)


# Maps of runs, kept by what they were made from.

_MAP_VERSION = 1  # of the way maps are made


def read_map(store: Store, run_id: str) -> Places | None:
    """The map of a run, the better one if it is there; None while there is none."""
    run = runs.by_id(store, run_id)
    return _read_map(store, run, "umap") or _read_map(store, run, "pca")


def has_map(store: Store, run: Run, method: Method) -> bool:
    return _read_map(store, run, method) is not None


def make_map(
    store: Store, run: Run, method: Method, problem: Problem, progress: Progress = silent
) -> None:
    """Make a map of the run's problem, unless it is there, and keep it."""
    if has_map(store, run, method):
        return
    made = (
        place_by_pca(problem) if method == "pca" else place_by_umap(problem, _seed(run), progress)
    )
    cleanup.keep_arrays(
        _file(store, run, method), {"training": made.training, "candidates": made.candidates}
    )


def _read_map(store: Store, run: Run, method: Method) -> Places | None:
    arrays = cleanup.read_arrays(_file(store, run, method))
    if arrays is None:
        return None
    return Places(method, np.asarray(arrays["training"]), np.asarray(arrays["candidates"]))


def _seed(run: Run) -> int:
    return int(run.settings.get("seed", 0))


def _file(store: Store, run: Run, method: Method) -> Path:
    made_by = "pca" if method == "pca" else f"umap-{_seed(run)}-{version('umap-learn')}"
    return cleanup.map_file(store.home, run.fingerprint, f"{made_by}-{_MAP_VERSION}")
