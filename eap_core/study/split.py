"""One experiment's data: training rows, candidates of known quality, and a test set."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from eap_core.assemble import standardisation
from eap_core.category import CATEGORIES
from eap_core.errors import DataError
from eap_core.problem import Problem
from eap_core.study.borrowed import borrow, lenders_of
from eap_core.study.datasets import FEWEST_IN_TABLES, DataSet, Rows
from eap_core.table import Floats, Labels

FEWEST_ANOMALIES, FEWEST_NORMALS = 20, 20
_MOST_NORMALS = 1000
_CLUSTERS = 10
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """The problem, which of its candidates are realistic, and held-out rows with their labels.

    ``kinds`` index ``CATEGORIES``; ``lenders`` are the data sets of the unrealistic candidates.
    """

    problem: Problem
    kinds: npt.NDArray[np.int8]
    x_test: Floats
    y_test: Labels
    lenders: tuple[str, ...]

    @property
    def realistic(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.kinds == CATEGORIES.index("realistic"))


@dataclass(frozen=True)
class Counts:
    """How many anomalies are for the test, for training and for candidates."""

    test: int
    train: int
    candidates: int


def counts_of(anomalies: int) -> Counts:
    """Half, a tenth and two fifths, within the paper's bounds.

    The lower bound of the test set holds where there are a hundred anomalies, as in every table of
    the paper: fewer could not fill it and leave candidates.
    """
    least = 50 if anomalies >= FEWEST_IN_TABLES else 1
    test = min(max(round(0.5 * anomalies), least), 250)
    train = min(max(round(0.1 * anomalies), 5), 50)
    return Counts(test, train, min(round(0.4 * anomalies), 250, anomalies - test - train))


def split(data: DataSet, pool: Sequence[DataSet], seed: int) -> Split:
    """The same data sets and the same seed give the same split."""
    rows = data.rows()
    _check(data, rows)
    rng = np.random.default_rng([seed, zlib.crc32(data.name.encode())])
    counts = counts_of(int(rows.labels.sum()))
    anomalies = rng.permutation(np.flatnonzero(rows.labels == 1))
    normals = rng.permutation(np.flatnonzero(rows.labels == 0))
    test = np.concatenate([normals[: counts.test], anomalies[: counts.test]])
    train_anomalies, others = _biased(rows.values, anomalies[counts.test :], counts.train, rng)
    realistic = others[: counts.candidates]
    invisible = normals[counts.test : counts.test + len(realistic)]
    train_normals = normals[counts.test + len(realistic) :][:_MOST_NORMALS]
    lenders = lenders_of(data, pool, rng)
    foreign = borrow(lenders, pool, rows.values.shape[1], len(realistic), rng)

    train = np.concatenate([train_normals, train_anomalies])
    centre, spread = standardisation(rows.values[train])
    candidates = np.concatenate([rows.values[realistic], rows.values[invisible], foreign])
    kinds = np.repeat(np.arange(3, dtype=np.int8), [len(realistic), len(invisible), len(foreign)])
    # Ties are in the order of the ids, which must not know what is realistic.
    shuffled = rng.permutation(len(kinds))
    width = len(str(len(kinds)))
    problem = Problem(
        x_train=(rows.values[train] - centre) / spread,
        y_train=rows.labels[train],
        x_candidates=((candidates - centre) / spread)[shuffled],
        ids=tuple(f"{i + 1:0{width}}" for i in range(len(kinds))),
    )
    x_test = (rows.values[test] - centre) / spread
    return Split(problem, kinds[shuffled], x_test, rows.labels[test], tuple(lenders))


def _biased(
    values: Floats, anomalies: Ints, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Anomalies cluster by cluster, so that training knows some kinds only; and the others."""
    clusters = KMeans(
        n_clusters=min(_CLUSTERS, len(np.unique(values[anomalies], axis=0))),
        n_init="auto",
        random_state=int(rng.integers(2**31)),
    ).fit_predict(values[anomalies])
    by_cluster = anomalies[np.argsort(clusters, kind="stable")]
    return by_cluster[:count], rng.permutation(by_cluster[count:])


def _check(data: DataSet, rows: Rows) -> None:
    anomalies = int(rows.labels.sum())
    normals = len(rows.labels) - anomalies
    if anomalies < FEWEST_ANOMALIES:
        raise DataError(
            f"{data.name} has {anomalies:,} anomalies — at least {FEWEST_ANOMALIES} are needed"
        )
    counts = counts_of(anomalies)
    needed = counts.test + counts.candidates + max(FEWEST_NORMALS, 2 * counts.train + 1)
    if normals < needed:
        raise DataError(
            f"{data.name} has {normals:,} normal rows beside {anomalies:,} anomalies — at least "
            f"{needed:,} are needed for training, test and candidates"
        )
