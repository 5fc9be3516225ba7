"""The whole image: its numbers, standardised, turned into the normals' main directions, whitened.

Components beyond what the normals span, or below the noise of their numbers, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eap_core.embed.cache import Arrays
from eap_core.table import Floats

_NOISE = 1e-5  # of the largest direction: single precision carries no more


@dataclass(frozen=True)
class WholeImageSettings:
    """How many directions are kept: fewer when there are too few normals to learn them from."""

    components: int = 64
    few_normals: int = 80
    components_of_few: int = 32


@dataclass(frozen=True, eq=False)
class WholeImage:
    """``projection @ ((numbers − centre) / spread)``, or their distance where no two differ."""

    centre: Floats
    spread: Floats
    projection: Floats

    @property
    def arrays(self) -> Arrays:
        """In the order of the fields."""
        return self.centre, self.spread, self.projection

    def describe(self, numbers: npt.NDArray[np.float32]) -> Floats:
        """One image alone, so that no bit depends on how many there are."""
        z = (numbers.astype(np.float64) - self.centre) / self.spread
        if len(self.projection) == 0:
            return np.array([np.linalg.norm(z) / np.sqrt(len(z))])
        described: Floats = self.projection @ z
        return described


def fit_whole_image(normals: Floats, settings: WholeImageSettings) -> WholeImage:
    """Learn from the normals' numbers, one row each."""
    n = len(normals)
    centre = normals.mean(axis=0)
    spread = spread_of(normals)
    wanted = settings.components if n >= settings.few_normals else settings.components_of_few
    _, lengths, directions = np.linalg.svd((normals - centre) / spread, full_matrices=False)
    real = int(np.sum(lengths > _NOISE * max(1.0, lengths[0])))
    kept = min(wanted, n - 1, real)
    deviations = lengths[:kept, None] / np.sqrt(n)
    return WholeImage(centre, spread, _signed(directions[:kept]) / deviations)


def spread_of(rows: Floats) -> Floats:
    """The standard deviation of each column, and 1 for a column that does not vary."""
    spread = rows.std(axis=0)
    still = spread <= _NOISE * np.maximum(np.abs(rows).max(axis=0), _NOISE)
    return np.where(still, 1.0, spread)


def _signed(directions: Floats) -> Floats:
    """Each direction with its largest entry positive: which of the two is a solver's accident."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return directions * np.where(largest < 0, -1.0, 1.0)
