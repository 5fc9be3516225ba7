"""What a run was asked to do, as a person would say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType

from eap_core.projects.plan import Plan
from eap_core.scoring import evaluator_names
from eap_core.settings import AUTHORS
from ui.methods import OTHERS

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
FEATURES: Mapping[str, str] = MappingProxyType({"full": "Full", "fast": "Fast", "clip": "CLIP"})
_SPOKEN = ("detector", "k", "subsets")


def in_words(plan: Plan) -> str:
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
        found.append(thoroughness(settings.subsets).lower())
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
        found.append(f"{FEATURES.get(plan.features, plan.features).lower()} image features")
    others = evaluator_names(plan.evaluators)[1:]
    if set(others) != set(OTHERS):
        found.append(_counted(len(others)))
    return found


def options(plan: Plan) -> tuple[str, ...]:
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


def thoroughness(subsets: int) -> str:
    """How often the data are looked at, in a word."""
    return THOROUGHNESS.get(subsets, f"{subsets:,} subsets")


def _counted(others: int) -> str:
    if not others:
        return "EAP alone"
    return f"{others} further method{'s' if others > 1 else ''}"
