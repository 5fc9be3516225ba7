"""Every choice the method leaves open, each a named field; two sets of them have names."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.problem import Problem


@dataclass(frozen=True)
class Settings:
    """How the evidence is estimated; the defaults are those of the authors' code.

    Attributes
    ----------
    subsets : average over this many random subsets of the training rows; 0 is one pass over all.
    refit : fit the detector anew on each subset instead of once on all rows.
    detector : the pyod detector whose score is SSDO's prior, by the name of its module.
    k : a fixed number of neighbours; None lets the real anomalies decide.
    k_min : the smallest number of neighbours considered.
    quantile : the posterior quantile of k that is used.
    ball : whether a ball contains its surface.
    density_rows : the rows that the density sums over and N counts.
    threshold : how λ leaves m training rows above one half: by a whole percentile, or exactly.
    ssdo_k, ssdo_weight : SSDO's neighbours for its length scale, and the weight of a label.
    max_normals : more normals than this are not used: so many are drawn at random.
    """

    subsets: int = 100
    refit: bool = False
    detector: str = "iforest"
    k: int | None = None
    k_min: int = 5
    quantile: float = 0.95
    ball: Literal["open", "closed"] = "open"
    density_rows: Literal["normals", "all"] = "normals"
    threshold: Literal["percentile", "count"] = "percentile"
    ssdo_k: int = 10
    ssdo_weight: float = 2.3
    max_normals: int = 2_000

    def __post_init__(self) -> None:
        least = {"subsets": 0, "k_min": 1, "ssdo_k": 1, "max_normals": self.fewest_normals}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise SettingsError(
                    f"{name} is {getattr(self, name)}",
                    advice=f"at least {low} is needed",
                )
        if self.k is not None and self.k < 1:
            raise SettingsError(f"k is {self.k}", advice="at least 1 is needed")
        if not 0 < self.quantile < 1:
            raise SettingsError(
                f"quantile is {self.quantile}",
                advice="it must lie between 0 and 1",
            )
        if self.ssdo_weight < 0:
            raise SettingsError(
                f"ssdo_weight is {self.ssdo_weight}",
                advice="it must not be negative",
            )

    @property
    def fewest_normals(self) -> int:
        return self.k_min + 2

    def check(self, problem: Problem) -> None:
        """Refuse a problem that has too few normal rows for these settings."""
        normals = problem.n - problem.m
        if normals < self.fewest_normals:
            raise DataError(
                f"there are only {normals} normal rows",
                advice=f"at least {self.fewest_normals} are needed (k_min = {self.k_min}); add "
                "normal rows",
            )


AUTHORS = Settings()
PAPER = Settings(subsets=0, k_min=1, ball="closed", density_rows="all", threshold="count")
CONVENTIONS = MappingProxyType({"authors": AUTHORS, "paper": PAPER})
