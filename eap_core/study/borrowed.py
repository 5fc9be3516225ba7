"""Unrealistic candidates: rows of other data sets, brought to the same number of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.cluster import FeatureAgglomeration
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

from eap_core.study.datasets import DataSet, Rows
from eap_core.table import Floats

LENDERS = 5
_MOST_ROWS = 250  # of each lender, at most half of them anomalies
_SPARE = {
    "breast cancer": load_breast_cancer,
    "diabetes": load_diabetes,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}


def lenders_of(data: DataSet, pool: Sequence[DataSet], rng: np.random.Generator) -> list[str]:
    """The names of five other data sets of the same track.

    Where there are fewer, sets that come with scikit-learn fill up, so that somebody with a single
    data set can run the study on it.
    """
    others = sorted(one.name for one in pool if one.track == data.track and one.name != data.name)
    drawn = [others[i] for i in rng.permutation(len(others))[:LENDERS]]
    return drawn + [f"scikit-learn's {name}" for name in list(_SPARE)[: LENDERS - len(drawn)]]


def borrow(
    lenders: Sequence[str], pool: Sequence[DataSet], d: int, count: int, rng: np.random.Generator
) -> Floats:
    """``count`` rows of the lenders, each with d columns; all there are where there are fewer."""
    by_name = {one.name: one for one in pool}
    seed = int(rng.integers(2**31))
    parts = []
    for name in lenders:
        rows = by_name[name].rows() if name in by_name else _spare(name)
        parts.append(fitted(_some(rows, rng), d, seed))
    union = np.concatenate(parts)
    return np.asarray(union[rng.permutation(len(union))[:count]])


def fitted(rows: Floats, d: int, seed: int) -> Floats:
    """The rows with d columns: fewer by PCA, more by adding what is computed from them."""
    least = min(rows.shape)
    if rows.shape[1] == d:
        return rows
    components = PCA(n_components=min(least, d), random_state=seed).fit_transform(rows)
    if least > d:
        return np.asarray(components)
    groups = FeatureAgglomeration(n_clusters=least).fit_transform(rows) if least > 1 else rows
    parts = [components, groups]
    if 3 * least >= d:
        parts.insert(0, rows)
    missing = d - sum(part.shape[1] for part in parts)
    if missing > 0:
        directions = np.random.default_rng(seed).normal(size=(rows.shape[1], missing))
        parts.append(rows @ directions / np.sqrt(missing))
    return np.hstack(parts)[:, :d]


def _some(rows: Rows, rng: np.random.Generator) -> Floats:
    half = _MOST_ROWS // 2
    anomalies = rng.permutation(np.flatnonzero(rows.labels == 1))[:half]
    normals = rng.permutation(np.flatnonzero(rows.labels == 0))[: _MOST_ROWS - len(anomalies)]
    return np.asarray(rows.values[np.concatenate([normals, anomalies])])


def _spare(name: str) -> Rows:
    values, target = _SPARE[name.removeprefix("scikit-learn's ")](return_X_y=True)
    return Rows(np.asarray(values, dtype=np.float64), (target == target.min()).astype(np.int8))
