"""From rows to posteriors. Here: orders and percentiles in which equal scores are equal.

The order of equal scores is that of their ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eap_core.base.table import Floats


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
    from scipy.stats import rankdata  # slow to import

    return np.asarray(100.0 * (rankdata(scores) - 0.5) / len(scores))


def rank_agreement(a: Floats, b: Floats) -> float:
    """Kendall's τ; two orders of which one is all ties agree only if both are."""
    if len(a) < 2:
        return 1.0
    from scipy.stats import kendalltau  # slow to import

    tau = float(kendalltau(a, b).statistic)
    return float(np.ptp(a) == np.ptp(b)) if np.isnan(tau) else tau
