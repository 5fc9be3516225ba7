"""The authors' own answers on splits made by their protocol, and figures of the shipped demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from eap_core.analysis.score import score
from eap_core.base.prepare import problem_from_tables
from eap_core.base.problem import Problem
from eap_core.evaluators import EVALUATORS
from eap_core.project.demos import demo_tables
from eap_core.scoring.rarity import rarity
from eap_core.scoring.workbench import Workbench

K_HAT = {"breastw_0": 94, "Pima_0": 33, "cardio_1": 160, "Ionosphere_0": 75}


def golden(folder: Path, name: str) -> dict[str, Any]:
    with np.load(folder / f"{name}.npz") as arrays:
        return dict(arrays)


@pytest.mark.parametrize("name", K_HAT)
def test_the_authors_numbers(golden_folder: Path, name: str) -> None:
    split = golden(golden_folder, name)
    candidates = split["x_candidates"]
    ids = tuple(str(i) for i in range(len(candidates)))
    problem = Problem(split["x_train"], split["y_train"], candidates, ids)
    bench = Workbench(problem, seed=int(name[-1]))  # the seed of the authors' forest

    found = rarity(problem.x_train, problem.x_candidates, 10)
    np.testing.assert_allclose(found, split["authors_rarity"], rtol=1e-9)
    whole = bench.evidence().whole
    assert whole.k.tolist() == [K_HAT[name]]
    np.testing.assert_allclose(whole.p_x[0], split["authors_p_x"], rtol=1e-9)
    np.testing.assert_allclose(whole.p_y[0], split["authors_p_y"], rtol=0, atol=1e-6)

    eap = score(bench).columns["eap"]
    theirs, good = split["authors_eap"], split["category"] == 0
    assert spearmanr(eap, theirs).statistic >= 0.97
    assert roc_auc_score(good, eap) == pytest.approx(roc_auc_score(good, theirs), abs=0.02)
    if "authors_sum" in split:
        total = score(bench, ["sum"]).columns["sum"]
        np.testing.assert_allclose(total, split["authors_sum"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", K_HAT)
@pytest.mark.parametrize(("evaluator", "near"), [("lava", 0.002), ("loo", 0.1), ("data_oob", 0.1)])
def test_the_authors_baselines(golden_folder: Path, name: str, evaluator: str, near: float) -> None:
    split = golden(golden_folder, name)
    if f"authors_{evaluator}" not in split:
        pytest.skip("the authors' code was not run for this")
    ids = tuple(str(i) for i in range(len(split["x_candidates"])))
    problem = Problem(split["x_train"], split["y_train"], split["x_candidates"], ids)
    good = split["category"] == 0
    ours = EVALUATORS[evaluator].score(Workbench(problem, seed=int(name[-1])))
    theirs = roc_auc_score(good, split[f"authors_{evaluator}"])
    assert roc_auc_score(good, ours) == pytest.approx(theirs, abs=near)
    if evaluator == "lava":
        assert spearmanr(ours, split["authors_lava"]).statistic >= 0.9999


def test_the_demo_keeps_its_figures() -> None:
    """Small figures that need no data but what ships with scikit-learn."""
    train, candidates = demo_tables()
    bench = Workbench(problem_from_tables(train, candidates))
    evidence = bench.evidence()
    assert evidence.k[0] == 146
    frame = score(bench).frame()
    generators = np.array(candidates.extras["generator"])
    best = frame.sort_values("rank")["id"].head(3).tolist()
    assert best == ["interpolate-15", "interpolate-23", "interpolate-25"]
    assert frame["eap"].max() == pytest.approx(0.3824, abs=2e-3)
    assert (frame["category"][generators == "exaggerate"] == "unrealistic").all()
    assert (frame["category"][generators == "jitter"] == "indistinguishable").mean() >= 0.8
    means = frame["percentile"].groupby(generators).mean()
    assert means["interpolate"] > means["shuffle"] > means["exaggerate"] > means["jitter"]
