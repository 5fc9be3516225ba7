"""What the pages need beyond scores: surroundings and twins, the map, the score table."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from benchmarks.measure import Figure, seconds
from benchmarks.problems import clouds
from eap_core.analysis.explain import find_deviations, find_surroundings
from eap_core.analysis.neighbours import find_twins, pick_diverse, place_by_umap
from eap_core.analysis.score import column_name
from eap_core.base.problem import Problem
from eap_core.evaluators import PAPER_EVALUATORS
from eap_core.project.results import run_frame
from eap_core.scoring.evidence import estimate
from eap_core.scoring.settings import AUTHORS
from eap_core.store import projects, runs
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import Store, open_store

CANDIDATES, TRAINING, COLUMNS = 10_000, 2_000, 64
TITLE = f"Insight: {CANDIDATES:,} candidates, {TRAINING:,} training rows, {COLUMNS} columns"
NOTE = (
    "Insight is the three nearest normals, the nearest anomaly, the smallest ball, twins, the "
    "diverse order and the deviating features of every candidate; its reference is one matrix of "
    "distances to the training rows by scipy with argpartition, which gives the nearest alone. The "
    "map (UMAP, all rows) stands beside scikit-learn's exact 15 neighbours of the same rows, the "
    "score table beside reading all columns of the same rows from the store."
)


def run() -> list[Figure]:
    problem = clouds(TRAINING, TRAINING // 50, CANDIDATES, COLUMNS)
    with tempfile.TemporaryDirectory() as name:
        store = open_store(Path(name))
        try:
            return [_insight(problem), _map(problem), _table(store)]
        finally:
            store.close()


def _insight(problem: Problem) -> Figure:
    settings = replace(AUTHORS, subsets=0)
    evidence = estimate(problem, settings)
    ranks = np.random.default_rng(1).permutation(CANDIDATES) + 1

    def ours() -> None:
        around = find_surroundings(problem, evidence, settings)
        find_deviations(problem, around.nearest)
        find_twins(problem, ranks)
        pick_diverse(problem.x_candidates, ranks)

    def plain() -> None:
        np.argpartition(cdist(problem.x_candidates, problem.x_train), 3, axis=1)

    spent, reference = seconds(ours), seconds(plain)
    ratio = f"{spent / reference:.1f}× the nearest alone"
    return Figure("insight", f"{spent:.1f} s", f"{reference:.1f} s", ratio, "≤ 5×")


def _map(problem: Problem) -> Figure:
    rows = np.vstack([problem.x_train, problem.x_candidates])
    place_by_umap(replace(problem, x_candidates=rows[:20], ids=problem.ids[:20]))  # compiles
    spent = seconds(lambda: place_by_umap(problem), repeat=1)
    search = NearestNeighbors(n_neighbors=15, algorithm="brute", n_jobs=-1).fit(rows)
    reference = seconds(lambda: search.kneighbors(rows))
    ratio = f"{spent / reference:.0f}× neighbours alone"
    return Figure("map", f"{spent:.0f} s", f"{reference:.1f} s", ratio, "≤ 60 s")


def _table(store: Store) -> Figure:
    project = projects.create(store, "large", "table").id
    told = {"generator": "inpaint", "defect_type": "scratch", "prompt": "a long scratch"}
    new = [NewItem(i, "candidate", f"c{i:05d}", metadata=told) for i in range(CANDIDATES)]
    add_upload(store, project, NewUpload("a", "csv"), new)
    items = [item.id for item in items_of(store, project)]
    run = runs.start(store, project, items, {}, {}, "f").id
    values = np.random.default_rng(0).permutation(CANDIDATES).astype(np.float64) + 1
    for name in ("rank", "percentile", "p_y", "covered", *map(column_name, PAPER_EVALUATORS)):
        runs.add_scores(store, run, name, values)
    runs.finish(store, run)
    spent = seconds(lambda: run_frame(store, run))
    reference = seconds(lambda: items_of(store, project, "candidate"))
    ratio = f"{spent / reference:.2f}× reading the rows"
    return Figure("score table", f"{spent:.2f} s", f"{reference:.2f} s", ratio, "< 0.3 s")
