"""A project of any size, made through the store at once: many images that share a few files."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from eap_core.analysis import Plan, versions
from eap_core.analysis.explain import find_surroundings
from eap_core.analysis.neighbours import find_twins, pick_diverse
from eap_core.analysis.score import eap_columns
from eap_core.base.problem import Problem
from eap_core.base.table import Role
from eap_core.images.decode import thumbnail
from eap_core.project import IntakeReport
from eap_core.project.problem import state_of
from eap_core.project.results import make_map
from eap_core.scoring.workbench import Workbench
from eap_core.store import cleanup, projects, runs
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of
from eap_core.store.projects import Project
from eap_core.store.runs import Run
from eap_core.store.store import Store

NORMALS, ANOMALIES, COLUMNS = 500, 8, 6
_FILES = 24
_KINDS = ("scratch", "dent", "stain", "crack", "hole", "dirt")


def big_project(store: Store, candidates: int, seed: int = 0) -> Project:
    """Images with features made up, scored by EAP, with insight and a first map."""
    project = projects.create(store, f"{candidates:,} candidates", "images")
    files = [_picture(store, number) for number in range(_FILES)]
    new = [
        NewItem(i, "normal", f"normal-{i:05d}.png", files[i % _FILES]) for i in range(NORMALS)
    ] + [NewItem(i, "anomaly", f"real-{i}.png", files[i % _FILES]) for i in range(ANOMALIES)]
    new += [
        NewItem(
            i,
            "candidate",
            f"generated/{i:06d}.png",
            files[i % _FILES],
            metadata={"defect_type": _KINDS[i % len(_KINDS)], "generator": f"g{i % 3}"},
        )
        for i in range(candidates)
    ]
    counts: dict[Role, int] = {"normal": NORMALS, "anomaly": ANOMALIES, "candidate": candidates}
    add_upload(store, project.id, NewUpload("all", "zip", details=IntakeReport(counts).record), new)
    items = items_of(store, project.id)
    problem = _problem(items, np.random.default_rng(seed))
    _scored(store, project.id, items, problem)
    return projects.by_id(store, project.id)


def _picture(store: Store, number: int) -> str:
    rng = np.random.default_rng(number)
    picture = Image.fromarray(rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)).resize((256, 256))
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    sha256 = store.blobs.put(stream.getvalue())
    store.blobs.put_thumbnail(sha256, thumbnail(picture))
    return sha256


def _problem(items: list[Item], rng: np.random.Generator) -> Problem:
    candidates = [item.name for item in items if item.role == "candidate"]
    beside = np.r_[3.0, np.zeros(COLUMNS - 1)]
    train = np.vstack(
        [rng.normal(size=(NORMALS, COLUMNS)), beside + rng.normal(size=(ANOMALIES, COLUMNS))]
    )
    given = beside * rng.uniform(0, 3, (len(candidates), 1)) + rng.normal(
        size=(len(candidates), COLUMNS)
    )
    labels = np.repeat([0, 1], [NORMALS, ANOMALIES]).astype(np.int8)
    return Problem(train, labels, given, tuple(candidates))


def _scored(store: Store, project: str, items: list[Item], problem: Problem) -> None:
    plan = Plan()
    candidates = [item.id for item in items if item.role == "candidate"]
    record = {**plan.record, "state": state_of(store, project)}
    run = runs.start(store, project, candidates, record, versions(), problem.fingerprint)
    bench = Workbench(problem, plan.settings, plan.seed)
    for name, values in eap_columns(bench).items():
        if np.issubdtype(values.dtype, np.number):
            runs.add_scores(store, run.id, name, values.astype(np.float64))
    training = [item.id for item in items if item.role != "candidate"]
    _keep_insight(store, run, bench, candidates, training)
    make_map(store, run, "pca", problem)
    runs.finish(store, run.id)


def _keep_insight(
    store: Store, run: Run, bench: Workbench, candidates: list[str], training: list[str]
) -> None:
    """As scoring does, but without comparing pictures, which share files here."""
    problem, evidence = bench.problem, bench.evidence()
    ranks = runs.scores_of(store, run.id)["rank"].astype(np.intp)
    arrays: dict[str, npt.NDArray[Any]] = {
        "candidates": _packed(candidates),
        "training": _packed(training),
        "labels": problem.y_train,
        **vars(find_surroundings(problem, evidence, bench.settings)),
        "k": np.array(int(evidence.k[0])),
        "diverse": pick_diverse(problem.x_candidates, ranks),
        "twin": find_twins(problem, ranks),
    }
    cleanup.keep_arrays(cleanup.insight_file(store.home, run.id), arrays)


def _packed(texts: list[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
