"""What a bundle shall be: its form, its rule, and what goes where."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from eap_core.analysis.score import column_name
from eap_core.analysis.trust import Rehearsal
from eap_core.base.errors import SettingsError, quote
from eap_core.base.table import ROLES, Role
from eap_core.export import FORMS, ExportForm, Format, IntoTest, Only, forms_of
from eap_core.project.problem import state_of
from eap_core.project.rehearsal import read_rehearsal
from eap_core.project.results import chosen_evaluator, run_frame
from eap_core.review import UNTOUCHED, Decision, ItemState, choose_best, fold
from eap_core.store import projects, runs
from eap_core.store.decisions import read_log
from eap_core.store.items import Item, Upload, items_of, uploads_of
from eap_core.store.projects import Project
from eap_core.store.runs import Run
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ExportRequest:
    """``top`` accepts that percentage of all candidates where no reviewer decided; ``items`` leaves
    all other candidates out."""

    format: Format = "csv"
    top: float | None = None
    only: Only = "all"
    synthetic_in_test: bool = False
    real_in_test: bool = False
    items: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMS:
            raise SettingsError(
                f"{quote(self.format)} is no form of a bundle",
                advice=f"choose from {', '.join(FORMS)}",
            )
        if self.only not in get_args(Only):
            raise SettingsError(
                f"{quote(self.only)} is no choice of rows",
                advice="use all or accepted",
            )
        if self.top is not None and not 0 < self.top <= 100:
            raise SettingsError(
                f"the best {self.top:g} % cannot be taken",
                advice="use above 0, up to 100",
            )
        if self.top is not None:
            object.__setattr__(self, "top", float(self.top))  # 20 and 20.0 give the same bytes

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ExportRequest:
        items = record.get("items")
        return cls(**{**record, "items": None if items is None else tuple(items)})

    @property
    def form(self) -> ExportForm:
        return FORMS[self.format]

    @property
    def has_images(self) -> bool:
        return self.form.has_images

    @property
    def into_test(self) -> IntoTest:
        return IntoTest(self.synthetic_in_test, self.real_in_test)

    def check(self, project: Project) -> None:
        """Refuse images of a project that has none."""
        if project.kind not in self.form.kinds:
            raise SettingsError(
                f"the project {quote(project.name)} holds a table, and {self.form.title!r} "
                "is made of images",
                advice=f"choose {' or '.join(forms_of(project.kind))}",
            )


# What a bundle is made from, read from the store once.


@dataclass(frozen=True, eq=False)
class ExportSource:
    """A scored project at one moment; ``frame`` has one row per scored candidate, best first."""

    project: Project
    run: Run
    frame: pd.DataFrame
    items: Mapping[Role, Sequence[Item]]
    uploads: Sequence[Upload]
    log: Sequence[Decision]
    states: Mapping[str, ItemState]
    changed: bool
    rehearsal: Rehearsal | None = None

    @property
    def best_first(self) -> list[str]:
        return list(self.frame["item"])

    @property
    def scores(self) -> list[float]:
        chosen = chosen_evaluator(self.run, list(map(str, self.frame)))
        return [float(score) for score in self.frame[column_name(chosen)]]

    @property
    def unscored(self) -> list[str]:
        """Candidates that came after the scoring, or could not be scored."""
        scored = set(self.best_first)
        return [item.id for item in self.items["candidate"] if item.id not in scored]


def read_source(store: Store, project: str) -> ExportSource:
    """Everything but the files themselves."""
    found = projects.by_id(store, project)
    if found.current_run is None:
        raise SettingsError(
            f"the project {quote(found.name)} has no scores yet",
            advice="score its candidates first",
        )
    run = runs.by_id(store, found.current_run)
    before = state_of(store, project)
    decisions = read_log(store, project)
    frame = run_frame(store, run.id)
    items = items_of(store, project)
    uploads = uploads_of(store, project)
    # These are several looks, and an upload may be removed between two: only what all saw counts.
    held = {upload.id for upload in uploads if upload.removed_at is None}
    items = [item for item in items if item.upload in held]
    frame = frame[frame["item"].isin([item.id for item in items if item.role == "candidate"])]
    return ExportSource(
        found,
        run,
        frame.sort_values(["rank", "item"], ignore_index=True),
        {role: [item for item in items if item.role == role] for role in ROLES},
        [upload for upload in uploads if upload.id in held],
        decisions,
        fold(decisions),
        {before, state_of(store, project)} != {run.settings.get("state")},
        read_rehearsal(store, run.id),
    )


# Which candidates a bundle takes: what reviewers decided, and a rule for the rest.

Outcome = Literal["accepted", "rejected", "undecided"]


class SettledItem(NamedTuple):
    """How one candidate stands, and who settled it; nobody did where it is undecided."""

    outcome: Outcome
    by: Literal["reviewer", "rule", ""]


class Tie(NamedTuple):
    """Of so many candidates with one score the rule takes so many: the first by name."""

    taken: int
    of: int


@dataclass(frozen=True)
class Counts:
    """``overruled`` are those that the rule would take and a reviewer rejected; ``added`` those
    that a reviewer accepted and the rule would not take."""

    candidates: int
    accepted: int
    accepted_by_reviewers: int
    accepted_by_rule: int
    rejected: int
    undecided: int
    flagged: int
    conflicts: int
    overruled: int
    added: int
    unscored: int


@dataclass(frozen=True, eq=False)
class ExportSelection:
    """Every candidate, best first and those without a score last."""

    settled: Mapping[str, SettledItem]
    counts: Counts

    @property
    def accepted(self) -> list[str]:
        return [item for item, each in self.settled.items() if each.outcome == "accepted"]


def select(
    best_first: Sequence[str],
    states: Mapping[str, ItemState],
    top: float | None = None,
    unscored: Sequence[str] = (),
    among: Collection[str] | None = None,
) -> ExportSelection:
    """Settle every candidate. The rule looks at all that have a score; ``among`` then narrows."""
    by_rule = _find_acceptors(best_first, top)
    wanted = None if among is None else frozenset(among)
    settled = {
        item: _settle(states.get(item, UNTOUCHED), item in by_rule)
        for item in (*best_first, *unscored)
        if wanted is None or item in wanted
    }
    counts = _counts(settled, states, by_rule, None if top is None else frozenset(best_first))
    without = sum(item in settled for item in unscored)
    return ExportSelection(settled, Counts(**counts, unscored=without))


def tie_at_cut(scores: Sequence[float], top: float | None) -> Tie | None:
    """Whether the rule parts candidates that have equal scores; the scores are best first."""
    limit = len(_find_acceptors([str(number) for number in range(len(scores))], top))
    if not 0 < limit < len(scores) or scores[limit - 1] != scores[limit]:
        return None
    equal = [score == scores[limit] for score in scores]
    return Tie(sum(equal[:limit]), sum(equal))


def _find_acceptors(best_first: Sequence[str], top: float | None) -> frozenset[str]:
    """What the rule takes when nobody has decided anything."""
    if top is None:
        return frozenset()
    found = choose_best(best_first, top, {})
    return frozenset(item for item, choice in found.items() if choice.accepted)


def _settle(state: ItemState, by_rule: bool) -> SettledItem:
    """A reviewer's decision overrides the rule, which accepts and never rejects."""
    if state.decided:
        return SettledItem("accepted" if state.verdict == "accept" else "rejected", "reviewer")
    return SettledItem("accepted", "rule") if by_rule else SettledItem("undecided", "")


def _counts(
    settled: Mapping[str, SettledItem],
    states: Mapping[str, ItemState],
    by_rule: frozenset[str],
    judged: frozenset[str] | None,
) -> dict[str, int]:
    kinds = list(settled.values())
    outcomes = [each.outcome for each in kinds]
    own = [states.get(item, UNTOUCHED) for item in settled]
    by_people = kinds.count(SettledItem("accepted", "reviewer"))
    return {
        "candidates": len(kinds),
        "accepted": outcomes.count("accepted"),
        "accepted_by_reviewers": by_people,
        "accepted_by_rule": outcomes.count("accepted") - by_people,
        "rejected": outcomes.count("rejected"),
        "undecided": outcomes.count("undecided"),
        "flagged": sum(state.flagged for state in own),
        "conflicts": sum(any(each.disagree for each in state.conflicts) for state in own),
        "overruled": sum(
            each.outcome == "rejected" and item in by_rule for item, each in settled.items()
        ),
        "added": sum(
            each == SettledItem("accepted", "reviewer") and item not in by_rule
            for item, each in settled.items()
            if judged is not None and item in judged
        ),
    }
