"""Unsupervised detectors of pyod, by name, as probabilities."""

from __future__ import annotations

import importlib
import inspect
import io
import pkgutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

from eap_core.base.errors import SettingsError, quote
from eap_core.base.table import Floats


@dataclass(frozen=True, eq=False)
class Detector:
    """A fitted detector whose scores of the training rows span [0, 1]."""

    name: str
    model: Any
    low: float
    high: float

    def probability(self, rows: Floats) -> Floats:
        """Scores mapped linearly so that the training rows span [0, 1], cut to that range."""
        return self._scaled(_scores(self.name, self.model, rows))

    def training_probability(self) -> Floats:
        """The same for the rows it was fitted on, without scoring them again."""
        return self._scaled(_finite(self.model.decision_scores_))

    def _scaled(self, scores: Floats) -> Floats:
        span = self.high - self.low
        return np.clip((scores - self.low) / (span if span > 0 else 1.0), 0.0, 1.0)


def fit(name: str, rows: Floats, seed: int) -> Detector:
    """Fit the pyod detector of that module name with its default settings."""
    kind = _class(name)
    options = {"random_state": seed} if "random_state" in inspect.signature(kind).parameters else {}
    with _third_party(name, len(rows)):
        model = kind(**options).fit(rows)
        scores = _finite(model.decision_scores_)
    # Some detectors score a row by the rows it comes with; a candidate's company must not matter.
    together, alone = (_scores(name, model, rows[:count])[0] for count in (min(5, len(rows)), 1))
    if not np.isclose(together, alone, rtol=1e-6):
        raise SettingsError(
            f"the detector {quote(name)} scores a row by the others it is scored with, and a "
            "candidate's score must not depend on others",
            advice="choose another, for example iforest",
        )
    return Detector(name, model, float(scores.min()), float(scores.max()))


def _scores(name: str, model: Any, rows: Floats) -> Floats:
    with _third_party(name, len(rows)):
        return _finite(model.decision_function(rows))


@contextmanager
def _third_party(name: str, count: int) -> Iterator[None]:
    """Any failure in there is a reason to choose another detector; notices and prints are not."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        except SettingsError:
            raise
        except Exception as error:
            raise SettingsError(
                f"the detector {quote(name)} cannot be used on these {count:,} rows "
                f"({quote(str(error))})",
                advice="choose another, for example iforest",
            ) from error


def names() -> list[str]:
    """The modules of pyod that can be asked for."""
    import pyod.models  # slow to import: only when a detector is needed

    return sorted(m.name for m in pkgutil.iter_modules(pyod.models.__path__) if m.name[0] != "_")


def _class(name: str) -> Any:
    if name not in names():
        raise SettingsError(
            f"pyod has no detector {quote(name)}",
            advice="for example iforest, knn, lof, hbos, pca, inne, gmm or ocsvm",
        )
    try:
        module = importlib.import_module(f"pyod.models.{name}")
    except ImportError as error:
        raise SettingsError(
            f"the detector {quote(name)} needs a package that is not installed "
            f"({quote(str(error))})",
            advice="choose another, for example iforest",
        ) from error
    found = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__ and hasattr(member, "decision_function")
    ]
    by_name = [member for member in found if _plain(member.__name__) == _plain(name)]
    if not by_name:
        raise SettingsError(
            f"{quote(name)} of pyod is no detector of its own",
            advice="choose another",
        )
    return by_name[0]


def _finite(scores: Floats) -> Floats:
    out = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(out).all():
        raise SettingsError(
            "the detector gave scores that are not finite",
            advice="choose another",
        )
    return out


def _plain(name: str) -> str:
    return name.casefold().replace("_", "")
