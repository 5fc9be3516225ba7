"""All evaluators, in the order of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eap_core.evaluators.ame import Ame
from eap_core.evaluators.base import Evaluator
from eap_core.evaluators.data_banzhaf import DataBanzhaf
from eap_core.evaluators.data_oob import DataOob
from eap_core.evaluators.eap import Eap
from eap_core.evaluators.influence import Influence
from eap_core.evaluators.knn_shap import KnnShap
from eap_core.evaluators.lava import Lava
from eap_core.evaluators.loo import Loo
from eap_core.evaluators.parts import Conditional, Density, Sum
from eap_core.evaluators.random import Random
from eap_core.evaluators.rarity import Rarity
from eap_core.evaluators.shapley import BetaShap, DataShap

EVALUATORS: Final[Mapping[str, Evaluator]] = MappingProxyType(
    {
        "eap": Eap(),
        "rarity": Rarity(),
        "lava": Lava(),
        "sum": Sum(),
        "knn_shap": KnnShap(),
        "random": Random(),
        "ame": Ame(),
        "loo": Loo(),
        "p_x": Density(),
        "p_y": Conditional(),
        "data_oob": DataOob(),
        "influence": Influence(),
        "data_banzhaf": DataBanzhaf(),
        "data_shap": DataShap(),
        "beta_shap": BetaShap(),
    }
)

# Those of the paper's tables; it describes the other two without using them.
THIRTEEN: Final = tuple(name for name in EVALUATORS if name not in ("data_shap", "beta_shap"))

__all__ = ["EVALUATORS", "THIRTEEN", "Evaluator"]
