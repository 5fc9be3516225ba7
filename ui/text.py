"""The core's things in the words of a page; names and values are data, shown as they are."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from eap_core.analysis import Plan
from eap_core.analysis.score import column_name, evaluator_names
from eap_core.base import errors
from eap_core.base.errors import EapError, choose_advice
from eap_core.base.table import Role
from eap_core.evaluators import EVALUATORS, PAPER_EVALUATORS
from eap_core.features import EMBEDDERS
from eap_core.features.clip_model import WEIGHTS_LOST, WORDS_LOST
from eap_core.health import Severity
from eap_core.scoring.settings import AUTHORS
from eap_core.store import runs
from eap_core.store.projects import Kind
from eap_core.store.runs import Run
from eap_core.store.store import Store

ROLE_WORDS: dict[Role, str] = {
    "normal": "Normals",
    "anomaly": "Real anomalies",
    "candidate": "Candidates",
    "test_normal": "Test normals",
    "test_anomaly": "Test anomalies",
}
SEVERITY_WORDS: dict[Severity, str] = {
    "stop": "Must be mended before scoring",
    "warning": "Worth a look",
    "note": "Good to know",
}


def escape_markdown(text: str) -> str:
    """Text for a place that understands Markdown, with every mark taken literally."""
    return errors.escape_markdown(text, break_links=True)  # Streamlit makes links of addresses


def duration_words(seconds: float) -> str:
    """A time to wait, as a person would say it."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.1f} hours"


# Names short enough for a narrow column.


def shorten(names: Sequence[str], kind: Kind) -> list[str]:
    """Of images the file names, and where these do not tell all apart, behind them the folders that
    do; rows of a table are called what they are called."""
    if kind != "images":
        return list(names)
    last = [name.split("/")[-1] for name in names]
    if len(set(last)) == len(names):
        return last
    folders = [name.split("/")[:-1] for name in names]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    told = ["/".join(parts[shared:]) for parts in folders]
    return [f"{name} ({own})" if own else name for name, own in zip(last, told, strict=True)]


# The evaluators in words, and which of them a run has.

OTHERS = tuple(name for name in PAPER_EVALUATORS if name != "eap")


def method_words(column: str) -> str:
    """The name of the evaluator whose scores stand in this column."""
    return EVALUATORS[evaluator_of(column)].title


def evaluator_of(column: str) -> str:
    """The evaluator whose scores stand in this column."""
    return next(name for name in EVALUATORS if column_name(name) == column)


def list_methods(names: Iterable[str]) -> str:
    """Evaluators by the names they have on screen."""
    return ", ".join(EVALUATORS[name].title for name in names)


def explain_method(name: str) -> str:
    """An evaluator in one line, with the name it has in the literature where that is another."""
    evaluator = EVALUATORS[name]
    known_as = f" ({evaluator.label})" if evaluator.label != evaluator.title else ""
    return f"{evaluator.title}{known_as}: {evaluator.summary}"


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


def find_methods(store: Store, run: Run, asked: tuple[str, ...] = ()) -> Methods:
    """How far a run is; ``asked`` are evaluators beyond its plan that a job was started for."""
    columns = runs.score_names(store, run.id)
    said = {str(record.get("code")) for record in run.findings}
    wanted = evaluator_names((*run.settings["evaluators"], *asked))[1:]
    return Methods(
        wanted,
        tuple(name for name in EVALUATORS if name != "eap" and column_name(name) in columns),
        tuple(name for name in EVALUATORS if f"evaluator-failed-{name}" in said),
    )


# What a run was asked to do, as a person would say it.

# Those of pyod that judge each row for itself, quickly, on any table.
DETECTORS: Mapping[str, str] = MappingProxyType(
    {
        "iforest": "Isolation forest (usual)",
        "knn": "Distance to neighbours",
        "lof": "Local density",
        "hbos": "Histograms of the features",
        "pca": "Principal components",
        "inne": "Isolation by neighbours",
        "gmm": "Gaussian mixture",
        "ocsvm": "One-class support vectors",
    }
)
THOROUGHNESS: Mapping[int, str] = MappingProxyType({0: "Quick", 25: "Normal", 100: "Thorough"})
_SPOKEN = ("detector", "k", "subsets")


def settings_words(plan: Plan) -> str:
    """The settings that differ from the usual ones, or that none does."""
    return ", ".join([*_of_evidence(plan), *_of_plan(plan)]) or "usual settings"


def _of_evidence(plan: Plan) -> list[str]:
    settings = plan.settings
    found = []
    if settings.detector != AUTHORS.detector:
        found.append(f"detector: {DETECTORS.get(settings.detector, settings.detector).lower()}")
    if settings.k is not None:
        found.append(f"{settings.k:,} neighbours")
    if settings.subsets != AUTHORS.subsets:
        found.append(find_thoroughness(settings.subsets).lower())
    usual = asdict(AUTHORS)
    found += [
        f"{name} {value}"
        for name, value in asdict(settings).items()
        if name not in _SPOKEN and value != usual[name]
    ]
    return found


def _of_plan(plan: Plan) -> list[str]:
    found = []
    share = plan.prior if plan.prior is not None else plan.assumed_rate
    if share is not None:
        found.append(f"expected share of anomalies {100 * share:g} %")
    if plan.seed:
        found.append(f"seed {plan.seed}")
    if plan.features == "clip":
        found.append(f"image features by {plan.clip_model}")
    elif plan.features != "full":
        found.append(f"{features_words(plan.features).lower()} image features")
    others = evaluator_names(plan.evaluators)[1:]
    if set(others) != set(OTHERS):
        found.append(_count_others(len(others)))
    return found


def list_options(plan: Plan) -> tuple[str, ...]:
    """The same for the command line, but for the model of image features."""
    settings, others = plan.settings, evaluator_names(plan.evaluators)[1:]
    given = {
        "--evaluators": "all" if set(others) == set(OTHERS) else ",".join(others) or None,
        "--subsets": None if settings.subsets == AUTHORS.subsets else settings.subsets,
        "--detector": None if settings.detector == AUTHORS.detector else settings.detector,
        "--k": settings.k,
        "--prior": plan.prior,
        "--assumed-rate": plan.assumed_rate,
        "--seed": plan.seed or None,
    }
    words = [(name, str(value)) for name, value in given.items() if value is not None]
    return (*(word for pair in words for word in pair), *(("--int8",) if plan.int8 else ()))


def find_thoroughness(subsets: int) -> str:
    """How often the data are looked at, in a word."""
    return THOROUGHNESS.get(subsets, f"{subsets:,} subsets")


def features_words(name: str) -> str:
    """How images become numbers, in a word."""
    return EMBEDDERS[name].title if name in EMBEDDERS else name


def explain_features() -> str:
    """What each kind of image features looks at, in one sentence."""
    first, *others = EMBEDDERS.values()
    told = [f"{first.title} looks at {first.summary}"]
    return "; ".join([*told, *(f"{each.title} at {each.summary}" for each in others)]) + "."


def _count_others(others: int) -> str:
    if not others:
        return "EAP alone"
    return f"{others} further method{'s' if others > 1 else ''}"


# What to do about a mistake, by its code, in the words of a page, which has fields and no options.

_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "stale": "reload the page",
        "weights-wanted": "{advice} as the model file",
        "weights-damaged": "{first} as the model file, or run {command}",
        "model-unknown": "{advice}, as the CLIP model",
        "model-unbuildable": "{advice} as the CLIP model",
        "model-undescribed": "choose another as the CLIP model, or run {command} on the server "
        "once there is a connection",
        "training-unknown": "{advice}, as the CLIP model MODEL:TRAINING",
        "training-open": "say which the weights are of, as the CLIP model {model}:TRAINING, for "
        "example {examples}",
    }
)
# Strict, for an error may come with a backup from anywhere, and this is run by a person.
_WORD = r"""(?:\w[\w.\-/]*|--local-dir \w[\w.\-]*|--include "\*\.\w+")"""
_FETCHING = re.compile(rf"hf download(?: {_WORD})+")


def error_words(error: EapError, below: str = "") -> str:
    """What is wrong and what to do on a page.

    ``below`` tells where the steps are that bring a model by hand, if that is what is to be done.
    """
    return str(advise(error, below))


def advise(error: EapError, below: str = "") -> EapError:
    """The error with advice that names what a page has."""
    return error.with_advice(below) if find_fetching(error) else choose_advice(error, _ADVICE)


def find_fetching(error: EapError | None) -> str | None:
    """What fetches a model's files by hand, where they could be had nowhere."""
    if error is None or error.code not in (WEIGHTS_LOST, WORDS_LOST):
        return None
    command = error.facts.get("command", "")
    return command if _FETCHING.fullmatch(command) else None


def clip_command(*words: str) -> str:
    """What to type in the program's folder."""
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    else:
        python = Path(python.stem)  # a path elsewhere on the server is nobody's business
    return shlex.join([str(python), "-m", "eap_core", *words])
