"""EAP as an estimator: scikit-learn's own checks, and the same scores as the method itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from eap_core import EAP
from eap_core.base.errors import DataError
from eap_core.base.prepare import learn_scale
from eap_core.base.problem import Problem
from eap_core.evaluators.eap import Eap
from eap_core.scoring.settings import Settings
from eap_core.scoring.workbench import Workbench

RNG = np.random.default_rng(5)
ROWS = np.vstack([RNG.normal(size=(120, 3)), RNG.normal(3, 0.4, size=(6, 3))])
LABELS = np.repeat([0, 1], [120, 6])
MADE = RNG.normal(2, 2, size=(20, 3))


@pytest.mark.filterwarnings("ignore:.*anomalies are left out")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(EAP(subsets=0))),
    ids=lambda each: getattr(each, "func", each).__class__.__name__,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_scores_are_those_of_the_method() -> None:
    centre, spread = learn_scale(ROWS)
    ids = tuple(str(i) for i in range(len(MADE)))
    problem = Problem((ROWS - centre) / spread, LABELS, (MADE - centre) / spread, ids)
    wanted = Eap().score(Workbench(problem, Settings(subsets=7), 3))
    model = EAP(subsets=7, random_state=3).fit(ROWS, LABELS)
    np.testing.assert_array_equal(model.score_samples(MADE), wanted)
    np.testing.assert_array_equal(model.score_samples(MADE[:4]), wanted[:4])


def test_the_rarer_label_is_the_anomaly_whatever_it_is_called() -> None:
    wanted = EAP(subsets=0).fit(ROWS, LABELS).score_samples(MADE)
    for names in (np.where(LABELS == 1, -1, 1), np.where(LABELS == 1, "NOK", "OK")):
        np.testing.assert_array_equal(EAP(subsets=0).fit(ROWS, names).score_samples(MADE), wanted)


def test_too_many_anomalies_are_thinned_aloud_and_odd_labels_refused() -> None:
    with pytest.warns(UserWarning, match="anomalies are left out"):
        EAP(subsets=0).fit(ROWS, np.arange(len(ROWS)) % 2)
    with pytest.raises(DataError, match="of 3 kinds"):
        EAP().fit(ROWS, np.arange(len(ROWS)) % 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert EAP(subsets=0).fit(ROWS).score_samples(MADE).shape == (20,)
