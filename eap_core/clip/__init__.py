"""Models that know images and sentences alike (CLIP), by open_clip; torch is loaded when used."""

from __future__ import annotations

from eap_core.clip.loading import Located, load, located
from eap_core.clip.model import ClipModel
from eap_core.clip.wanted import NoWeightsError, Wanted

__all__ = ["ClipModel", "Located", "NoWeightsError", "Wanted", "load", "located"]
