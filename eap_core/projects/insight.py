"""What the pages say of each candidate beyond its scores, computed once with the run and kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from eap_core.deviations import Deviations, deviations
from eap_core.progress import Progress, part_of, silent
from eap_core.projects.contents import Prepared
from eap_core.projects.look_alikes import look_alikes
from eap_core.store import derived, projects
from eap_core.store.runs import Run
from eap_core.store.store import Store
from eap_core.surroundings import surroundings
from eap_core.table import Floats, Labels
from eap_core.twins import diverse, merged, twins
from eap_core.workbench import Workbench

Ints = npt.NDArray[np.intp]
_VERSION = 1  # of what is kept; what another version has kept counts as lost
_TEXTS = ("candidates", "training", "columns")


@dataclass(frozen=True, eq=False)
class Insight:
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


def insight_of(store: Store, run_id: str) -> Insight | None:
    """The insight of a run; None while it is not computed, or made otherwise."""
    arrays = derived.kept(derived.insight_file(store.home, run_id))
    if arrays is None or arrays.get("version", np.array(0)) != _VERSION:
        return None
    return _unpacked(arrays)


def make_insight(
    store: Store,
    run: Run,
    ready: Prepared,
    bench: Workbench,
    ranks: Ints,
    progress: Progress = silent,
) -> None:
    """Compute the insight of a run, and keep it."""
    # With a new run the evidence is there already; for an older one it takes most of the time.
    problem, evidence = ready.problem, bench.evidence(part_of(progress, 0.0, 0.4))
    around = surroundings(
        problem, evidence, bench.settings, part_of(progress, 0.4, 0.5), bench.budget
    )
    arrays: dict[str, npt.NDArray[Any]] = {
        "candidates": _packed([item.id for item in ready.candidates]),
        "training": _packed([item.id for item in ready.training]),
        "labels": problem.y_train,
        **vars(around),
        "k": np.array(int(evidence.k[0])),
        "diverse": diverse(problem.x_candidates, ranks, part_of(progress, 0.5, 0.6)),
        "version": np.array(_VERSION),
    }
    found = twins(problem, ranks)
    if projects.by_id(store, run.project).kind == "images":
        same = look_alikes(store, ready.candidates, ranks, part_of(progress, 0.6, 1.0))
        arrays["twin"] = merged(ranks, found, same)
    else:
        deviate = deviations(problem, around.nearest)
        arrays |= {"twin": found, **vars(deviate), "columns": _packed(deviate.columns)}
    derived.keep(derived.insight_file(store.home, run.id), arrays)
    progress(1.0, "surroundings")


def _packed(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Texts as JSON: numpy's own would lose what ends in a zero character."""
    return np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8)


def _unpacked(arrays: dict[str, npt.NDArray[Any]]) -> Insight:
    texts = {name: tuple(json.loads(arrays[name].tobytes())) for name in _TEXTS if name in arrays}
    given: dict[str, Any] = {**arrays, **texts, "k": int(arrays["k"])}
    found = None
    if "columns" in arrays:
        found = Deviations(**{field.name: given[field.name] for field in fields(Deviations)})
    own = [field.name for field in fields(Insight) if field.name != "deviations"]
    return Insight(**{name: given[name] for name in own}, deviations=found)
