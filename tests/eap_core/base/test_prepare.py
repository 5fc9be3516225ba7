"""Tables become a problem by the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eap_core.base.errors import EapError
from eap_core.base.prepare import problem_from_tables
from eap_core.base.table import Floats, Table


def table(values: Any, columns: str = "ab", source: str = "t.csv", **given: Any) -> Table:
    rows = np.asarray(values, dtype=float)
    ids = given.pop("ids", tuple(f"{source}:{i}" for i in range(len(rows))))
    return Table(source, tuple(columns), rows, ids, **given)


def cloud(n: int, seed: int = 0, d: int = 2) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d)) * 5 + 3


NORMALS = table(cloud(20), source="good.csv")
ANOMALIES = table(cloud(3, 1) + 9, source="bad.csv")
CANDIDATES = table(cloud(4, 2), source="made.csv")


def test_columns_are_matched_by_name() -> None:
    turned = table(CANDIDATES.values[:, ::-1], "ba", "made.csv")
    straight = problem_from_tables(NORMALS, CANDIDATES, ANOMALIES)
    crossed = problem_from_tables(NORMALS, turned, ANOMALIES)
    np.testing.assert_array_equal(straight.x_candidates, crossed.x_candidates)
    assert straight.fingerprint == crossed.fingerprint


def test_a_missing_column_is_named_with_a_suggestion() -> None:
    with pytest.raises(
        EapError, match=r"made.csv lacks the column 'b' .*did you mean 'b' instead of ' B'"
    ):
        problem_from_tables(NORMALS, Table("made.csv", ("a", " B"), cloud(2), ("x", "y")))


def test_an_extra_column_is_ignored_for_the_score_and_kept() -> None:
    wide = Table("made.csv", ("a", "extra", "b"), cloud(4, 2, 3), tuple("wxyz"))
    problem = problem_from_tables(NORMALS, wide, ANOMALIES)
    assert any("'extra' is not in the training data" in text for text in problem.warnings)
    kept = wide.ordered_like(("a", "b")).extras["extra"]
    assert [float(text) for text in kept] == wide.values[:, 1].tolist()


def test_standardised_by_the_training_rows_and_recorded() -> None:
    problem = problem_from_tables(NORMALS, CANDIDATES, ANOMALIES)
    train = np.vstack([NORMALS.values, ANOMALIES.values])
    np.testing.assert_allclose(problem.x_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(problem.x_train.std(axis=0, ddof=1), 1)
    np.testing.assert_allclose(problem.centre, train.mean(axis=0))
    np.testing.assert_allclose(
        problem.x_candidates * problem.spread + problem.centre, CANDIDATES.values
    )
    raw = problem_from_tables(NORMALS, CANDIDATES, ANOMALIES, scale="none")
    np.testing.assert_array_equal(raw.x_train, train)


def test_nearly_constant_columns_are_centred_only() -> None:
    values = cloud(20)
    values[:, 1] = 7 + 1e-5 * np.arange(20)
    problem = problem_from_tables(table(values), table(values[:2]), ANOMALIES)
    assert problem.spread[1] != 1  # the far anomalies spread it
    problem = problem_from_tables(table(values), table(values[:2]))
    assert problem.spread[1] == 1
    assert abs(problem.x_train[:, 1]).max() < 1e-3


def test_constant_columns_are_left_out_with_a_warning() -> None:
    values = np.column_stack([cloud(20, d=1), np.full(20, 4.0)])
    problem = problem_from_tables(table(values), table(cloud(2)))
    assert problem.columns == ("a",)
    assert any("'b' never varies" in text for text in problem.warnings)
    with pytest.raises(EapError, match="all 9 training rows are identical"):
        problem_from_tables(table(np.ones((9, 2))), table(cloud(2)))


def test_no_anomalies_need_an_assumption_that_is_said() -> None:
    problem = problem_from_tables(NORMALS, CANDIDATES)
    assert problem.rate == 0.05
    assert "an anomaly rate of 0.05 is assumed" in " ".join(problem.warnings)
    assert problem_from_tables(NORMALS, CANDIDATES, assumed_rate=0.2).rate == 0.2
    with pytest.raises(EapError, match=r"above 0 and below 0.5"):
        problem_from_tables(NORMALS, CANDIDATES, assumed_rate=0.5)


def test_labels_in_the_training_table_count() -> None:
    labelled = table(cloud(20), labels=np.repeat([0, 1], [15, 5]).astype(np.int8))
    problem = problem_from_tables(labelled, CANDIDATES)
    assert problem.m == 5
    with pytest.raises(EapError, match="given as anomalies but holds rows labelled 0"):
        problem_from_tables(NORMALS, CANDIDATES, labelled)


def test_the_same_id_in_both_training_tables_is_told_apart() -> None:
    normals = table(cloud(20), source="good.csv", ids=tuple(map(str, range(20))))
    anomalies = table(cloud(2) + 9, source="bad.csv", ids=("0", "x"))
    problem = problem_from_tables(normals, CANDIDATES, anomalies)
    assert problem.train_ids[0] == "good.csv:0"
    assert problem.train_ids[-2:] == ("bad.csv:0", "x")
