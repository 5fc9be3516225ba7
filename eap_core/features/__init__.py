"""Images as rows of numbers that distances mean something for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eap_core.features.base import Embedder
from eap_core.features.clip import Clip
from eap_core.features.lite0 import Lite0

EMBEDDERS: Final[Mapping[str, Embedder]] = MappingProxyType(
    {
        "full": Lite0("full", "Full", "the whole image and its most unusual places"),
        # A quarter of the pixels as well, or it would hardly be faster: the network is the cost.
        "fast": Lite0(
            "fast", "Fast", "a smaller copy of the whole image only", side=224, patches=None
        ),
        "clip": Clip(),
    }
)
