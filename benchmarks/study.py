"""What dominates a study: the classifiers of the learning curves, against scikit-learn's own."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from benchmarks.measure import Figure, seconds
from eap_core.analysis.learning import LearningTask, RankedRows, Svm
from eap_core.base.table import Floats, Labels

TITLE = "A study's learning curves"
NOTE = """One classifier of a learning curve: a forest of 100 trees, or a support vector machine,
learned from training rows and a third of the candidates, and asked about the test rows. Reference:
`RandomForestClassifier` and `SVC`, whose labels ours are, each tree and each label. A cell of the
study learns about 900 of them."""
FORESTS = ((200, 100, 30), (400, 300, 8), (1050, 750, 20), (1050, 750, 200))


def run() -> list[Figure]:
    forests = [_forest(*shape) for shape in FORESTS]
    return [*forests, _forest(900, 600, 1500, zeros=True), _machine(300, 100, 1000)]


def _forest(n: int, candidates: int, d: int, zeros: bool = False) -> Figure:
    """``zeros`` leaves one cell in fifty, as in tables of words."""
    rows, labels, wanted = _rows(n, candidates, d)
    if zeros:
        rows, wanted = ((own > 2.05).astype(np.float64) for own in (rows, wanted))
    used = np.arange(n + candidates // 3)
    ranked = RankedRows(rows, wanted, 0)
    ranked.labels(used, labels[used])  # compiled, ranked and drawn once for a whole cell
    ours = seconds(lambda: ranked.labels(used, labels[used]), repeat=5)
    model = RandomForestClassifier(random_state=0, n_jobs=1)
    slow = seconds(lambda: model.fit(rows[used], labels[used]).predict(wanted), repeat=3)
    kind = ", mostly zeros" if zeros else ""
    return _figure(f"forest, {len(used):,} rows × {d:,}{kind}", ours, slow, "≥ 4×")


def _machine(n: int, candidates: int, d: int) -> Figure:
    rows, labels, wanted = _rows(n, candidates, d)
    learner = Svm(
        LearningTask(rows[:n], labels[:n], rows[n:], wanted, np.zeros(len(wanted), np.int8))
    )
    added = np.arange(candidates // 3)
    learner.labels(added)
    ours = seconds(partial(learner.labels, added), repeat=5)
    used = np.arange(n + len(added))
    slow = seconds(lambda: SVC().fit(rows[used], labels[used]).predict(wanted), repeat=5)
    return _figure(f"support vector machine, {len(used):,} rows × {d:,}", ours, slow, "")


def _rows(n: int, candidates: int, d: int) -> tuple[Floats, Labels, Floats]:
    rng = np.random.default_rng(0)
    anomalous = np.append(np.arange(n) >= 0.95 * n, np.ones(candidates, dtype=bool))
    rows = rng.normal(size=(n + candidates, d)) + 0.6 * anomalous[:, None]
    return rows, anomalous.astype(np.int8), rng.normal(size=(400, d))


def _figure(what: str, ours: float, slow: float, goal: str) -> Figure:
    times = f"{ours * 1e3:.0f} ms", f"{slow * 1e3:.0f} ms"
    return Figure(what, *times, f"{slow / ours:.1f}× faster", goal)
