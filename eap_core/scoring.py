"""One call from a problem to the table of scores that people and files see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eap_core.category import categories
from eap_core.errors import SettingsError, listed
from eap_core.evaluators import EVALUATORS, THIRTEEN
from eap_core.evaluators.eap import Eap
from eap_core.posterior import Posterior, Prior, parts
from eap_core.progress import Progress, equal_parts, silent
from eap_core.ranking import percentiles, ranks
from eap_core.workbench import Workbench

if TYPE_CHECKING:
    import pandas as pd

Column = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """One row per candidate, in the order given; the columns by name."""

    ids: tuple[str, ...]
    columns: Mapping[str, Column]

    def frame(self) -> pd.DataFrame:
        import pandas as pd  # slow to import, and not needed for scoring

        return pd.DataFrame({"id": list(self.ids), **dict(self.columns)})


def evaluator_names(names: Sequence[str]) -> tuple[str, ...]:
    """Evaluators as asked for, EAP always first; ``all`` are the thirteen of the paper's tables."""
    wanted = tuple(n for name in names for n in (THIRTEEN if name == "all" else (name,)))
    unknown = [name for name in wanted if name not in EVALUATORS]
    if unknown:
        raise SettingsError(
            f"there is no evaluator {listed(unknown)} — choose from {', '.join(EVALUATORS)}, or all"
        )
    return tuple(dict.fromkeys(("eap", *wanted)))


def column_name(evaluator: str) -> str:
    """An evaluator's column; P_x and P_y|x of one pass must not pass for EAP's averaged parts."""
    return f"{evaluator}_one_pass" if evaluator in ("p_x", "p_y") else evaluator


def score(
    bench: Workbench,
    evaluators: Sequence[str] = ("eap",),
    prior: Prior | None = None,
    progress: Progress = silent,
) -> ScoreTable:
    """Score every candidate: EAP with its parts and category, and one column per evaluator."""
    columns: dict[str, Column] = {}
    for found in one_by_one(bench, evaluators, prior, progress):
        columns |= found
    return ScoreTable(bench.problem.ids, columns)


def one_by_one(
    bench: Workbench,
    evaluators: Sequence[str] = ("eap",),
    prior: Prior | None = None,
    progress: Progress = silent,
) -> Iterator[dict[str, Column]]:
    """The columns of one evaluator after the other, EAP's first, each as soon as it is there."""
    names = evaluator_names(evaluators)
    for name, step in zip(names, equal_parts(progress, len(names)), strict=True):
        if name == "eap":
            yield eap_columns(bench, prior, step)
        else:
            yield {column_name(name): EVALUATORS[name].score(bench, step)}


def eap_columns(
    bench: Workbench, prior: Prior | None = None, progress: Progress = silent
) -> dict[str, Column]:
    """The score, its credible interval, its place among the others, its category and its parts."""
    prior = prior or Prior.of_rate(bench.problem.rate)
    ids = bench.problem.ids
    eap = replace(Eap(), prior=prior).score(bench, progress)
    evidence = bench.evidence()
    made_of = parts(evidence, prior)
    low, high = Posterior.of(evidence.averaged, prior).interval()
    return {
        "eap": eap,
        "rank": ranks(eap, ids),
        "percentile": percentiles(eap),
        "category": categories(made_of),
        "p_x": made_of.p_x,
        "p_y": made_of.p_y,
        "weight": made_of.weight,
        "prior": np.full(len(ids), made_of.prior),
        "observations": made_of.observations,
        "covered": made_of.covered,
        "eap_low": low,
        "eap_high": high,
    }
