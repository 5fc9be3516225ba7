"""Which features of a candidate deviate most from the normals that are nearest to it.

z = (value − median of its nearest normals) / (1.4826 · MAD of all normals), so that about two
thirds of the normals lie within ±1 of the middle one, whatever a few odd ones do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eap_core.problem import Problem
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]
MOST = 8
_BLOCK_BYTES = 50_000_000
_OF_MAD, _OF_MEAN = 1.4826, 1.2533  # make both equal the standard deviation of a normal law


@dataclass(frozen=True, eq=False)
class Deviations:
    """Row i: the columns ``which[i]`` of candidate i, the most deviating first.

    ``value`` and ``typical``, the middle one of its nearest normals, are in the units of the file.
    Where there are fewer columns than places, the rest is −1 and NaN.
    """

    columns: tuple[str, ...]
    which: Ints
    z: Floats
    value: Floats
    typical: Floats


def deviations(problem: Problem, nearest: Ints) -> Deviations:
    """How each candidate deviates from its ``nearest`` training rows, −1 where there are fewer."""
    scale = robust_scale(problem.x_train[problem.normals])
    found = Deviations(
        _in_words(problem),
        np.full((len(problem.ids), MOST), -1, dtype=np.intp),
        *(np.full((len(problem.ids), MOST), np.nan) for _ in range(3)),
    )
    step = max(1, _BLOCK_BYTES // (8 * (nearest.shape[1] + 2) * len(problem.columns)))
    for start in range(0, len(problem.ids), step):
        _fill(found, problem, nearest, scale, slice(start, start + step))
    for array in (found.which, found.z, found.value, found.typical):
        array.setflags(write=False)
    return found


def robust_scale(normals: Floats) -> Floats:
    """1.4826 · MAD of each column.

    Where more than half of the normals are equal, the mean absolute deviation stands in; where all
    are, one standard deviation of the training rows, which is 1 in a standardised problem.
    """
    gaps = np.abs(normals - np.median(normals, axis=0))
    scale = _OF_MAD * np.median(gaps, axis=0)
    scale = np.where(scale > 0, scale, _OF_MEAN * gaps.mean(axis=0))
    return np.where(scale > 0, scale, 1.0)


def _fill(found: Deviations, problem: Problem, nearest: Ints, scale: Floats, rows: slice) -> None:
    values = problem.x_candidates[rows]
    near = problem.x_train[nearest[rows]]
    near[nearest[rows] < 0] = np.nan
    typical = np.nanmedian(near, axis=1)
    z = (values - typical) / scale
    order = np.argsort(-np.abs(z), axis=1, kind="stable")[:, :MOST]
    width = order.shape[1]
    found.which[rows, :width] = order
    found.z[rows, :width] = np.take_along_axis(z, order, axis=1)
    for target, source in ((found.value, values), (found.typical, typical)):
        units = np.take_along_axis(source, order, axis=1)
        target[rows, :width] = units * problem.spread[order] + problem.centre[order]


def _in_words(problem: Problem) -> tuple[str, ...]:
    """The columns' names; one that says whether a row has a category reads "colour = red"."""
    return tuple(
        name.replace("=", " = ", 1) if "=" in name and _is_flag(problem, j) else name
        for j, name in enumerate(problem.columns)
    )


def _is_flag(problem: Problem, column: int) -> bool:
    values = np.concatenate([problem.x_train[:, column], problem.x_candidates[:, column]])
    units = values * problem.spread[column] + problem.centre[column]
    return bool(np.isclose(units * (units - 1), 0.0, atol=1e-9).all())
