"""How a CLIP model sees a project's images in the light of prompts, computed once and kept.

What is kept are the similarities of every image to every pair of texts. Which pair is best follows
from them in no time, also after further decisions of the reviewers or another run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from eap_core.analysis import reading_seconds as by_clip
from eap_core.analysis import stretches
from eap_core.analysis.score import column_name
from eap_core.base.errors import DataError, quote
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators import EVALUATORS
from eap_core.features.base import single_threaded_workers
from eap_core.features.clip import image_vectors
from eap_core.features.clip_hub import ModelSpec
from eap_core.features.clip_model import ClipModel, Vectors, locate_weights
from eap_core.project.problem import feature_cache, image_source, state_of
from eap_core.prompts import SHIPPED, Template, check_object_name, check_templates
from eap_core.prompts.choice import (
    ClipViews,
    PromptChoice,
    PromptSelection,
    RankedPair,
    compare_selections,
    may_be_guessing,
    views_of,
)
from eap_core.review import ItemState
from eap_core.review.queue import evaluator_columns
from eap_core.scoring import best_first
from eap_core.store import cleanup, projects
from eap_core.store.items import items_of
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


_VERSION = 2  # of what is kept; what another version has kept counts as lost
_LOADING, _EACH_SENTENCE = 5.0, 0.15  # seconds


@dataclass(frozen=True)
class PromptPlan:
    """What is looked for: the object's name, the templates, and the model that looks."""

    object: str
    templates: tuple[Template, ...] = SHIPPED
    model: str = ModelSpec().model
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
            check_object_name(str(record["object"])),
            check_templates(record["templates"]),
            str(record["model"]),
            Path(weights) if weights else None,
        )


@dataclass(frozen=True, eq=False)
class PromptViews:
    """The views of a project's images under a plan; ``state`` is that of the data they are of.

    ``cut`` counts the descriptions that are longer than the model reads.
    """

    plan: PromptPlan
    views: ClipViews
    state: str
    cut: int = 0


def run_prompts(store: Store, project: str, plan: PromptPlan, progress: Progress = silent) -> None:
    """Look at all images of the project, and keep what is seen."""
    plan = PromptPlan.from_record(plan.record)  # what is kept must be read back
    check_images(store, project)
    state = state_of(store, project)  # before looking: what is added meanwhile is another state
    items = items_of(store, project)
    if not any(item.role == "normal" for item in items):
        raise DataError("the project has no normals", advice="add some first")
    pairs = [template.filled(plan.object) for template in plan.templates]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    seconds = (_LOADING, _EACH_SENTENCE * len(texts), by_clip(len(items), "clip"))
    loading, reading, looking = stretches(progress, seconds)
    found = locate_weights(ModelSpec.named(plan.model, plan.weights), loading)
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
    keep_views(store, project, PromptViews(plan, views, state, model.cut(texts)))
    progress(1.0, "looking at the images")


def read_prompts(store: Store, project: str) -> PromptViews | None:
    """What was seen in a project, of images that are still there; None while nothing was."""
    arrays = cleanup.read_arrays(cleanup.prompts_file(store.home, project))
    if arrays is None or arrays.get("version", np.array(0)) != _VERSION:
        return None
    record = json.loads(arrays["record"].tobytes())
    roles = {item.id: item.role for item in items_of(store, project)}
    kept = [i for i, item in enumerate(record["items"]) if item in roles]
    items = tuple(record["items"][i] for i in kept)
    views = ClipViews(
        arrays["differences"][:, kept],
        tuple(roles[item] for item in items),
        items,
        float(arrays["scale"]),
    )
    return PromptViews(PromptPlan.from_record(record), views, record["state"], record["cut"])


def check_images(store: Store, project: str) -> None:
    """Refuse a project that has nothing to look at."""
    found = projects.by_id(store, project)
    if found.kind != "images":
        raise DataError(
            f"{quote(found.name)} is a table",
            advice="prompts are for images, which CLIP can look at",
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


def keep_views(store: Store, project: str, found: PromptViews) -> None:
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
    cleanup.keep_arrays(cleanup.prompts_file(store.home, project), arrays)


# Which pair of prompts each selection of a project's images chooses, and how good it is.

# Selections that are no evaluator's best third.
OTHERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accepted": "accepted by the reviewers",
        "known": "known real anomalies",
        "oracle": "all real anomalies, the test's too",
    }
)
NO_TEST = "there are no test images of both kinds: only the AUC on the selection is known"
GUESSING = (
    "on the test images the pair that EAP's best third chooses does no better than guessing might: "
    "try other descriptions or another model"
)
NONE_ACCEPTED = "no candidate of this run is accepted: that selection is left out"


@dataclass(frozen=True, eq=False)
class PromptReport:
    """What each selection chooses, EAP's best third first; the oracle is none of them to follow."""

    prompted: PromptViews
    choices: tuple[PromptChoice, ...]
    notes: tuple[str, ...]

    @property
    def named(self) -> Mapping[str, PromptChoice]:
        return MappingProxyType({choice.selection.name: choice for choice in self.choices})

    @property
    def record(self) -> dict[str, Any]:
        """As plain data, for files."""
        plan = self.prompted.plan
        return {
            "object": plan.object,
            "model": plan.model,
            "notes": list(self.notes),
            "selections": [
                {
                    "selection": choice.selection.name,
                    "images": len(choice.selection.rows),
                    "pairs": [self._pair(one) for one in choice.ranking],
                }
                for choice in self.choices
            ],
        }

    def _pair(self, one: RankedPair) -> dict[str, Any]:
        normal, anomalous = self.prompted.plan.templates[one.pair]
        return {
            "normal": normal,
            "anomalous": anomalous,
            "selection_auc": one.selection_auc,
            "test_auc": one.test_auc,
        }

    def frame(self) -> pd.DataFrame:
        """A row for each selection and pair, the chosen pair with place 1."""
        import pandas as pd  # slow to import

        return pd.DataFrame(
            [
                {
                    "object": self.record["object"],
                    "model": self.record["model"],
                    "selection": each["selection"],
                    "images": each["images"],
                    "place": place,
                    **pair,
                }
                for each in self.record["selections"]
                for place, pair in enumerate(each["pairs"], 1)
            ]
        ).astype({"test_auc": float})


def accepted_items(states: Mapping[str, ItemState]) -> tuple[str, ...]:
    """What the reviewers have accepted, in the same order for the same set."""
    return tuple(sorted(item for item, state in states.items() if state.verdict == "accept"))


def report_prompts(
    prompted: PromptViews, table: pd.DataFrame, accepted: Collection[str], seed: int = 0
) -> PromptReport:
    """Selections of the candidates in ``table``, the scores of the run, side by side."""
    views = prompted.views
    selections = list(_selections(views, table, set(accepted), seed))
    if not len(selections[0].rows):
        raise DataError(
            "none of the scored candidates was looked at",
            advice="look at the images again",
        )
    choices = compare_selections(views, selections)
    notes = [] if views.has_test else [NO_TEST]
    if not any(choice.selection.name == "accepted" for choice in choices):
        notes.append(NONE_ACCEPTED)
    if may_be_guessing(views, choices[0]):
        notes.append(GUESSING)
    if prompted.cut:
        are = "is" if prompted.cut == 1 else "are"
        notes.append(
            f"{prompted.cut:,} of the descriptions {are} longer than the model reads: what is too "
            "much counts for nothing"
        )
    return PromptReport(prompted, tuple(choices), tuple(notes))


def _selections(
    views: ClipViews, table: pd.DataFrame, accepted: set[str], seed: int
) -> Iterator[PromptSelection]:
    """EAP first, then what people chose, then every other evaluator, and the real anomalies."""
    items, ids = table["item"].tolist(), table["id"].tolist()
    thirds = {
        name: views.rows([items[i] for i in _third(scores, ids)])
        for name, scores in _scores(table, seed).items()
    }
    yield PromptSelection("eap", thirds.pop("eap"))
    yield PromptSelection("accepted", views.rows([item for item in items if item in accepted]))
    for name, rows in thirds.items():
        yield PromptSelection(name, rows)
    known = views.at("anomaly")
    yield PromptSelection("known", known)
    if views.has_test:
        yield PromptSelection("oracle", np.concatenate([known, views.at("test_anomaly")]))


def _scores(table: pd.DataFrame, seed: int) -> dict[str, Floats]:
    """By evaluator; random numbers are among them whether or not the run has them."""
    columns = evaluator_columns(table)
    found = {
        name: table[column_name(name)].to_numpy(np.float64)
        for name in EVALUATORS
        if column_name(name) in columns
    }
    found.setdefault("random", np.random.default_rng(seed).random(len(table)))
    return found


def _third(scores: Floats, ids: list[str]) -> list[int]:
    """The best third, rounded, one at the least; ties in the order of their ids."""
    count = max(1, round(len(ids) / 3))
    return [int(i) for i in best_first(scores, ids)[:count]]
