"""The two demo projects: rendered parts as images, tumour measurements as a table.

The images and their features lie ready in assets/ (`make demo`), for drawing the ones takes a
quarter of a minute and computing the others twice that. Features that do not fit the program any
more are not found under their keys, and are then computed as for any project.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from eap_core.demo import write_demo
from eap_core.errors import DataError
from eap_core.progress import Progress, part_of, silent
from eap_core.projects.contents import feature_cache
from eap_core.projects.given import Given
from eap_core.projects.intake import take
from eap_core.projects.plan import Plan
from eap_core.projects.scored import complete_run, score_project
from eap_core.projects.state import state_of
from eap_core.store import projects, runs
from eap_core.store.items import items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store

Demo = Literal["images", "table"]
NAMES: dict[Demo, str] = {"images": "Demo: machined parts", "table": "Demo: tumour measurements"}
_ASSETS = Path(__file__).resolve().parents[2] / "assets"
_EVERYTHING = Plan(evaluators=("all",))
PARTS, FEATURES = _ASSETS / "demo_parts.zip", _ASSETS / "demo_features.zip"


def make_demo(store: Store, kind: Demo, progress: Progress = silent) -> Project:
    """The demo project of this kind, filled and scored; made anew only if it is not there."""
    project = _found(store, kind)
    if project is not None and project.current_run is not None:
        _completed(store, project, progress)
        return project
    if project is None:
        project = projects.create(store, NAMES[kind], kind)
    # Nothing is added twice, so an interrupted demo is completed rather than begun again.
    if not items_of(store, project.id, "candidate"):
        with tempfile.TemporaryDirectory(dir=store.home) as folder:
            _fill(store, project.id, kind, Path(folder), part_of(progress, 0.0, 0.15))
    score_project(store, project.id, _EVERYTHING, part_of(progress, 0.15, 1.0))
    return projects.by_id(store, project.id)


def _completed(store: Store, project: Project, progress: Progress) -> None:
    """Add what an interrupted scoring still owes, unless the data are not those it was made of."""
    assert project.current_run is not None
    run = runs.by_id(store, project.current_run)
    if run.settings.get("state") == state_of(store, project.id):
        complete_run(store, run.id, progress)


def _found(store: Store, kind: Demo) -> Project | None:
    try:
        return projects.find(store, NAMES[kind])
    except DataError:
        return None


def _fill(store: Store, project: str, kind: Demo, folder: Path, progress: Progress) -> None:
    progress(0.0, "making the demo")
    if kind == "table":
        train, candidates = write_demo(folder)
        take(store, project, [Given.at(train)], "train")
        take(store, project, [Given.at(candidates)], "candidate")
    else:
        feature_cache(store).adopt(FEATURES)
        take(store, project, [Given.at(PARTS)], progress=progress)
