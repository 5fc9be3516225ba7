"""What candidates are worth to a classifier: its accuracy as they are added one after another.

The forest is scikit-learn's, tree for tree, in a fraction of the time for small data. A study grows
some ten million trees, on ever other parts of the same rows. scikit-learn sorts the rows of every
node by every column it tries; here each column is ranked once for all forests, and a node counts
ranks instead of sorting. Everything else follows scikit-learn's builder to the letter: the seeds,
the order in which nodes are split, how columns are drawn and constant ones set aside, ties, and
each rounding. So the labels are those of ``RandomForestClassifier(random_state=seed)``, and a test
holds them to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numba
import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from eap_core.base.table import Bools, Floats, Ints, Labels

# Growing trees as scikit-learn does, by counting ranks; compiled, and knowing arrays only.
#
# A node's rows are counted by the rank of their value in a column and by their label, which
# together are a row's *code*. What scikit-learn's builder does step by step is done in the same
# steps, so that the same random numbers meet the same choices.

NEAR = np.float32(1e-7)  # values nearer than this are not told apart
_EPSILON = np.finfo(np.float64).eps
_FEW = 12  # rows of a node that are sorted rather than counted

Int64s = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]  # twice the rank, and the label
Rows = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int32]
Values = npt.NDArray[np.float32]
States = npt.NDArray[np.uint32]
Work = tuple[Counts, Int64s]  # weights by code, ranks
Data = tuple[Codes, Values, Bools, Counts, Int64s]  # codes, values, near, weights, labels
Drawing = tuple[Int64s, Int64s, States]  # columns, constant ones, state
Cut = tuple[int, int, float, float, float, int]
Tree = tuple[Int64s, Floats, Int64s, Floats]  # by node: column or -1, cut, right branch, shares


@numba.njit(cache=True)
def _random(state: States, low: int, high: int) -> int:
    """scikit-learn's xorshift; a state of 0 would stay 0."""
    x = state[0] if state[0] != 0 else np.uint32(1)
    x ^= np.uint32(x << np.uint32(13))
    x ^= np.uint32(x >> np.uint32(17))
    x ^= np.uint32(x << np.uint32(5))
    state[0] = x
    return low + int(x & np.uint32(0x7FFFFFFF)) % (high - low)


@numba.njit(cache=True)
def _impurity(zeros: float, ones: float) -> float:
    total = zeros + ones
    return 1.0 - (zeros * zeros + ones * ones) / (total * total)


@numba.njit(cache=True)
def _swap(array: Int64s | Rows, i: int, j: int) -> None:
    array[i], array[j] = array[j], array[i]


@numba.njit(cache=True)
def _constant(codes: Codes, node: Rows) -> bool:
    """Whether all rows have one and the same rank."""
    rank = codes[node[0]] >> 1
    for i in range(1, len(node)):  # noqa: SIM110 — what all() would take is not compiled
        if codes[node[i]] >> 1 != rank:
            return False
    return True


@numba.njit(cache=True)
def _count(codes: Codes, node: Rows, weights: Counts, counted: Counts) -> tuple[int, int]:
    """Weights by rank and label; the smallest rank and the largest."""
    low, high = codes[node[0]], codes[node[0]]
    for i in range(len(node)):
        row = node[i]
        code = codes[row]
        counted[code] += weights[row]
        low, high = min(low, code), max(high, code)
    return low >> 1, high >> 1


@numba.njit(cache=True)
def _candidates(codes: Codes, node: Rows, low: int, high: int, present: Int64s) -> int:
    """Ranks in order, all that occur among them: a few are sorted, for many each is looked at."""
    if len(node) > _FEW and high - low <= 6 * len(node):
        for i in range(high - low + 1):
            present[i] = low + i
        return high - low + 1
    for i in range(len(node)):
        present[i] = codes[node[i]] >> 1
    present[: len(node)].sort()
    return len(node)


@numba.njit(cache=True)
def _best_cut(
    values: Values, near: bool, ranks: Int64s, zeros: float, ones: float, counted: Counts
) -> tuple[float, int, float, float, float]:
    """The cut after which both sides are purest: how pure, after which rank, where, what is left.

    Between two ranks of one and the same label no cut is best, since one of its neighbours is
    better; unless values are so near that those may not be cut. Empties the counts on the way.
    """
    best, best_rank, cut, best_zeros, best_ones = -np.inf, -1, 0.0, 0.0, 0.0
    left_zeros, left_ones, before, alike = 0.0, 0.0, -1, -1
    for i in range(len(ranks)):
        rank = ranks[i]
        some_zeros, some_ones = counted[2 * rank], counted[2 * rank + 1]
        if some_zeros + some_ones == 0:
            continue
        only = 0 if some_ones == 0 else 1 if some_zeros == 0 else 2
        worth_a_look = near or only != alike or only == 2
        if before >= 0 and worth_a_look and values[rank] > values[before] + NEAR:
            left, right = left_zeros + left_ones, zeros + ones - left_zeros - left_ones
            purity = -right * _impurity(zeros - left_zeros, ones - left_ones) - left * _impurity(
                left_zeros, left_ones
            )
            if purity > best:
                best, best_rank = purity, before
                cut = values[before] / 2.0 + values[rank] / 2.0
                best_zeros, best_ones = left_zeros, left_ones
        left_zeros += some_zeros
        left_ones += some_ones
        counted[2 * rank] = counted[2 * rank + 1] = 0
        before, alike = rank, only
    return best, best_rank, cut, best_zeros, best_ones


@numba.njit(cache=True)
def _split(
    data: Data, node: Rows, zeros: float, ones: float, drawing: Drawing, known: int, work: Work
) -> Cut:
    """The best cut of the node: column, rank, place, what is left of it, constant columns.

    Columns are drawn without repetition until enough that vary have been looked at. Those known to
    be constant stand first among the columns, those found to be so follow them.
    """
    codes, values, near, weights, _ = data
    counted, present = work
    columns, constant, state = drawing
    enough = max(1, int(np.sqrt(len(columns))))
    end, looked, found, drawn = len(columns), 0, 0, 0
    best, column, rank, cut, left_zeros, left_ones = -np.inf, -1, -1, 0.0, 0.0, 0.0
    while end > known + found and (looked < enough or looked <= found + drawn):
        looked += 1
        at = _random(state, drawn, end - found)
        if at < known:
            _swap(columns, drawn, at)
            drawn += 1
            continue
        at += found
        j = columns[at]
        # Asked first: of many columns of mostly zeros, almost all are constant in a small node.
        same = _constant(codes[j], node)
        if not same:
            low, high = _count(codes[j], node, weights, counted)
            several = _candidates(codes[j], node, low, high, present)
            cut_here = _best_cut(values[j], near[j], present[:several], zeros, ones, counted)
            same = values[j, high] <= values[j, low] + NEAR
        if same:
            _swap(columns, at, known + found)
            found += 1
            continue
        end -= 1
        _swap(columns, end, at)
        if cut_here[0] > best:
            best, rank, cut, left_zeros, left_ones = cut_here
            column = j
    columns[:known] = constant[:known]
    constant[known : known + found] = columns[known : known + found]
    return column, rank, cut, left_zeros, left_ones, known + found


@numba.njit(cache=True)
def _part(codes: Codes, rank: int, node: Rows) -> int:
    """Rows up to the rank to the front; how many they are."""
    first, last = 0, len(node)
    while first < last:
        if codes[node[first]] >> 1 <= rank:
            first += 1
        else:
            last -= 1
            _swap(node, first, last)
    return first


@numba.njit(cache=True)
def _leaf(zeros: float, ones: float, impurity: float, cut: Cut, everything: float) -> bool:
    """Whether a node that has been looked at stays whole, after all roundings."""
    column, _, _, left_zeros, left_ones, _ = cut
    if column < 0:
        return True
    total, left = zeros + ones, left_zeros + left_ones
    right_impurity = _impurity(zeros - left_zeros, ones - left_ones)
    gain = (total / everything) * (
        impurity
        - ((total - left) / total * right_impurity)
        - (left / total * _impurity(left_zeros, left_ones))
    )
    return bool(gain + _EPSILON < 0.0)


@numba.njit(cache=True)
def _grow_tree(data: Data, state: States, rows: Rows, tree: Tree, work: Work) -> None:
    """A tree in the order in which it is walked: the left branch of a node follows it."""
    codes, _, _, weights, labels = data
    column, cut, right, share = tree
    columns = np.arange(len(codes))
    drawing = columns, np.empty_like(columns), state
    size, counts = 0, np.zeros(2)
    for row in range(len(labels)):
        if weights[row] > 0:
            rows[size] = row
            size += 1
            counts[labels[row]] += weights[row]
    everything, nodes = counts.sum(), 0
    waiting = [(0, size, 0, -1, counts[0], counts[1])]
    while waiting:
        start, end, known, parent, zeros, ones = waiting.pop()
        if parent >= 0:
            right[parent] = nodes
        share[nodes, 0], share[nodes, 1] = zeros / (zeros + ones), ones / (zeros + ones)
        impurity = _impurity(zeros, ones)
        column[nodes] = -1
        if end - start >= 2 and impurity > _EPSILON:
            node = rows[start:end]
            found = _split(data, node, zeros, ones, drawing, known, work)
            if not _leaf(zeros, ones, impurity, found, everything):
                column[nodes], rank, cut[nodes], left_zeros, left_ones, known = found
                middle = start + _part(codes[column[nodes]], rank, node)
                waiting.append((middle, end, known, nodes, zeros - left_zeros, ones - left_ones))
                waiting.append((start, middle, known, -1, left_zeros, left_ones))
        nodes += 1


@numba.njit(cache=True)
def _vote(tree: Tree, wanted: Values, shares: Floats) -> None:
    column, cut, right, share = tree
    for i in range(len(wanted)):
        node = 0
        while column[node] >= 0:
            node = node + 1 if wanted[i, column[node]] <= cut[node] else right[node]
        shares[i, 0] += share[node, 0]
        shares[i, 1] += share[node, 1]


@numba.njit(cache=True)
def grow(
    codes: Codes,
    values: Values,
    near: Bools,
    labels: Int64s,
    counts: Counts,
    states: States,
    wanted: Values,
    shares: Floats,
) -> None:
    """Adds, for each wanted row, every tree's shares of both labels where the row ends up."""
    n = len(labels)
    work = np.zeros(2 * values.shape[1], np.int32), np.empty(values.shape[1], np.int64)
    # Unsigned, since an index that cannot be negative is looked up in two thirds of the time.
    rows, most = np.empty(n, np.uint32), 2 * n
    tree = (
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.empty((most, 2)),
    )
    for t in range(len(counts)):
        data = codes, values, near, counts[t], labels
        _grow_tree(data, states[t : t + 1].copy(), rows, tree, work)
        _vote(tree, wanted, shares)


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


POINTS = 25


@dataclass(frozen=True, eq=False)
class LearningTask:
    """Rows to learn from, candidates to add to them as anomalies, and held-out rows."""

    x_train: Floats
    y_train: Labels
    x_candidates: Floats
    x_test: Floats
    y_test: Labels

    @property
    def rows(self) -> Floats:
        """The training rows and, after them, the candidates."""
        return np.concatenate([self.x_train, self.x_candidates])

    def used(self, added: Ints) -> tuple[Ints, Labels]:
        """Which of the rows are learned from, and as what."""
        n = len(self.x_train)
        return (
            np.append(np.arange(n), n + added),
            np.append(self.y_train, np.ones(len(added), dtype=np.int8)),
        )


class Learner(Protocol):
    """Labels of the test rows, learned from the training rows and some candidates as anomalies."""

    def labels(self, added: Ints) -> Labels: ...


@dataclass(frozen=True, eq=False)
class Forest:
    """``RandomForestClassifier()``, whose trees share one ranking of all rows."""

    task: LearningTask
    seed: int

    @cached_property
    def rows(self) -> RankedRows:
        return RankedRows(self.task.rows, self.task.x_test, self.seed)

    def labels(self, added: Ints) -> Labels:
        return self.rows.labels(*self.task.used(added))


@dataclass(frozen=True, eq=False)
class Svm:
    """``SVC()``: an RBF kernel of scikit-learn's "scale" width; all distances are taken once."""

    task: LearningTask

    @cached_property
    def rows(self) -> Floats:
        return self.task.rows

    @cached_property
    def within(self) -> Floats:
        return np.asarray(cdist(self.rows, self.rows, "sqeuclidean"))

    @cached_property
    def across(self) -> Floats:
        return np.asarray(cdist(self.task.x_test, self.rows, "sqeuclidean"))

    def labels(self, added: Ints) -> Labels:
        used, known = self.task.used(added)
        gamma = 1.0 / (self.rows.shape[1] * self.rows[used].var())
        learned = SVC(kernel="precomputed").fit(
            np.exp(-gamma * self.within[np.ix_(used, used)]), known
        )
        return np.asarray(learned.predict(np.exp(-gamma * self.across[:, used])), dtype=np.int8)


@dataclass(frozen=True)
class Curve:
    """Test accuracy when a share of all candidates has been added."""

    shares: tuple[float, ...]
    accuracy: tuple[float, ...]

    @property
    def area(self) -> float:
        """Mean height, by the trapezoid rule."""
        return float(np.trapezoid(self.accuracy, self.shares) / self.shares[-1])

    @property
    def end(self) -> float:
        return self.accuracy[-1]


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Curves of one split; the same candidates added by different methods are learned once."""

    task: LearningTask
    learner: Learner
    points: int = POINTS
    _known: dict[bytes, float] = field(default_factory=dict, repr=False)

    def best_first(self, order: Ints) -> Curve:
        """Up to a third of the candidates, from the best on."""
        return self._curve(order, 1 / 3)

    def worst_first(self, order: Ints) -> Curve:
        """Up to two thirds, from the worst on; ``order`` is still from the best to the worst."""
        return self._curve(order[::-1], 2 / 3)

    def _curve(self, order: Ints, until: float) -> Curve:
        last = round(until * len(order))
        stops = np.unique(np.round(np.linspace(0, last, min(self.points, last + 1))).astype(int))
        return Curve(
            tuple(float(stop) / len(order) for stop in stops),
            tuple(self._accuracy(order[:stop]) for stop in stops),
        )

    def _accuracy(self, added: Ints) -> float:
        # in one order, so that a set of candidates means one classifier
        added = np.sort(added)
        key = added.tobytes()
        if key not in self._known:
            self._known[key] = float(np.mean(self.learner.labels(added) == self.task.y_test))
        return self._known[key]
