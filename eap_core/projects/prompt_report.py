"""Which pair of prompts each selection of a project's images chooses, and how good it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from eap_core.errors import DataError
from eap_core.evaluators import EVALUATORS
from eap_core.projects.prompting import Prompted
from eap_core.prompts import (
    Choice,
    Ranked,
    Selection,
    Views,
    compare_selections,
    may_be_guessing,
)
from eap_core.queue_order import evaluator_columns
from eap_core.ranking import best_first
from eap_core.review import ItemState
from eap_core.scoring import column_name
from eap_core.table import Floats

if TYPE_CHECKING:
    import pandas as pd

# Selections that are no evaluator's best third.
OTHERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accepted": "accepted by the reviewers",
        "known": "known real anomalies",
        "oracle": "all real anomalies, the test's too",
    }
)
NO_TEST = "there are no test images of both kinds: only the AUC on the selection is known"
GUESSING = (
    "on the test images the pair that EAP's best third chooses does no better than guessing might: "
    "try other descriptions or another model"
)
NONE_ACCEPTED = "no candidate of this run is accepted: that selection is left out"


@dataclass(frozen=True, eq=False)
class Report:
    """What each selection chooses, EAP's best third first; the oracle is none of them to follow."""

    prompted: Prompted
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]

    @property
    def named(self) -> Mapping[str, Choice]:
        return MappingProxyType({choice.selection.name: choice for choice in self.choices})

    @property
    def record(self) -> dict[str, Any]:
        """As plain data, for files."""
        plan = self.prompted.plan
        return {
            "object": plan.object,
            "model": plan.model,
            "notes": list(self.notes),
            "selections": [
                {
                    "selection": choice.selection.name,
                    "images": len(choice.selection.rows),
                    "pairs": [self._pair(one) for one in choice.ranking],
                }
                for choice in self.choices
            ],
        }

    def _pair(self, one: Ranked) -> dict[str, Any]:
        normal, anomalous = self.prompted.plan.templates[one.pair]
        return {
            "normal": normal,
            "anomalous": anomalous,
            "selection_auc": one.selection_auc,
            "test_auc": one.test_auc,
        }

    def frame(self) -> pd.DataFrame:
        """A row for each selection and pair, the chosen pair with place 1."""
        import pandas as pd  # slow to import

        return pd.DataFrame(
            [
                {
                    "object": self.record["object"],
                    "model": self.record["model"],
                    "selection": each["selection"],
                    "images": each["images"],
                    "place": place,
                    **pair,
                }
                for each in self.record["selections"]
                for place, pair in enumerate(each["pairs"], 1)
            ]
        ).astype({"test_auc": float})


def accepted_items(states: Mapping[str, ItemState]) -> tuple[str, ...]:
    """What the reviewers have accepted, in the same order for the same set."""
    return tuple(sorted(item for item, state in states.items() if state.verdict == "accept"))


def report(
    prompted: Prompted, table: pd.DataFrame, accepted: Collection[str], seed: int = 0
) -> Report:
    """Selections of the candidates in ``table``, the scores of the run, side by side."""
    views = prompted.views
    selections = list(_selections(views, table, set(accepted), seed))
    if not len(selections[0].rows):
        raise DataError("none of the scored candidates was looked at — look at the images again")
    choices = compare_selections(views, selections)
    notes = [] if views.has_test else [NO_TEST]
    if not any(choice.selection.name == "accepted" for choice in choices):
        notes.append(NONE_ACCEPTED)
    if may_be_guessing(views, choices[0]):
        notes.append(GUESSING)
    if prompted.cut:
        are = "is" if prompted.cut == 1 else "are"
        notes.append(
            f"{prompted.cut:,} of the descriptions {are} longer than the model reads: what is too "
            "much counts for nothing"
        )
    return Report(prompted, tuple(choices), tuple(notes))


def _selections(
    views: Views, table: pd.DataFrame, accepted: set[str], seed: int
) -> Iterator[Selection]:
    """EAP first, then what people chose, then every other evaluator, and the real anomalies."""
    items, ids = table["item"].tolist(), table["id"].tolist()
    thirds = {
        name: views.rows([items[i] for i in _third(scores, ids)])
        for name, scores in _scores(table, seed).items()
    }
    yield Selection("eap", thirds.pop("eap"))
    yield Selection("accepted", views.rows([item for item in items if item in accepted]))
    for name, rows in thirds.items():
        yield Selection(name, rows)
    known = views.at("anomaly")
    yield Selection("known", known)
    if views.has_test:
        yield Selection("oracle", np.concatenate([known, views.at("test_anomaly")]))


def _scores(table: pd.DataFrame, seed: int) -> dict[str, Floats]:
    """By evaluator; random numbers are among them whether or not the run has them."""
    columns = evaluator_columns(table)
    found = {
        name: table[column_name(name)].to_numpy(np.float64)
        for name in EVALUATORS
        if column_name(name) in columns
    }
    found.setdefault("random", np.random.default_rng(seed).random(len(table)))
    return found


def _third(scores: Floats, ids: list[str]) -> list[int]:
    """The best third, rounded, one at the least; ties in the order of their ids."""
    count = max(1, round(len(ids) / 3))
    return [int(i) for i in best_first(scores, ids)[:count]]
