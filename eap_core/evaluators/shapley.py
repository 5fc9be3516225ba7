"""Data Shapley (Ghorbani and Zou, 2019) and Beta Shapley (Kwon and Zou, 2022).

Both are means of U(S + c) − U(S) over random S whose sizes follow a law of their own. Drawing a
probability q and keeping each row with it gives just these laws: q uniform for Shapley's value, and
q from Beta(b, a) for Beta Shapley(a, b), which with (4, 1) looks mostly at small S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eap_core.evaluators.base import Cost
from eap_core.marginals import mean_gain, random_rows
from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench


@dataclass(frozen=True)
class DataShap:
    label: ClassVar[str] = "DataShap"
    summary: ClassVar[str] = "detection improves when it is added to parts of any size"
    cost: ClassVar[Cost] = "seconds"
    models: int = 100
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return _semivalue(bench, self.label, 1.0, 1.0, self.models, self.exact, progress)


@dataclass(frozen=True)
class BetaShap:
    label: ClassVar[str] = "BetaShap"
    summary: ClassVar[str] = "detection improves when it is added to small parts"
    cost: ClassVar[Cost] = "seconds"
    alpha: float = 4.0
    beta: float = 1.0
    models: int = 100
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        shape = self.beta, self.alpha
        return _semivalue(bench, self.label, *shape, self.models, self.exact, progress)


def _semivalue(
    bench: Workbench, purpose: str, a: float, b: float, models: int, exact: bool, progress: Progress
) -> Floats:
    rng = bench.rng(purpose)
    shares = rng.beta(a, b, size=models)
    masks = [random_rows(bench.problem, rng, max(float(share), 0.01)) for share in shares]
    return mean_gain(bench, masks, exact, progress)
