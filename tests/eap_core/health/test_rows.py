from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from eap_core.analysis.score import eap_columns
from eap_core.base.prepare import problem_from_tables
from eap_core.base.problem import Problem
from eap_core.base.table import Table
from eap_core.health import Finding, find_nearest
from eap_core.health.rows import count_covered, find_in_rows, find_in_scores, find_in_training
from eap_core.scoring.evidence import estimate
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.workbench import Workbench

QUICK = replace(AUTHORS, subsets=3)


def problem(rng: np.random.Generator, candidates: np.ndarray, shift: float = 3.0) -> Problem:
    return Problem(
        x_train=np.vstack([rng.normal(size=(60, 4)), rng.normal(shift, 1, size=(5, 4))]),
        y_train=np.repeat([0, 1], [60, 5]).astype(np.int8),
        x_candidates=candidates,
        ids=tuple(f"c{i}" for i in range(len(candidates))),
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def codes(*findings: object) -> set[str]:
    return {f.code for f in findings}  # type: ignore[attr-defined]


def scores_found(problem: Problem, settings: Settings) -> Iterator[Finding]:
    bench = Workbench(problem, settings)
    return find_in_scores(problem, bench.evidence(), settings, eap_columns(bench))


@pytest.mark.parametrize("columns", [3, 40])
def test_nearest_is_the_plain_search(rng: np.random.Generator, columns: int) -> None:
    rows, others = rng.normal(size=(70, columns)), rng.normal(size=(30, columns))
    gaps = np.linalg.norm(rows[:, None] - others[None], axis=2)
    where, distance = find_nearest(rows, others)
    assert (where == gaps.argmin(axis=1)).all()
    np.testing.assert_allclose(distance, gaps.min(axis=1))
    own = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(own, np.inf)
    where, distance = find_nearest(rows, rows, own=np.arange(70))
    assert (where == own.argmin(axis=1)).all()
    np.testing.assert_allclose(distance, own.min(axis=1))


def test_copies_and_near_copies_are_told_apart(rng: np.random.Generator) -> None:
    base = problem(rng, rng.normal(size=(6, 4)))
    changed = np.array(base.x_candidates)
    changed[0] = base.x_train[7]
    changed[1] = base.x_train[8] + 1e-5
    changed[3] = changed[2] + 1e-5
    report = {f.code: f for f in find_in_rows(replace(base, x_candidates=changed))}
    assert report["candidate-is-normal"].where == ("c0 = row 8",)
    assert report["candidate-near-normal"].where == ("c1 ≈ row 9",)
    assert report["near-duplicate-candidate"].where == ("c2 ≈ c3",)
    assert set(report) == {
        "candidate-is-normal",
        "candidate-near-normal",
        "near-duplicate-candidate",
    }


def test_rows_without_flaws_are_left_in_peace(rng: np.random.Generator) -> None:
    assert not list(find_in_rows(problem(rng, rng.normal(2, 1, size=(20, 4)))))


def test_copies_are_counted_on_the_scale_of_the_tables() -> None:
    def cloud(n: int, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).normal(size=(n, 2)) * 5 + 3

    def table(source: str, *parts: np.ndarray) -> Table:
        rows = np.vstack(parts)
        return Table(source, ("a", "b"), rows, tuple(f"{source}{i}" for i in range(len(rows))))

    normals = table("n", cloud(20, 0), cloud(20, 0)[:3])
    made = table("c", cloud(20, 0)[:2], cloud(3, 5), cloud(3, 5)[:1])
    base = problem_from_tables(normals, made, table("a", cloud(3, 1) + 9))
    report = {f.code: f for f in find_in_rows(base)}
    assert report["duplicate-normal"].where == ("n20 = n0", "n21 = n1", "n22 = n2")
    assert report["candidate-is-normal"].where == ("c0 = n0", "c1 = n1")
    assert report["duplicate-candidate"].where == ("c5 = c2",)
    assert {f.code for f in find_in_training(base)} == {"duplicate-normal"}


def test_a_column_in_other_units_is_named(rng: np.random.Generator) -> None:
    candidates = rng.normal(size=(20, 4))
    candidates[:, 2] *= 1000
    candidates[:, 2] += 5000
    (finding,) = find_in_rows(problem(rng, candidates))
    assert (finding.code, finding.where) == ("other-units", ("f2",))


def test_a_test_row_that_is_a_candidate_is_a_leak(rng: np.random.Generator) -> None:
    base = problem(rng, rng.normal(2, 1, size=(5, 4)))
    test = replace(base, x_candidates=base.x_candidates[[1]], ids=("t1",))
    (finding,) = find_in_rows(base, {"test_anomaly": test})
    assert (finding.code, finding.where) == ("candidate-in-test", ("c1 = t1",))


@pytest.mark.parametrize("ball", ["open", "closed"])
def test_coverage_of_anomalies_is_the_plain_definition(rng: np.random.Generator, ball: str) -> None:
    settings = Settings(subsets=0, k=3, ball=ball)  # type: ignore[arg-type]
    base = problem(rng, rng.normal(size=(4, 4)), shift=1.5)
    found = estimate(base, settings)
    normals = base.x_train[base.normals]
    expected = []
    for anomaly in base.x_train[base.anomalies]:
        reached = False
        for i, normal in enumerate(normals):
            radius = sorted(np.linalg.norm(normals - normal, axis=1))[3]
            gap = np.linalg.norm(anomaly - normal)
            reached |= bool(gap <= radius if ball == "closed" else gap < radius)
            assert i < len(normals)
        expected.append(reached)
    assert count_covered(base, found, settings).tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_far_anomalies_and_candidates_are_said_in_words(rng: np.random.Generator) -> None:
    base = problem(rng, rng.normal(500, 1, size=(4, 4)), shift=100.0)
    settings = replace(QUICK, k=5)
    report = codes(*scores_found(base, settings))
    assert {"anomalies-uncovered", "candidates-uncovered"} <= report


def test_ties_and_wide_balls_are_noted(rng: np.random.Generator) -> None:
    candidates = np.vstack([rng.normal(1.5, 1, size=(10, 4)), rng.normal(900, 1, size=(3, 4))])
    base = problem(rng, candidates, shift=9.0)
    found = {f.code: f for f in scores_found(base, QUICK)}
    assert found["ties-at-prior"].what.startswith("3 of 13 candidates")
    assert "wide-balls" in found


def test_ordinary_data_raise_no_alarm(rng: np.random.Generator) -> None:
    base = problem(rng, rng.normal(1.5, 1, size=(20, 4)), shift=1.5)
    found = scores_found(base, QUICK)
    assert not [f for f in found if f.severity != "note"]
