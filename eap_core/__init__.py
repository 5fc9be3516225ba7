"""Expected Anomaly Posterior: score, compare and curate synthetic anomalies.

>>> import eap_core as eap
>>> sorted(eap.EVALUATORS)[:3]
['ame', 'beta_shap', 'data_banzhaf']

Tables are read by ``read_table`` and scored by ``score``, whose result has ``frame()``,
``explain()``, ``compare()`` and ``sweep()``; ``open_store`` leads to projects, which are kept on
disk and shared with the application.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eap_core.base import __version__ as __version__

if TYPE_CHECKING:
    from eap_core.analysis import Plan
    from eap_core.analysis.result import EAP, Result, score
    from eap_core.base.errors import EapError
    from eap_core.base.problem import Problem
    from eap_core.evaluators import EVALUATORS
    from eap_core.readers import Reading, read_table
    from eap_core.scoring.posterior import Prior
    from eap_core.scoring.settings import Settings
    from eap_core.workspace import open_store

__all__ = [
    "EAP",
    "EVALUATORS",
    "EapError",
    "Plan",
    "Prior",
    "Problem",
    "Reading",
    "Result",
    "Settings",
    "open_store",
    "read_table",
    "score",
]

# Each where it is defined, and loaded when it is first used: scikit-learn alone takes a second.
_HOMES = {
    "EAP": "eap_core.analysis.result",
    "EVALUATORS": "eap_core.evaluators",
    "EapError": "eap_core.base.errors",
    "Plan": "eap_core.analysis",
    "Prior": "eap_core.scoring.posterior",
    "Problem": "eap_core.base.problem",
    "Reading": "eap_core.readers",
    "Result": "eap_core.analysis.result",
    "Settings": "eap_core.scoring.settings",
    "open_store": "eap_core.workspace",
    "read_table": "eap_core.readers",
    "score": "eap_core.analysis.result",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
