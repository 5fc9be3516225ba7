"""All evaluators, in the order of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eap_core.evaluators.base import Evaluator
from eap_core.evaluators.eap import Eap
from eap_core.evaluators.parts import Conditional, Density, Sum
from eap_core.evaluators.random import Random
from eap_core.evaluators.rarity import Rarity

EVALUATORS: Final[Mapping[str, Evaluator]] = MappingProxyType(
    {
        "eap": Eap(),
        "rarity": Rarity(),
        "p_x": Density(),
        "p_y": Conditional(),
        "sum": Sum(),
        "random": Random(),
    }
)

__all__ = ["EVALUATORS", "Evaluator"]
