"""The one contract of all evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench

Cost = Literal["instant", "seconds"]


class Evaluator(Protocol):
    """Scores every candidate; higher means better.

    An evaluator is a frozen dataclass whose fields are its hyperparameters, so that printing,
    comparing, hashing and ``dataclasses.replace`` come free. All that is said of it anywhere stands
    in its class:

    label : its name in the literature, and in the study's tables.
    title : its name on screen, in plain words.
    summary : one line on what a high score means.
    cost : how long it takes on a thousand rows: up to half a second, or some seconds.
    seconds : the same on 2,000 training rows of 64 columns and 2,000 candidates, on two cores.
    in_paper : whether the paper's tables have it; ``all`` means those that they have.

    One with parts worth keeping has ``columns(bench, progress)`` too: its score by its own name,
    and each part. One with a field ``prior`` is given that of the run.
    """

    label: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    cost: ClassVar[Cost]
    seconds: ClassVar[float]
    in_paper: ClassVar[bool]

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats: ...
