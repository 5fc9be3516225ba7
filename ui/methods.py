"""The evaluators in words, and which of them a run has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eap_core.evaluators import EVALUATORS, THIRTEEN
from eap_core.scoring import column_name, evaluator_names
from eap_core.store import runs
from eap_core.store.runs import Run
from eap_core.store.store import Store

OTHERS = tuple(name for name in THIRTEEN if name != "eap")
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "eap": "EAP",
        "rarity": "Rarity",
        "lava": "Lava",
        "sum": "Plain sum",
        "knn_shap": "Neighbour votes",
        "random": "Random",
        "ame": "AME",
        "loo": "Leave one out",
        "p_x": "Support alone",
        "p_y": "Detector alone",
        "data_oob": "Out of bag",
        "influence": "Influence",
        "data_banzhaf": "Banzhaf",
        "data_shap": "Shapley",
        "beta_shap": "Beta Shapley",
    }
)
OF_COLUMN: Mapping[str, str] = MappingProxyType({column_name(name): name for name in EVALUATORS})


def words(column: str) -> str:
    """The name of the evaluator whose scores stand in this column."""
    return WORDS[OF_COLUMN[column]]


def explained(name: str) -> str:
    """An evaluator in one line, with the name it has in the literature where that is another."""
    evaluator = EVALUATORS[name]
    known_as = f" ({evaluator.label})" if evaluator.label != WORDS[name] else ""
    return f"{WORDS[name]}{known_as}: {evaluator.summary}"


@dataclass(frozen=True)
class Methods:
    """The evaluators beside EAP that a run should have, those it has, and those that failed."""

    wanted: tuple[str, ...]
    there: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Wanted, neither there nor failed."""
        return tuple(name for name in self.wanted if name not in (*self.there, *self.failed))


def methods_of(store: Store, run: Run, asked: tuple[str, ...] = ()) -> Methods:
    """How far a run is; ``asked`` are evaluators beyond its plan that a job was started for."""
    columns = runs.score_names(store, run.id)
    said = {str(record.get("code")) for record in run.findings}
    wanted = evaluator_names((*run.settings["evaluators"], *asked))[1:]
    return Methods(
        wanted,
        tuple(name for name in EVALUATORS if name != "eap" and column_name(name) in columns),
        tuple(name for name in EVALUATORS if f"evaluator-failed-{name}" in said),
    )
