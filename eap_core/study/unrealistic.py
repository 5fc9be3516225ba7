"""Unrealistic candidates: rows of other data sets as in the paper, or four kinds that are harder.

Foreign rows lie where nobody would look for them, so that a score may know them by their scale
alone. The other kinds take that away bit by bit: the scale, then the origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

import numpy as np

from eap_core.base.errors import SettingsError, quote
from eap_core.base.table import Floats

Unrealistic = Literal["foreign", "rescaled", "permuted", "uniform", "noise"]
KINDS: Final[tuple[Unrealistic, ...]] = get_args(Unrealistic)
FOREIGN: Final[Unrealistic] = "foreign"  # the paper's
BORROWED: Final[frozenset[Unrealistic]] = frozenset(("foreign", "rescaled"))
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "foreign": "rows of other data sets, as in the paper",
        "rescaled": "rows of other data sets with the normals’ mean and standard deviation in "
        "every column",
        "permuted": "every value drawn from the training rows’ own column, independently of the "
        "other columns",
        "uniform": "uniform in the box around the training normals",
        "noise": "training normals with noise of one standard deviation in every column",
    }
)


def check_kind(kind: str) -> Unrealistic:
    """The kind of that name."""
    for known in KINDS:
        if kind == known:
            return known
    raise SettingsError(
        f"there is no kind of unrealistic candidates {quote(kind)}",
        advice=f"choose from {', '.join(KINDS)}",
    )


def rescale(foreign: Floats, normals: Floats) -> Floats:
    """Foreign rows with the normals' mean and standard deviation in every column.

    A column of one value has no deviation to stretch, and becomes the normals' mean.
    """
    centred = foreign - foreign.mean(axis=0)
    spread = centred.std(axis=0)
    constant = np.ptp(foreign, axis=0) == 0
    unit = np.where(constant, 0.0, centred / np.where(constant | (spread == 0), 1.0, spread))
    return np.asarray(unit * normals.std(axis=0) + normals.mean(axis=0))


def permute(train: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Rows whose every value stands in its column of the training rows, whatever stands beside."""
    drawn = rng.integers(len(train), size=(count, train.shape[1]))
    return np.take_along_axis(train, drawn, axis=0)


def fill_box(normals: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Rows anywhere between the normals' least and greatest value of every column."""
    low, high = normals.min(axis=0), normals.max(axis=0)
    return np.asarray(low + (high - low) * rng.random((count, normals.shape[1])))


def add_noise(normals: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Some of the normals, each value moved by one standard deviation of its column."""
    drawn = normals[rng.integers(len(normals), size=count)]
    return np.asarray(drawn + normals.std(axis=0) * rng.normal(size=drawn.shape))
