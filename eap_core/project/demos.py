"""The two demo projects: rendered parts as images, tumour measurements as a table.

The images and their features lie ready in assets/ (`make demo`), for drawing the ones takes a
quarter of a minute and computing the others twice that. Features that do not fit the program any
more are not found under their keys, and are then computed as for any project.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.datasets import load_breast_cancer

from eap_core.analysis import Plan
from eap_core.base import find_app
from eap_core.base.errors import DataError
from eap_core.base.files import explain_unwritable, write_frame
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats, Table
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.problem import feature_cache, state_of
from eap_core.project.run import complete_run, score_project
from eap_core.store import projects, runs
from eap_core.store.items import items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store

# A small real problem to try everything on: breast-cancer measurements and made-up anomalies.
#
# Benign samples are the normals and ten malignant ones the real anomalies. Four generators with
# known habits make the candidates: one that interpolates between malignant samples the training
# data do not hold, one that barely changes a benign sample, one that exaggerates until no cell
# could look so, and one that mixes measurements of different samples.

GENERATORS = ("interpolate", "jitter", "exaggerate", "shuffle")
_PER_GENERATOR = 40
_ANOMALIES = 10


def demo_tables(seed: int = 0) -> tuple[Table, Table]:
    """Labelled training rows and candidates; a candidate's generator is an extra column."""
    data = load_breast_cancer()
    rng = np.random.default_rng(seed)
    columns = tuple(str(name) for name in data.feature_names)
    benign = rng.permutation(data.data[data.target == 1])
    malignant = rng.permutation(data.data[data.target == 0])
    normals, held_out = benign[:300], benign[300:]
    anomalies, unseen = malignant[:_ANOMALIES], malignant[_ANOMALIES:]
    train = Table(
        source="demo training data",
        columns=columns,
        values=np.vstack([normals, anomalies]),
        ids=(
            *(f"benign-{i:03d}" for i in range(len(normals))),
            *(f"malignant-{i:03d}" for i in range(len(anomalies))),
        ),
        labels=np.repeat([0, 1], [len(normals), len(anomalies)]).astype(np.int8),
    )
    made = (
        _interpolate(unseen, rng),
        _jitter(held_out, rng),
        _exaggerate(unseen, normals, rng),
        _shuffle(unseen, rng),
    )
    names = tuple(name for name in GENERATORS for _ in range(_PER_GENERATOR))
    candidates = Table(
        source="demo candidates",
        columns=columns,
        values=np.vstack(made),
        ids=tuple(f"{name}-{i % _PER_GENERATOR:02d}" for i, name in enumerate(names)),
        extras={"generator": names},
    )
    return train, candidates


def write_demo(folder: Path) -> tuple[Path, Path]:
    """Write the demo as two CSV files, as a person would have them."""
    import pandas as pd  # slow to import

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_unwritable(folder, error) from error
    paths = []
    for table, name in zip(demo_tables(), ("train", "candidates"), strict=True):
        frame = pd.DataFrame(table.values, columns=list(table.columns))
        frame.insert(0, "id", list(table.ids))
        for extra, values in table.extras.items():
            frame[extra] = list(values)
        if table.labels is not None:
            frame["label"] = table.labels
        paths.append(folder / f"{name}.csv")
        write_frame(frame, paths[-1])
    return paths[0], paths[1]


def _pick(rows: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(rows[rng.integers(len(rows), size=_PER_GENERATOR)])


def _interpolate(rows: Floats, rng: np.random.Generator) -> Floats:
    share = rng.uniform(0.1, 0.4, size=(_PER_GENERATOR, 1))
    one, other = _pick(rows, rng), _pick(rows, rng)
    return np.asarray((1 - share) * one + share * other)


def _jitter(rows: Floats, rng: np.random.Generator) -> Floats:
    noise = rng.normal(1.0, 0.02, size=(_PER_GENERATOR, rows.shape[1]))
    return np.asarray(_pick(rows, rng) * noise)


def _exaggerate(rows: Floats, normals: Floats, rng: np.random.Generator) -> Floats:
    centre = normals.mean(axis=0)
    factor = rng.uniform(3, 6, size=(_PER_GENERATOR, 1))
    return np.asarray(centre + factor * (_pick(rows, rng) - centre))


def _shuffle(rows: Floats, rng: np.random.Generator) -> Floats:
    return np.column_stack([rng.choice(column, size=_PER_GENERATOR) for column in rows.T])


Demo = Literal["images", "table"]
NAMES: dict[Demo, str] = {"images": "Demo: machined parts", "table": "Demo: tumour measurements"}
_ASSETS = find_app() / "assets"
_EVERYTHING = Plan(evaluators=("all", "reach"))
PARTS, FEATURES = _ASSETS / "demo_parts.zip", _ASSETS / "demo_features.zip"


def make_demo(store: Store, kind: Demo, progress: Progress = silent) -> Project:
    """The demo project of this kind, filled and scored; made anew only if it is not there."""
    project = _find_demo(store, kind)
    if project is not None and project.current_run is not None:
        _complete_demo(store, project, progress)
        return project
    if project is None:
        project = projects.create(store, NAMES[kind], kind)
    # Nothing is added twice, so an interrupted demo is completed rather than begun again.
    if not items_of(store, project.id, "candidate"):
        with tempfile.TemporaryDirectory(dir=store.home) as folder:
            _fill(store, project.id, kind, Path(folder), part_of(progress, 0.0, 0.15))
    score_project(store, project.id, _EVERYTHING, part_of(progress, 0.15, 1.0))
    return projects.by_id(store, project.id)


def _complete_demo(store: Store, project: Project, progress: Progress) -> None:
    """Add what an interrupted scoring still owes, unless the data are not those it was made of."""
    assert project.current_run is not None
    run = runs.by_id(store, project.current_run)
    if run.settings.get("state") == state_of(store, project.id):
        complete_run(store, run.id, progress)


def _find_demo(store: Store, kind: Demo) -> Project | None:
    try:
        return projects.find(store, NAMES[kind])
    except DataError:
        return None


def _fill(store: Store, project: str, kind: Demo, folder: Path, progress: Progress) -> None:
    progress(0.0, "making the demo")
    if kind == "table":
        train, candidates = write_demo(folder)
        take(store, project, [InputFile.at(train)], "train")
        take(store, project, [InputFile.at(candidates)], "candidate")
    else:
        feature_cache(store).adopt(FEATURES)
        take(store, project, [InputFile.at(PARTS)], progress=progress)
