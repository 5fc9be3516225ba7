"""Image features of the paper: what a CLIP model makes of the whole image, by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from eap_core.clip import Wanted, located
from eap_core.clip.int8 import check_installed
from eap_core.embed.base import Bools, Embedding, Source, check_images
from eap_core.embed.cache import Cache
from eap_core.embed.clip_trial import Trial, trial
from eap_core.embed.clip_vectors import image_vectors
from eap_core.progress import Progress, silent


@dataclass(frozen=True)
class Clip:
    """The columns are as the model gives them: they are standardised like those of a table.

    ``int8`` looks in 8 bits if that keeps the ranking.
    """

    wanted: Wanted = field(default_factory=Wanted)
    int8: bool = False
    name: str = "clip"
    label: str = "Whole image, by a large model trained on images and their captions"

    def embed(
        self, images: Sequence[Source], normal: Bools, cache: Cache, progress: Progress = silent
    ) -> Embedding:
        check_images(images, normal)
        if self.int8:
            check_installed()
        model = located(self.wanted, progress)
        notes = [f"image features by {model.in_words}"]
        chosen = Trial(model, "")
        if self.int8:
            chosen = trial(model, images, normal, cache, progress)
            notes.append(chosen.why)
        unit = image_vectors(chosen.eye, images, cache, progress)
        columns = unit.shape[1]
        return Embedding(
            # A unit vector's many columns are all small; so scaled, a column that hardly varies
            # is told from one that does as it is in a table.
            values=unit.astype(np.float64) * np.sqrt(columns),
            heat=None,
            columns=tuple(f"clip {i + 1}" for i in range(columns)),
            notes=tuple(notes),
            standardised=False,
        )
