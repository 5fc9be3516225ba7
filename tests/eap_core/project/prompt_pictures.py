"""A small scored project of images, and what a model might see in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eap_core.analysis import Plan
from eap_core.project import InputFile, Target
from eap_core.project.intake import take
from eap_core.project.problem import state_of
from eap_core.project.prompts import PromptPlan, PromptViews, keep_views
from eap_core.project.run import score_project
from eap_core.prompts import SHIPPED, Template
from eap_core.prompts.choice import ClipViews
from eap_core.scoring.settings import Settings
from eap_core.store import projects
from eap_core.store.items import items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.project.conftest import archive, picture

PLAN = PromptPlan("weave", (*SHIPPED[:3], Template("fine {}", "torn {}")))
ROLES: dict[Target, tuple[int, int]] = {  # how many, and the first one's seed
    "normal": (8, 0),
    "anomaly": (2, 20),
    "candidate": (9, 30),
    "test_normal": (4, 50),
    "test_anomaly": (4, 60),
}


def filled_project(
    store: Store, folder: Path, name: str = "weaves", without: tuple[Target, ...] = ()
) -> Project:
    """Images in every role but these, not scored."""
    project = projects.create(store, name, "images")
    for role, (count, seed) in ROLES.items():
        if role not in without:
            pictures = {f"{role}-{i}.png": picture(seed + i) for i in range(count)}
            take(store, project.id, [InputFile.at(archive(folder / f"{role}.zip", pictures))], role)
    return project


def scored_project(
    store: Store, folder: Path, name: str = "weaves", without: tuple[Target, ...] = ()
) -> Project:
    """The same, scored by EAP and rarity."""
    project = filled_project(store, folder, name, without)
    plan = Plan(("eap", "rarity"), Settings(subsets=2, k_min=2), features="fast")
    score_project(store, project.id, plan)
    return projects.by_id(store, project.id)


def look(store: Store, project: Project, seed: int = 0) -> ClipViews:
    """Keep views in which the first pair is right of every image, and the others guess."""
    items = items_of(store, project.id)
    rng = np.random.default_rng(seed)
    bad = np.array([item.role in ("anomaly", "candidate", "test_anomaly") for item in items])
    guessed = 0.05 * rng.normal(size=(len(PLAN.templates), len(items)))
    guessed[0] = np.where(bad, 0.3, -0.3) + 0.1 * rng.uniform(size=len(items))
    views = ClipViews(
        guessed.round(9),
        tuple(item.role for item in items),
        tuple(item.id for item in items),
        10.0,
    )
    keep_views(store, project.id, PromptViews(PLAN, views, state_of(store, project.id)))
    return views
