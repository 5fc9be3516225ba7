"""What is made of scores: tables, explanations, comparisons, duplicates, maps, learning curves.

Here: what a run is asked to do, as it is recorded with the run, and how long it takes.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from eap_core.base.progress import Progress, part_of
from eap_core.evaluators import EVALUATORS
from eap_core.features import EMBEDDERS
from eap_core.features.clip_hub import ModelSpec
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import AUTHORS, Settings

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pyod",
    "pillow",
    "torch",
    "open_clip_torch",
    "transformers",
    "onnxruntime",
)


@dataclass(frozen=True)
class Plan:
    """Evaluators beside EAP, the settings of the evidence, and how images become numbers.

    ``clip_model``, ``weights``, a file to read instead of the published ones, and ``int8``, to look
    in 8 bits, are for the features "clip" only. ``chosen`` is the evaluator whose score ranks the
    candidates; it can be changed afterwards, since no score depends on it. ``lines`` says what
    draws the lines between categories: the paper's constants, or the rehearsal.
    """

    evaluators: tuple[str, ...] = ("eap",)
    settings: Settings = AUTHORS
    prior: float | None = None
    assumed_rate: float | None = None
    seed: int = 0
    features: str = "full"
    clip_model: str = ModelSpec().model
    weights: str | None = None
    int8: bool = False
    chosen: str = "eap"
    lines: Literal["data", "paper"] = "paper"

    @property
    def belief(self) -> Prior | None:
        return None if self.prior is None else Prior.of_rate(self.prior)

    @property
    def wanted(self) -> ModelSpec:
        return ModelSpec.named(self.clip_model, Path(self.weights) if self.weights else None)

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Plan:
        """The plan in the record of a run, which may say more, or less if it is old."""
        given = {field.name: record[field.name] for field in fields(cls) if field.name in record}
        settings = Settings(**record["settings"])
        return cls(**{**given, "settings": settings, "evaluators": tuple(record["evaluators"])})


def fit_plan(settings: Settings, normals: int) -> tuple[Settings, tuple[str, ...]]:
    """The settings, with fewer neighbours where there are too few normals, and that said."""
    least = max(1, normals - 2)
    if settings.k_min <= least:
        return settings, ()
    note = (
        f"{normals} normals are fewer than the {settings.fewest_normals} that are usual: balls "
        f"span at least {least} neighbours instead of {settings.k_min}"
    )
    return replace(settings, k_min=least), (note,)


def versions() -> dict[str, str]:
    """What computed the scores, for the record."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


# How long the steps of a run take, roughly, so that progress is a share of the time.

_EACH_DETECTOR = 0.15
_AT_LEAST = MappingProxyType({"umap": 3.0, "rehearsal": 2.0})  # to load it; five forests
# Of the steps that are no evaluators, for as many rows as an evaluator's own seconds.
_SECONDS = MappingProxyType({"insight": 0.5, "umap": 3.0})
_NEXT_TO_NOTHING, _SUBSETS = 0.02, 101


def reading_seconds(images: int, features: str) -> float:
    """Seconds until the data are numbers; a table is read at once."""
    # A name that is not known is refused where the features are made, in a sentence.
    embedder = EMBEDDERS.get(features, EMBEDDERS[Plan.features])
    return 0.3 + embedder.seconds * images


def working_seconds(step: str, settings: Settings, training: int, candidates: int) -> float:
    """Seconds that a step takes on so many rows; twice the rows take four times as long."""
    usual = EVALUATORS[step].seconds if step in EVALUATORS else _SECONDS.get(step, _NEXT_TO_NOTHING)
    found = usual * training * (training + candidates) / 8e6
    if step == "eap":
        fitting = _EACH_DETECTOR * settings.subsets if settings.refit else 0.0
        found = fitting + found * (settings.subsets + 1) / _SUBSETS
    return _NEXT_TO_NOTHING + found + _AT_LEAST.get(step, 0.0)


def stretches(progress: Progress, seconds: Sequence[float]) -> list[Progress]:
    """A progress function for each of several pieces of work that take so long."""
    total, done, found = sum(seconds), 0.0, []
    for each in seconds:
        found.append(part_of(progress, done / total, (done + each) / total))
        done += each
    return found
