"""The nearest other row of each row: where near-duplicates are looked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eap_core.distances import SquaredDistances
from eap_core.progress import Progress, silent
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]


def nearest(
    rows: Floats, others: Floats | None = None, progress: Progress = silent
) -> tuple[Ints, Floats]:
    """Position and distance of each row's nearest among ``others``, or among the other rows."""
    distances = SquaredDistances(rows, rows if others is None else others, visited_again=False)

    def look(block: slice, squared: Floats) -> tuple[Ints, Floats]:
        each = np.arange(len(squared))
        if others is None:
            squared[each, each + block.start] = np.inf  # a row is not its own neighbour
        where = np.argmin(squared, axis=1)
        return where, squared[each, where]

    found = list(distances.map(look, progress, "comparing"))
    return (
        np.concatenate([where for where, _ in found]),
        np.sqrt(np.concatenate([squared for _, squared in found])),
    )
