"""Every evaluator keeps the contract; what is special to one stands in its own file."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eap_core.base.problem import Problem
from eap_core.base.progress import Cancelled
from eap_core.evaluators import EVALUATORS, PAPER_EVALUATORS
from eap_core.evaluators.base import Evaluator
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem

CROWD = {"ame"}  # shares its models among the candidates, so their company matters
WORKS = {"eap", "rarity", "lava", "sum"}  # better than chance, says the paper


@pytest.fixture(params=list(EVALUATORS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def evaluator(name: str) -> Evaluator:
    return EVALUATORS[name]


def chosen(problem: Problem, rows: list[int]) -> Problem:
    return replace(
        problem,
        x_candidates=problem.x_candidates[rows],
        ids=tuple(problem.ids[i] for i in rows),
    )


def test_one_finite_score_per_candidate(evaluator: Evaluator, problem: Problem) -> None:
    scores = evaluator.score(Workbench(problem))
    assert scores.shape == (len(problem.ids),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_the_seed_decides(name: str, evaluator: Evaluator, problem: Problem) -> None:
    first, again, other = (evaluator.score(Workbench(problem, seed=s)) for s in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    if name in {"random", "eap", "p_y", "data_shap"}:
        assert not np.array_equal(first, other)


def test_order_and_company_of_the_candidates_change_nothing(
    name: str, evaluator: Evaluator, problem: Problem
) -> None:
    if name in CROWD:
        pytest.skip("this method shares its models among the candidates")
    everyone = evaluator.score(Workbench(problem))
    some = [25, 3, 11, 8, 17]
    alone = evaluator.score(Workbench(chosen(problem, some)))
    np.testing.assert_allclose(alone, everyone[some], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("working", sorted(WORKS))
def test_better_than_chance_where_the_paper_says_so(working: str) -> None:
    problem = make_problem(seed=3, normals=300, anomalies=12, each=40, columns=5)
    scores = EVALUATORS[working].score(Workbench(problem))
    assert roc_auc_score(np.arange(120) < 40, scores) > 0.65


def test_hyperparameters_are_the_identity(evaluator: Evaluator) -> None:
    assert replace(evaluator) == evaluator  # type: ignore[type-var]
    assert hash(replace(evaluator)) == hash(evaluator)  # type: ignore[type-var]
    for field in fields(evaluator):  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(evaluator, field.name, None)


def test_progress_ends_at_one_and_never_goes_back(evaluator: Evaluator, problem: Problem) -> None:
    seen: list[float] = []
    evaluator.score(Workbench(problem), lambda share, _: seen.append(share))
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_work_can_be_cancelled_between_steps(evaluator: Evaluator, problem: Problem) -> None:
    def stop(_share: float, _step: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        evaluator.score(Workbench(problem), stop)


def test_nothing_is_printed(
    evaluator: Evaluator, problem: Problem, capfd: pytest.CaptureFixture[str]
) -> None:
    evaluator.score(Workbench(problem))
    assert capfd.readouterr() == ("", "")


def test_without_real_anomalies_it_still_answers(evaluator: Evaluator) -> None:
    scores = evaluator.score(Workbench(make_problem(anomalies=0)))
    assert np.isfinite(scores).all()


def test_a_large_problem_in_a_small_budget(evaluator: Evaluator) -> None:
    """Blocks of every kind are cut small, and the scores do not notice."""
    problem = make_problem(normals=250, anomalies=8, columns=4)
    large, small = (evaluator.score(Workbench(problem, budget=b)) for b in (10**9, 5_000_000))
    np.testing.assert_allclose(small, large, rtol=1e-9, atol=1e-12)


def test_there_are_labels_and_documentation(name: str, evaluator: Evaluator) -> None:
    assert evaluator.label
    assert evaluator.title[0].isupper()
    # A quarter of the time that 2,000 rows with 2,000 candidates take.
    assert (evaluator.seconds / 4 > 0.65) == (evaluator.cost == "seconds")
    assert evaluator.summary[0].islower()
    guide = Path(__file__).parents[3] / "docs" / "evaluators.md"
    assert f"`{name}`" in guide.read_text(encoding="utf-8")


def test_the_papers_thirteen() -> None:
    assert len(PAPER_EVALUATORS) == 13
    assert {"data_shap", "beta_shap"}.isdisjoint(PAPER_EVALUATORS)
