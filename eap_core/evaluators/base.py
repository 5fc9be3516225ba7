"""The one contract of all evaluators."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench

Cost = Literal["instant", "seconds"]


class Evaluator(Protocol):
    """Scores every candidate; higher means better.

    An evaluator is a frozen dataclass whose fields are its hyperparameters, so that printing,
    comparing, hashing and ``dataclasses.replace`` come free. ``label`` is its name for people,
    ``summary`` one line on what it measures, ``cost`` how long it takes on a thousand rows: up to
    half a second, or some seconds.
    """

    label: ClassVar[str]
    summary: ClassVar[str]
    cost: ClassVar[Cost]

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats: ...
