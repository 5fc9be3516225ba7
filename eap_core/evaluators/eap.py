"""EAP, the expected anomaly posterior (Perini et al., 2024).

φ = (α0 + N·P(y|x)) / (α0 + β0 + N) with N = n·P(x), averaged over random subsets of the training
rows; the prior expects the share m/n of anomalies unless another is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring.posterior import Posterior, Prior, make_parts

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class Eap:
    label: ClassVar[str] = "EAP"
    title: ClassVar[str] = "EAP"
    summary: ClassVar[str] = "clearly anomalous, and where the data reach"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 5.0  # over 100 subsets
    in_paper: ClassVar[bool] = True
    prior: Prior | None = None

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return self.columns(bench, progress)["eap"]

    def columns(self, bench: Workbench, progress: Progress = silent) -> dict[str, Floats]:
        """The score, its credible interval and what it is made of."""
        return bench.by_parts(self._part_columns, progress)

    def _part_columns(self, bench: Workbench, progress: Progress) -> dict[str, Floats]:
        prior = self.prior or Prior.of_rate(bench.problem.rate)
        evidence = bench.evidence(progress)
        made_of = make_parts(evidence, prior)
        low, high = Posterior.of(evidence.averaged, prior).interval()
        return {
            "eap": made_of.eap,
            "p_x": made_of.p_x,
            "p_y": made_of.p_y,
            "weight": made_of.weight,
            "prior": np.full(len(made_of.eap), made_of.prior),
            "observations": made_of.observations,
            "covered": made_of.covered,
            "eap_low": low,
            "eap_high": high,
        }


# The parts of EAP as scores of their own, from one pass over the training rows.
#
# P(x), the density of the candidate's place; P(y|x), how anomalous the detector finds it; and their
# plain sum P(y|x) + n·P(x), in which n counts all training rows, the anomalies too.


@dataclass(frozen=True)
class Density:
    label: ClassVar[str] = "P_x"
    title: ClassVar[str] = "Support alone"
    summary: ClassVar[str] = "how dense the normal data are around it"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.02
    in_paper: ClassVar[bool] = True

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return np.array(bench.single_pass(progress).p_x[0])


@dataclass(frozen=True)
class Conditional:
    label: ClassVar[str] = "P_y|x"
    title: ClassVar[str] = "Detector alone"
    summary: ClassVar[str] = "how anomalous the detector finds it"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.02
    in_paper: ClassVar[bool] = True

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return np.array(bench.single_pass(progress).p_y[0])


@dataclass(frozen=True)
class Sum:
    label: ClassVar[str] = "P_y|x + N·P_x"
    title: ClassVar[str] = "Plain sum"
    summary: ClassVar[str] = "the two parts of EAP simply added"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.02
    in_paper: ClassVar[bool] = True

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        evidence = bench.single_pass(progress)
        return np.asarray(evidence.p_y[0] + bench.problem.n * evidence.p_x[0])
