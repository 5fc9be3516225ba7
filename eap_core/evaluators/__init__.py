"""All evaluators, in the order of the paper's tables; then those that it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eap_core.evaluators.ame import Ame
from eap_core.evaluators.base import Evaluator
from eap_core.evaluators.data_oob import DataOob
from eap_core.evaluators.eap import Conditional, Density, Eap, Sum
from eap_core.evaluators.knn_shap import KnnShap
from eap_core.evaluators.lava import Lava
from eap_core.evaluators.marginals import BetaShap, DataBanzhaf, DataShap, Influence, Loo
from eap_core.evaluators.near_real import NearReal
from eap_core.evaluators.random import Random
from eap_core.evaluators.rarity import Rarity
from eap_core.evaluators.reach import EapReach

# The one place where an evaluator is named: the command line, the pages, the study, the exports and
# the contract tests all look here.
_EVALUATORS: Final[dict[str, Evaluator]] = {
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
    "reach": EapReach(),
    "near_real": NearReal(),
}
EVALUATORS: Final[Mapping[str, Evaluator]] = MappingProxyType(_EVALUATORS)

# Those of the paper's tables; it describes Shapley's values without using them.
PAPER_EVALUATORS: Final = tuple(name for name, each in EVALUATORS.items() if each.in_paper)

__all__ = ["EVALUATORS", "PAPER_EVALUATORS", "Evaluator"]
