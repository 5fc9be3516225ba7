"""From a detector's score f ≥ 0 to the probability P(y|x) = 1 − 2^−(f/λ)²."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from eap_core.table import Floats

_LN2 = float(np.log(2.0))
_ROUNDING = 1e-9


def threshold(scores: Floats, rate: float, how: Literal["percentile", "count"]) -> float:
    """λ, the score whose probability is one half, so that the given share lies above it."""
    if how == "percentile":
        return float(np.percentile(scores, int(100 * (1 - rate))))
    above = min(round(rate * len(scores)), len(scores) - 1)
    return float(np.sort(scores)[len(scores) - 1 - above])


def squash(scores: Floats, threshold: float) -> Floats:
    """1 − 2^−(f/λ)²; with λ = 0 anything above 0 is certain."""
    if (scores < 0).any() or threshold < 0:
        raise AssertionError("a negative score would look anomalous once squared")
    if threshold == 0:
        return np.where(scores > 0, 1.0, 0.0)
    with np.errstate(over="ignore"):  # far beyond λ the square is infinite and the answer 1
        return np.asarray(-np.expm1(-_LN2 * np.square(scores / threshold)))


def above(scores: Floats, threshold: Floats | float) -> npt.NDArray[np.bool_]:
    """f > λ, where what is equal but for rounding counts as equal."""
    return np.asarray(scores > np.asarray(threshold) * (1 + _ROUNDING))


def nearness(squared: Floats, squared_scale: float) -> Floats:
    """2^−(d/η)²: 1 at no distance, one half at η."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(squared * (-_LN2 / squared_scale)))
