"""EAP-Reach: EAP's posterior with evidence that says how far the data reach.

φ = (α0 + N·p) / (α0 + β0 + N) with N and p of :mod:`eap_core.scoring.reach` and EAP's prior. With
s = α0 + β0 and π = α0/s: |φ − p| ≤ s/(s + N), so that φ → p where many rows reach as far;
|φ − π| ≤ N/(s + N), so that what nothing reaches stays at the prior; and N never grows when a
candidate moves outward in a view. It is not the paper's, and is named so that nobody takes it for
EAP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring.posterior import Prior, make_parts
from eap_core.scoring.reach import Reach, measure_reach

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class EapReach:
    label: ClassVar[str] = "EAP-Reach"
    title: ClassVar[str] = "EAP-Reach"
    summary: ClassVar[str] = "clearly anomalous, and no farther out than the data are known to go"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 3.0  # beside EAP's own
    in_paper: ClassVar[bool] = False
    prior: Prior | None = None
    doubt_labels: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return self.columns(bench, progress)["reach"]

    def columns(self, bench: Workbench, progress: Progress = silent) -> dict[str, Floats]:
        """The score with what it is made of; the view that limits it by its place in ``VIEWS``."""
        return bench.by_parts(self._part_columns, progress)

    def _part_columns(self, bench: Workbench, progress: Progress) -> dict[str, Floats]:
        prior = self.prior or Prior.of_rate(bench.problem.rate)
        evidence = bench.evidence(part_of(progress, 0.0, 0.6))
        p_y = make_parts(evidence, prior).p_y
        step = part_of(progress, 0.6, 1.0)
        reach = measure_reach(bench.problem, p_y, bench.seed, self.doubt_labels, bench.budget, step)
        columns = {
            "reach": posterior_of(reach, prior),
            "reach_observations": reach.observations,
            "reach_limit": reach.limiting.astype(np.float64),
            "reach_p": reach.p,
            "reach_nearest": reach.nearest,
        }
        return columns if reach.forest is None else {**columns, "reach_forest": reach.forest}


def posterior_of(reach: Reach, prior: Prior) -> Floats:
    """φ, between what the candidate looks like and what is believed without evidence."""
    n = reach.observations
    return np.asarray((prior.alpha + n * reach.p) / (prior.strength + n))
