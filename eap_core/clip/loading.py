"""From the name of a model to the model."""

from __future__ import annotations

from eap_core.clip.model import ClipModel
from eap_core.clip.wanted import Wanted


def load(wanted: Wanted) -> ClipModel:
    """The model; a NoWeightsError where its weights cannot be had, else a plain EapError."""
    raise NotImplementedError(wanted)
