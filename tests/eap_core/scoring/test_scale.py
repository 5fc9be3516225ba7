"""Many rows and many candidates: normals are drawn, candidates are taken in parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eap_core as eap
from eap_core.analysis.score import eap_columns, score
from eap_core.base.problem import Problem
from eap_core.scoring.evidence import evidence_bytes
from eap_core.scoring.settings import AUTHORS
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem

QUICK = replace(AUTHORS, subsets=4)


def test_nothing_is_drawn_where_all_may_stay() -> None:
    problem = make_problem(normals=60)
    assert problem.drawn(60, seed=1) is problem


@given(st.integers(10, 59), st.integers(0, 2**16), st.integers(0, 30))
def test_what_is_drawn(most: int, seed: int, anomalies: int) -> None:
    problem = make_problem(normals=60, anomalies=anomalies)
    drawn = problem.drawn(most, seed)
    assert len(drawn.normals) == most
    assert drawn.m == (anomalies if anomalies < most else most // 4)
    assert set(drawn.train_ids) <= set(problem.train_ids)
    rows = [problem.train_ids.index(name) for name in drawn.train_ids]
    np.testing.assert_array_equal(drawn.x_train, problem.x_train[rows])
    np.testing.assert_array_equal(drawn.y_train, problem.y_train[rows])
    assert rows == sorted(rows)
    assert drawn.rate == (pytest.approx(drawn.m / drawn.n) if anomalies else problem.rate)
    assert f"{most} of 60 normals are drawn" in drawn.notes[-1]
    assert problem.drawn(most, seed).train_ids == drawn.train_ids


def test_an_assumed_rate_stays() -> None:
    problem = replace(make_problem(normals=60, anomalies=0), rate=0.2)
    assert problem.drawn(20, 0).rate == 0.2


def test_the_library_draws_and_says_so() -> None:
    problem = make_problem(normals=60)
    settings = replace(QUICK, max_normals=30)
    result = eap.score(problem, settings=settings, seed=3)
    assert len(result.problem.normals) == 30
    alone = eap.score(problem.drawn(30, 3), settings=QUICK, seed=3)
    np.testing.assert_array_equal(result.table.columns["eap"], alone.table.columns["eap"])
    assert any("30 of 60" in note for note in result.problem.notes)


def in_parts(problem: Problem, of: int) -> Workbench:
    """A bench whose budget has room for the evidence of so many candidates at a time."""
    bench = Workbench(problem, QUICK, seed=2)
    small = replace(bench, budget=max(of * evidence_bytes(QUICK), 3_000_000), _made={})
    assert len(small.problem.ids) > of
    return small


@pytest.mark.parametrize("name", ["eap", "reach"])
def test_in_parts_every_bit_is_the_same(name: str) -> None:
    problem = make_problem(normals=60, each=3000, columns=3)
    whole = score(Workbench(problem, QUICK, seed=2), [name]).columns
    bench = in_parts(problem, 7_000)
    assert len(bench.parts) == 2
    found = score(bench, [name]).columns
    assert found.keys() == whole.keys()
    for column, values in whole.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


def test_only_the_first_parts_evidence_is_kept() -> None:
    bench = in_parts(make_problem(normals=60, each=3000, columns=3), 7_000)
    eap_columns(bench)
    assert [len(part._made) for part in bench.parts] == [1, 0]
    np.testing.assert_array_equal(
        bench.parts[0].evidence().squared_radii,
        Workbench(make_problem(normals=60), QUICK, seed=2).evidence().squared_radii,
    )
