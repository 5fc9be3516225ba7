"""The quick half of the score: a Beta prior, the evidence, and the posterior they make.

A candidate with N training rows' worth of evidence, of which a share P(y|x) says "anomalous", turns
the prior Beta(α0, β0) into Beta(α0 + N·P(y|x), β0 + N·(1 − P(y|x))). Its mean φ is the score, EAP:

    φ = (α0 + N·P(y|x)) / (α0 + β0 + N) = w·P(y|x) + (1 − w)·π

with the weight of the evidence w = N/(α0 + β0 + N) and the belief without any π = α0/(α0 + β0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import SettingsError
from eap_core.base.table import Floats

if TYPE_CHECKING:
    from eap_core.scoring.evidence import Evidence


@dataclass(frozen=True)
class Prior:
    """Beta(alpha, beta), with a mean between 0 and one half: the ranking guarantee needs that."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and self.beta > 0 and self.mean < 0.5):
            raise SettingsError(
                f"a prior of Beta({self.alpha:g}, {self.beta:g}) is not possible",
                advice="both numbers must be positive and the expected share of anomalies below "
                "0.5",
            )

    @classmethod
    def of_rate(cls, rate: float) -> Prior:
        """The prior worth one example in which the given share is anomalous."""
        return cls(rate, 1.0 - rate)

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    @property
    def strength(self) -> float:
        return self.alpha + self.beta


@dataclass(frozen=True, eq=False)
class Posterior:
    """Beta distributions: one row per pass, one column per candidate."""

    alpha: Floats
    beta: Floats

    @classmethod
    def of(cls, evidence: Evidence, prior: Prior) -> Posterior:
        observations = evidence.observations
        return cls(
            prior.alpha + observations * evidence.p_y,
            prior.beta + observations * (1.0 - evidence.p_y),
        )

    @property
    def means(self) -> Floats:
        """φ of each pass."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def mean(self) -> Floats:
        """φ of each candidate, averaged over the passes; equal values stay that value."""
        means = self.means
        return np.asarray(means[0] + (means - means[0]).mean(axis=0))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible interval of each candidate.

        Several passes are a mixture of Betas; the one Beta with the same mean and variance stands
        in for it.
        """
        from scipy.special import betaincinv  # slow to import

        if not 0 < level < 1:
            raise SettingsError(f"a credible level of {level:g} must lie between 0 and 1")
        means, mean = self.means, self.mean
        within = means * (1 - means) / (self.alpha + self.beta + 1)
        variance = (within + np.square(means - mean)).mean(axis=0)
        strength = mean * (1 - mean) / variance - 1
        tail = (1 - level) / 2
        a, b = mean * strength, (1 - mean) * strength
        return betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)


@dataclass(frozen=True, eq=False)
class Parts:
    """What each candidate's score is made of, so that eap = weight·p_y + (1 − weight)·prior.

    Averaged over passes, ``p_y`` counts each pass by its weight; a candidate that no pass covers
    has no weight, and its ``p_y`` is the plain mean. ``covered`` is the share of passes.
    """

    eap: Floats
    weight: Floats
    p_y: Floats
    p_x: Floats
    covered: Floats
    prior: float
    strength: float

    @property
    def observations(self) -> Floats:
        """N: the evidence behind ``weight``, in training rows."""
        return self.strength * self.weight / (1.0 - self.weight)


def make_parts(evidence: Evidence, prior: Prior) -> Parts:
    """Take the score apart into evidence and belief."""
    passes = evidence.averaged
    weights = passes.observations / (prior.strength + passes.observations)
    total = weights.sum(axis=0)
    counted = np.where(total > 0, weights, 1.0)
    return Parts(
        eap=Posterior.of(passes, prior).mean,
        weight=weights.mean(axis=0),
        p_y=(counted * passes.p_y).sum(axis=0) / counted.sum(axis=0),
        p_x=passes.p_x.mean(axis=0),
        covered=passes.covered.mean(axis=0),
        prior=prior.mean,
        strength=prior.strength,
    )


# What kind of candidate it is, from its own evidence alone.
#
# Definition 1 of the paper made practical: a candidate is *unrealistic* where the data do not
# reach, *indistinguishable* where they do and call it normal, and *realistic* otherwise.

REALISTIC, INDISTINGUISHABLE, UNREALISTIC = "realistic", "indistinguishable", "unrealistic"
CATEGORIES = (REALISTIC, INDISTINGUISHABLE, UNREALISTIC)
LINE = 0.5  # the paper's own, for both


def categories(parts: Parts) -> npt.NDArray[np.str_]:
    """The category of each candidate."""
    return category_of(parts.p_y, parts.covered)


def category_of(
    p_y: Floats, covered: Floats, looks: float = LINE, support: float = LINE
) -> npt.NDArray[np.str_]:
    """The category by how anomalous each looks and the share of passes that reach it."""
    looks_normal = np.where(p_y < looks, INDISTINGUISHABLE, REALISTIC)
    return np.where(covered < support, UNREALISTIC, looks_normal)
