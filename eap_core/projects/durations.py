"""How long the steps of a run take, roughly, so that progress is a share of the time."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from eap_core.progress import Progress, part_of
from eap_core.settings import Settings

_EACH_IMAGE, _EACH_BY_CLIP = 0.06, 0.3  # seconds; a table is read at once
_EACH_DETECTOR = 0.15
_UMAP_AT_LEAST = 3.0  # to load what it needs
# Seconds for 2,000 training rows of 64 columns and 2,000 candidates on two cores, by evaluator or
# step, EAP over 100 subsets; twice the rows take four times as long. Whatever is not named takes
# next to nothing.
_SECONDS = MappingProxyType(
    {
        "eap": 5.0,
        "insight": 0.5,
        "umap": 3.0,
        "lava": 16.0,
        "ame": 8.0,
        "influence": 7.0,
        "data_banzhaf": 5.0,
        "data_oob": 2.5,
        "data_shap": 10.0,
        "beta_shap": 10.0,
        "loo": 0.8,
        "knn_shap": 0.6,
    }
)
_NEXT_TO_NOTHING, _SUBSETS = 0.02, 101


def reading(images: int, features: str) -> float:
    """Seconds until the data are numbers."""
    return 0.3 + (_EACH_BY_CLIP if features == "clip" else _EACH_IMAGE) * images


def working(step: str, settings: Settings, training: int, candidates: int) -> float:
    """Seconds that a step takes on so many rows."""
    found = _SECONDS.get(step, _NEXT_TO_NOTHING) * training * (training + candidates) / 8e6
    if step == "eap":
        fitting = _EACH_DETECTOR * settings.subsets if settings.refit else 0.0
        found = fitting + found * (settings.subsets + 1) / _SUBSETS
    return _NEXT_TO_NOTHING + found + (_UMAP_AT_LEAST if step == "umap" else 0.0)


def stretches(progress: Progress, seconds: Sequence[float]) -> list[Progress]:
    """A progress function for each of several pieces of work that take so long."""
    total, done, found = sum(seconds), 0.0, []
    for each in seconds:
        found.append(part_of(progress, done / total, (done + each) / total))
        done += each
    return found
