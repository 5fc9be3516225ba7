"""How a CLIP model sees a project's images in the light of prompts, computed once and kept.

What is kept are the similarities of every image to every pair of texts. Which pair is best follows
from them in no time, also after further decisions of the reviewers or another run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eap_core.clip import ClipModel, Wanted, located
from eap_core.clip.model import Vectors
from eap_core.embed.clip_vectors import image_vectors
from eap_core.embed.workers import single_threaded_workers
from eap_core.errors import DataError, shown
from eap_core.progress import Progress, silent
from eap_core.projects.contents import feature_cache, image_source
from eap_core.projects.durations import reading as by_clip
from eap_core.projects.durations import stretches
from eap_core.projects.state import state_of
from eap_core.prompts import SHIPPED, Template, Views, checked, object_name, views_of
from eap_core.store import derived, projects
from eap_core.store.items import items_of
from eap_core.store.store import Store

_VERSION = 2  # of what is kept; what another version has kept counts as lost
_LOADING, _EACH_SENTENCE = 5.0, 0.15  # seconds


@dataclass(frozen=True)
class PromptPlan:
    """What is looked for: the object's name, the templates, and the model that looks."""

    object: str
    templates: tuple[Template, ...] = SHIPPED
    model: str = Wanted().model
    weights: Path | None = None

    @property
    def record(self) -> dict[str, Any]:
        return {
            "object": self.object,
            "templates": [list(template) for template in self.templates],
            "model": self.model,
            "weights": str(self.weights) if self.weights else None,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> PromptPlan:
        """Checked again: what a job is given may come from anywhere."""
        weights = record.get("weights")
        return cls(
            object_name(str(record["object"])),
            checked(record["templates"]),
            str(record["model"]),
            Path(weights) if weights else None,
        )


@dataclass(frozen=True, eq=False)
class Prompted:
    """The views of a project's images under a plan; ``state`` is that of the data they are of.

    ``cut`` counts the descriptions that are longer than the model reads.
    """

    plan: PromptPlan
    views: Views
    state: str
    cut: int = 0


def prompt(store: Store, project: str, plan: PromptPlan, progress: Progress = silent) -> None:
    """Look at all images of the project, and keep what is seen."""
    plan = PromptPlan.from_record(plan.record)  # what is kept must be read back
    check_images(store, project)
    state = state_of(store, project)  # before looking: what is added meanwhile is another state
    items = items_of(store, project)
    if not any(item.role == "normal" for item in items):
        raise DataError("the project has no normals — add some first")
    pairs = [template.filled(plan.object) for template in plan.templates]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    seconds = (_LOADING, _EACH_SENTENCE * len(texts), by_clip(len(items), "clip"))
    loading, reading, looking = stretches(progress, seconds)
    found = located(Wanted.named(plan.model, plan.weights), loading)
    loading(0.5, "loading the model")
    model = found.load()
    # Sentences first: a model that has no words is told of before the long work.
    said = _sentences(model, texts, reading)
    seen = image_vectors(
        found, [image_source(store, item) for item in items], feature_cache(store), looking
    )
    place = {text: i for i, text in enumerate(texts)}
    normal, anomalous = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    views = views_of(
        seen,
        said[normal],
        said[anomalous],
        tuple(item.role for item in items),
        tuple(item.id for item in items),
        model.scale,
    )
    keep(store, project, Prompted(plan, views, state, model.cut(texts)))
    progress(1.0, "looking at the images")


def prompted(store: Store, project: str) -> Prompted | None:
    """What was seen in a project, of images that are still there; None while nothing was."""
    arrays = derived.kept(derived.prompts_file(store.home, project))
    if arrays is None or arrays.get("version", np.array(0)) != _VERSION:
        return None
    record = json.loads(arrays["record"].tobytes())
    roles = {item.id: item.role for item in items_of(store, project)}
    kept = [i for i, item in enumerate(record["items"]) if item in roles]
    items = tuple(record["items"][i] for i in kept)
    views = Views(
        arrays["differences"][:, kept],
        tuple(roles[item] for item in items),
        items,
        float(arrays["scale"]),
    )
    return Prompted(PromptPlan.from_record(record), views, record["state"], record["cut"])


def check_images(store: Store, project: str) -> None:
    """Refuse a project that has nothing to look at."""
    found = projects.by_id(store, project)
    if found.kind != "images":
        raise DataError(
            f"{shown(found.name)} is a table — prompts are for images, which CLIP can look at"
        )


def _sentences(model: ClipModel, texts: Sequence[str], progress: Progress) -> Vectors:
    """A vector for each, told one by one; threads that wait for each other would be slower."""
    found: list[Vectors] = []
    with single_threaded_workers() as workers:
        for row in workers.in_order(texts, lambda text: model.texts([text])[0]):
            progress(
                len(found) / len(texts), f"reading prompt {len(found) + 1:,} of {len(texts):,}"
            )
            found.append(row)
    return np.stack(found)


def keep(store: Store, project: str, found: Prompted) -> None:
    """Keep what was seen, in place of what was seen before."""
    # Texts as JSON: numpy's own would lose what ends in a zero character.
    record = json.dumps(
        {
            **found.plan.record,
            "items": found.views.items,
            "state": found.state,
            "cut": found.cut,
        }
    )
    arrays = {
        "differences": found.views.differences,
        "scale": np.array(found.views.scale),
        "record": np.frombuffer(record.encode(), dtype=np.uint8),
        "version": np.array(_VERSION),
    }
    derived.keep(derived.prompts_file(store.home, project), arrays)
