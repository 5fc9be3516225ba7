"""Orders and percentiles in which equal scores are equal, and their order is the ids'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from eap_core.table import Floats


def best_first(scores: Floats, ids: Sequence[str]) -> npt.NDArray[np.intp]:
    """Positions from the highest score to the lowest; ties in the order of their ids."""
    by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    return np.asarray(by_id[np.argsort(-np.asarray(scores)[by_id], kind="stable")])


def ranks(scores: Floats, ids: Sequence[str]) -> npt.NDArray[np.intp]:
    """1 for the best candidate; every rank is given once."""
    out = np.empty(len(ids), dtype=np.intp)
    out[best_first(scores, ids)] = np.arange(1, len(ids) + 1)
    return out


def percentiles(scores: Floats) -> Floats:
    """The share of candidates, in percent, that a candidate is above; ties count half."""
    return np.asarray(100.0 * (rankdata(scores) - 0.5) / len(scores))
