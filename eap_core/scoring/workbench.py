"""A problem with what its evaluators share, each thing made at most once."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.base.table import Floats
from eap_core.scoring import detectors
from eap_core.scoring.detectors import Detector
from eap_core.scoring.distances import MEMORY_BUDGET
from eap_core.scoring.evidence import Evidence, estimate, evidence_bytes
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

    @cached_property
    def parts(self) -> tuple[Workbench, ...]:
        """Benches with some of the candidates each, so that the evidence of one fits the budget.

        Candidates do not depend on each other, so that it makes no difference to any of them.
        """
        step = max(1, self.budget // evidence_bytes(self.settings))
        if step >= len(self.problem.ids):
            return (self,)
        some = self.problem.parts_of(step)
        made = [replace(self, problem=part, _made={}) for part in some]
        for bench in made:  # fitted once
            vars(bench)["detector"] = self.detector
        return tuple(made)

    def by_parts(
        self, work: Callable[[Workbench, Progress], dict[str, Floats]], progress: Progress = silent
    ) -> dict[str, Floats]:
        """Columns made from the evidence of one part after the other.

        The evidence of the first is kept, for what it says of the training rows.
        """
        columns: list[dict[str, Floats]] = []
        for bench, step in zip(self.parts, equal_parts(progress, len(self.parts)), strict=True):
            columns.append(work(bench, step))
            if bench is not self.parts[0]:
                bench._made.clear()
        return {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers that depend on the seed and the purpose, not on what else is run."""
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode())])

    def _evidence(self, settings: Settings, progress: Progress) -> Evidence:
        if settings not in self._made:
            self._made[settings] = estimate(
                self.problem, settings, self.seed, progress, self.budget, self.detector
            )
        return self._made[settings]
