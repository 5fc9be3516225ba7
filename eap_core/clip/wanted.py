"""Which model is wanted, before anything of it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eap_core.errors import DataError

PAPERS = "ViT-B-16-SigLIP"


class NoWeightsError(DataError):
    """The weights are neither kept here nor to be had; nothing is wrong with what was asked."""


@dataclass(frozen=True)
class Wanted:
    """A model by open_clip's name for it and for what it was trained on.

    ``pretrained`` None is what open_clip lists first; ``weights`` is a file to use instead of the
    published weights, which must fit the same model.
    """

    model: str = PAPERS
    pretrained: str | None = None
    weights: Path | None = None

    @classmethod
    def named(cls, name: str, weights: Path | None = None) -> Wanted:
        """From ``model`` or ``model:pretrained``, as open_clip itself writes it."""
        model, _, pretrained = name.partition(":")
        return cls(model, pretrained or None, weights)
