"""Learning curves: the classifiers against scikit-learn's, few positions against all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from eap_core.analysis.learning import Curve, Forest, LearningCurves, Svm
from eap_core.base.table import Ints, Labels
from eap_core.evaluators import EVALUATORS
from eap_core.scoring import best_first
from eap_core.scoring.workbench import Workbench
from eap_core.study.data import Split, choose_datasets, find_datasets, split_dataset
from eap_core.study.run import learner_of


def made(folder: Path, name: str) -> Split:
    pool = find_datasets(folder)
    return split_dataset(choose_datasets(pool, [name])[0], pool, 0)


@pytest.mark.parametrize("count", [0, 1, 30])
def test_the_classifiers_are_scikit_learns(sets: Path, count: int) -> None:
    found = made(sets, "threes")
    added = np.arange(count)
    problem = found.problem
    rows = np.concatenate([problem.x_train, problem.x_candidates[added]])
    labels = np.append(problem.y_train, np.ones(count, dtype=np.int8))
    machine = SVC().fit(rows, labels).predict(found.x_test)
    np.testing.assert_array_equal(learner_of("images", found, 0).labels(added), machine)
    forest = RandomForestClassifier(random_state=7).fit(rows, labels).predict(found.x_test)
    np.testing.assert_array_equal(learner_of("tables", found, 7).labels(added), forest)


@dataclass(frozen=True)
class Counting:
    """Right on as many test rows as candidates were added."""

    split: Split

    def labels(self, added: Ints) -> Labels:
        right = np.arange(len(self.split.y_test)) < len(added)
        return np.where(right, self.split.y_test, 1 - self.split.y_test).astype(np.int8)


def test_area_and_end_of_a_curve_known_by_hand(sets: Path) -> None:
    found = made(sets, "tumours")  # 255 candidates, 212 test rows
    curves = LearningCurves(found.task, Counting(found), points=6)
    order = np.random.default_rng(0).permutation(255)
    gain, loss = curves.best_first(order), curves.worst_first(order)
    assert gain.shares == tuple(n / 255 for n in (0, 17, 34, 51, 68, 85))
    assert gain.end == 85 / 212
    assert gain.area == pytest.approx(42.5 / 212)
    assert loss.shares[-1] == pytest.approx(2 / 3)
    assert loss.area == pytest.approx(85 / 212)


def test_best_and_worst_come_from_the_two_ends(sets: Path) -> None:
    found = made(sets, "tumours")
    seen: list[frozenset[int]] = []

    @dataclass(frozen=True)
    class Watching:
        def labels(self, added: Ints) -> Labels:
            seen.append(frozenset(added.tolist()))
            return found.y_test

    order = np.arange(255)[::-1]
    LearningCurves(found.task, Watching(), points=2).best_first(order)
    assert seen == [frozenset(), frozenset(range(170, 255))]
    seen.clear()
    LearningCurves(found.task, Watching(), points=2).worst_first(order)
    assert seen == [frozenset(), frozenset(range(170))]


@pytest.mark.parametrize(("name", "track"), [("ones", "images"), ("tumours", "tables")])
def test_few_positions_are_near_the_whole_curve(sets: Path, name: str, track: str) -> None:
    """25 positions and the trapezoid rule are within 0.01 of a classifier for every candidate."""
    found = made(sets, name)
    learner = Svm(found.task) if track == "images" else Forest(found.task, 0)
    few = LearningCurves(found.task, learner)
    whole = replace(few, points=10_000)
    bench = Workbench(found.problem)
    for evaluator in ("eap", "random"):
        order = best_first(EVALUATORS[evaluator].score(bench), found.problem.ids)
        a, b = few.best_first(order), whole.best_first(order)
        assert len(b.shares) == len(order) // 3 + 1
        assert len(a.shares) == min(25, len(b.shares))
        assert a.end == b.end
        assert abs(a.area - b.area) < 0.01
        assert abs(few.worst_first(order).area - whole.worst_first(order).area) < 0.01


def test_a_curve_of_two_points() -> None:
    assert Curve((0.0, 0.5), (0.4, 0.8)).area == pytest.approx(0.6)
