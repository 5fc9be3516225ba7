"""Sums of exp(−z·u) over many subsets and many u at once, by a series in u.

The rows of a subset and a few values of u make up a model's variants. Around a common centre every
sum is a polynomial in u/centre − 1 whose coefficients, for all subsets together, are products of
one matrix with their masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import numpy.typing as npt

from eap_core.table import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
SMALL_MOVE = 0.15  # relative distance from the centre up to which the series is used
_PRECISION = 1e-13


@dataclass(frozen=True, eq=False)
class Batch:
    """Models whose u are close to one another, and the series around the middle of them."""

    models: Ints
    centre: float
    terms: int


def ranked(kept: Bools, order: Ints, nearest: Floats, wanted: Sequence[int]) -> list[Floats]:
    """Per row the distances to its wanted neighbours among the kept, itself being number 0."""
    n, reach = len(kept), max(wanted) + 1
    width = min(n, 2 * reach * n // max(int(kept.sum()), 1) + 8)
    while True:
        counts = np.cumsum(kept[order[:, :width]], axis=1)
        if width == n or (counts[:, -1] >= reach).all():
            break
        width = min(n, 4 * width)
    rows = np.arange(len(order))
    return [nearest[rows, np.argmax(counts > rank, axis=1)] for rank in wanted]


def batches(u: Sequence[Floats]) -> list[Batch]:
    """Models in the order of their middle u, cut wherever the series would get long."""
    middles = np.array([np.median(values) for values in u])
    found: list[Batch] = []
    pending = list(np.argsort(middles, kind="stable"))
    while pending:
        limit = middles[pending[0]] * (1 + SMALL_MOVE)
        members = [t for t in pending if middles[t] <= limit]
        pending = pending[len(members) :]
        centre = float(np.median(middles[members]))
        moved = np.abs(np.concatenate([u[t] for t in members]) / centre - 1.0)
        largest = moved[moved <= SMALL_MOVE].max(initial=0.0)
        terms = 1 if largest == 0 else 1 + int(np.ceil(np.log(_PRECISION) / np.log(largest)))
        found.append(Batch(np.array(members), centre, terms))
    return found


def moments(squared: Floats, factor: float, masks: Floats, terms: int) -> Floats:
    """Σ exp(z)·z^k over each mask's columns, z = factor·squared, for k below ``terms``."""
    z = squared * factor
    term = np.exp(z)
    found = np.empty((len(squared), masks.shape[1], terms))
    for order in range(terms):
        found[:, :, order] = term @ masks
        term *= z
    return found


def powers(moved: Floats, terms: int) -> Floats:
    """What the moments are multiplied with for each relative move of u."""
    return np.array([moved**order / factorial(order) for order in range(terms)])
