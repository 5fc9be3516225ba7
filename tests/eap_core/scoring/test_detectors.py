"""pyod's detectors by name."""

from __future__ import annotations

import numpy as np
import pytest

from eap_core.base.errors import SettingsError
from eap_core.scoring import detectors


@pytest.mark.parametrize("name", ["iforest", "knn", "lof", "hbos", "pca", "gmm", "inne"])
def test_training_rows_span_the_unit_interval_and_others_are_cut_to_it(name: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    fitted = detectors.fit(name, rows, seed=0)
    own = fitted.training_probability()
    assert own.min() == 0
    assert own.max() == 1
    others = fitted.probability(np.vstack([np.zeros((1, 3)), np.full((1, 3), 50.0)]))
    assert 0 <= others[0] <= others[1] <= 1
    assert others[1] > 0.5


def test_the_seed_decides() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    first, again, other = (
        detectors.fit("iforest", rows, s).training_probability() for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", ["magic", "../os", "base", "", "_pyg_utils", "combination"])
def test_what_is_no_detector_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="detector"):
        detectors.fit(name, np.zeros((5, 2)), 0)


@pytest.mark.parametrize("name", ["ecod", "copod"])
def test_a_detector_that_scores_rows_by_their_company_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="must not depend on others"):
        detectors.fit(name, np.random.default_rng(0).normal(size=(60, 3)), 0)


def test_a_detector_that_fails_on_few_candidates_says_so() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(SettingsError, match="'sod' cannot be used on these"):
        detectors.fit("sod", rows, 0).probability(rows[:2])


def test_a_detector_that_cannot_learn_says_so() -> None:
    with pytest.raises(SettingsError, match="'knn' cannot be used on these 3 rows"):
        detectors.fit("knn", np.random.default_rng(0).normal(size=(3, 2)), 0)
