"""One call from a problem to the table of scores that people and files see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from eap_core.base.errors import SettingsError, list_names
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.base.table import Floats
from eap_core.evaluators import EVALUATORS, PAPER_EVALUATORS, Evaluator
from eap_core.evaluators.eap import Eap
from eap_core.scoring import percentiles, ranks
from eap_core.scoring.posterior import Prior, category_of

if TYPE_CHECKING:
    import pandas as pd

    from eap_core.scoring.workbench import Workbench


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
    wanted = tuple(n for name in names for n in (PAPER_EVALUATORS if name == "all" else (name,)))
    unknown = [name for name in wanted if name not in EVALUATORS]
    if unknown:
        raise SettingsError(
            f"there is no evaluator {list_names(unknown)}",
            advice=f"choose from {', '.join(EVALUATORS)}, or all",
        )
    return tuple(dict.fromkeys(("eap", *wanted)))


def refit(evaluator: Evaluator) -> Evaluator:
    """The same as published: refitted for every candidate, where a closed form is usual."""
    if not _can_refit(evaluator):
        return evaluator
    return replace(evaluator, exact=True)  # type: ignore[type-var]


def list_refitted() -> list[str]:
    """The evaluators that are computed in another way when they are exact."""
    return [name for name, each in EVALUATORS.items() if _can_refit(each)]


def _can_refit(evaluator: Evaluator) -> bool:
    return any(field.name == "exact" for field in fields(evaluator))  # type: ignore[arg-type]


def column_name(evaluator: str) -> str:
    """An evaluator's column; P_x and P_y|x of one pass must not pass for EAP's averaged parts."""
    return f"{evaluator}_one_pass" if evaluator in ("p_x", "p_y") else evaluator


def score(
    bench: Workbench,
    evaluators: Sequence[str] = ("eap",),
    prior: Prior | None = None,
    progress: Progress = silent,
    exact: bool = False,
) -> ScoreTable:
    """Score every candidate: EAP with its parts and category, and one column per evaluator.

    ``exact`` computes as published, by refitting, what usually has a closed form.
    """
    columns: dict[str, Column] = {}
    for found in score_one_by_one(bench, evaluators, prior, progress, exact):
        columns |= found
    return ScoreTable(bench.problem.ids, columns)


def score_one_by_one(
    bench: Workbench,
    evaluators: Sequence[str] = ("eap",),
    prior: Prior | None = None,
    progress: Progress = silent,
    exact: bool = False,
) -> Iterator[dict[str, Column]]:
    """The columns of one evaluator after the other, EAP's first, each as soon as it is there."""
    names = evaluator_names(evaluators)
    for name, step in zip(names, equal_parts(progress, len(names)), strict=True):
        if name == "eap":
            yield eap_columns(bench, prior, step)
        else:
            evaluator = refit(EVALUATORS[name]) if exact else EVALUATORS[name]
            yield score_columns(name, evaluator, bench, prior, step)


def score_columns(
    name: str,
    evaluator: Evaluator,
    bench: Workbench,
    prior: Prior | None = None,
    progress: Progress = silent,
) -> dict[str, Floats]:
    """An evaluator's score, with its parts where it has ``columns``, by the run's prior."""
    if prior is not None and any(field.name == "prior" for field in fields(evaluator)):  # type: ignore[arg-type]
        evaluator = replace(evaluator, prior=prior)  # type: ignore[type-var]
    made = getattr(evaluator, "columns", None)
    if made is None:
        return {column_name(name): evaluator.score(bench, progress)}
    return dict(made(bench, progress))


def eap_columns(
    bench: Workbench, prior: Prior | None = None, progress: Progress = silent
) -> dict[str, Column]:
    """The score, its credible interval, its place among the others, its category and its parts."""
    made = replace(Eap(), prior=prior).columns(bench, progress)
    return {
        "eap": made["eap"],
        "rank": ranks(made["eap"], bench.problem.ids),
        "percentile": percentiles(made["eap"]),
        "category": category_of(made["p_y"], made["covered"]),
        **{name: values for name, values in made.items() if name != "eap"},
    }
