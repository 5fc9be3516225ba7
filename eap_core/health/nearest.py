"""The nearest other row of each row: where near-duplicates are looked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eap_core.distances import SquaredDistances
from eap_core.progress import Progress, silent
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]


def nearest(
    rows: Floats, others: Floats, progress: Progress = silent, own: Ints | None = None
) -> tuple[Ints, Floats]:
    """Position and distance of each row's nearest among ``others``.

    ``own`` are the rows' own positions there, for a row is not its own neighbour.
    """
    distances = SquaredDistances(rows, others, visited_again=False)

    def look(block: slice, squared: Floats) -> tuple[Ints, Floats]:
        each = np.arange(len(squared))
        if own is not None:
            squared[each, own[block]] = np.inf
        where = np.argmin(squared, axis=1)
        return where, squared[each, where]

    found = list(distances.map(look, progress, "comparing"))
    return (
        np.concatenate([where for where, _ in found]),
        np.sqrt(np.concatenate([squared for _, squared in found])),
    )
