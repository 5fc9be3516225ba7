"""Images as rows of numbers that distances mean something for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eap_core.embed.base import Embedder, Embedding, Source
from eap_core.embed.cache import Cache
from eap_core.embed.clip import Clip
from eap_core.embed.lite0 import Lite0

EMBEDDERS: Final[Mapping[str, Embedder]] = MappingProxyType(
    {
        "full": Lite0("full", "Whole image and its most unusual places"),
        # A quarter of the pixels as well, or it would hardly be faster: the network is the cost.
        "fast": Lite0(
            "fast", "Whole image only, at a quarter of the pixels", side=224, patches=None
        ),
        "clip": Clip(),
    }
)

__all__ = ["EMBEDDERS", "Cache", "Clip", "Embedder", "Embedding", "Source"]
