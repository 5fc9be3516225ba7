"""scikit-learn's random forest, tree for tree, in a fraction of the time for small data.

A study grows some ten million trees, on ever other parts of the same rows. scikit-learn sorts the
rows of every node by every column it tries; here each column is ranked once for all forests, and a
node counts ranks instead of sorting. Everything else follows scikit-learn's builder to the letter:
the seeds, the order in which nodes are split, how columns are drawn and constant ones set aside,
ties, and each rounding. So the labels are those of ``RandomForestClassifier(random_state=seed)``,
and a test holds them to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eap_core.study.trees import NEAR, Bools, Counts, States, Values, grow
from eap_core.table import Floats, Labels

TREES = 100
_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows of which forests learn from any part; ``wanted`` are those whose labels are asked."""

    rows: Floats
    wanted: Floats
    seed: int
    _draws: dict[int, tuple[Counts, States]] = field(default_factory=dict, repr=False)

    def labels(self, used: npt.NDArray[np.intp], labels: Labels) -> Labels:
        """The labels that a forest learned from the used rows predicts; both must be among them."""
        counts, states = self._drawn(len(used))
        ranks, values, near = self._ranked
        shares = np.zeros((len(self.wanted), 2))
        codes = (2 * ranks[:, used] + labels).astype(np.uint32)
        known = labels.astype(np.int64)
        grow(codes, values, near, known, counts, states, self._wanted, shares)
        return np.asarray(shares[:, 1] > shares[:, 0], dtype=np.int8)

    @cached_property
    def _wanted(self) -> Values:
        return np.ascontiguousarray(self.wanted, dtype=np.float32)

    @cached_property
    def _ranked(self) -> tuple[Counts, Values, Bools]:
        """Per column the rank of each row's value, the values, and whether some are too near."""
        columns = np.asarray(self.rows, dtype=np.float32).T
        ranks = np.empty(columns.shape, dtype=np.int32)
        values = np.zeros(columns.shape, dtype=np.float32)
        near = np.empty(len(columns), dtype=np.bool_)
        for j, column in enumerate(columns):
            known, ranks[j] = np.unique(column, return_inverse=True)
            values[j, : len(known)] = known
            near[j] = np.any(known[1:] <= known[:-1] + NEAR)
        return ranks, values, near

    def _drawn(self, n: int) -> tuple[Counts, States]:
        """Per tree how often each of n rows is drawn, and the state its columns are drawn from."""
        if n not in self._draws:
            rng = np.random.RandomState(self.seed)
            seeds = rng.randint(_LARGEST, size=TREES)
            counts, states = np.empty((TREES, n), np.int32), np.empty(TREES, np.uint32)
            for t, seed in enumerate(seeds):
                rng.seed(seed)  # making a generator takes sixty times as long
                counts[t] = np.bincount(rng.randint(0, n, n), minlength=n)
                rng.seed(seed)
                states[t] = rng.randint(0, _LARGEST)
            self._draws[n] = counts, states
        return self._draws[n]
