"""A problem with what its evaluators share, each thing made at most once."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.scoring import detectors
from eap_core.scoring.detectors import Detector
from eap_core.scoring.distances import MEMORY_BUDGET
from eap_core.scoring.evidence import Evidence, estimate
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.utility import Utility


@dataclass(frozen=True, eq=False)
class Workbench:
    """The problem, the settings and the seed of one run, and the work its evaluators share."""

    problem: Problem
    settings: Settings = AUTHORS
    seed: int = 0
    budget: int = MEMORY_BUDGET
    _made: dict[Settings, Evidence] = field(default_factory=dict, repr=False)

    @cached_property
    def detector(self) -> Detector:
        """The unsupervised detector, fitted on all training rows."""
        return detectors.fit(self.settings.detector, self.problem.x_train, self.seed)

    @cached_property
    def utility(self) -> Utility:
        """U(S) with that detector held fixed."""
        return Utility(
            self.problem,
            self.detector.training_probability(),
            self.detector.probability(self.problem.x_candidates),
            self.settings.ssdo_k,
            self.settings.ssdo_weight,
            self.budget,
        )

    def evidence(self, progress: Progress = silent) -> Evidence:
        """The evidence under the run's settings."""
        return self._evidence(self.settings, progress)

    def single_pass(self, progress: Progress = silent) -> Evidence:
        """The evidence of one pass over all training rows."""
        if self.settings in self._made:
            return self._made[self.settings].whole
        return self._evidence(replace(self.settings, subsets=0), progress)

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers that depend on the seed and the purpose, not on what else is run."""
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode())])

    def _evidence(self, settings: Settings, progress: Progress) -> Evidence:
        if settings not in self._made:
            self._made[settings] = estimate(
                self.problem, settings, self.seed, progress, self.budget, self.detector
            )
        return self._made[settings]
