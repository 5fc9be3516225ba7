"""EAP against its plain transcription: loop over k, everything refitted per subset."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks import transcription
from benchmarks.measure import Figure, seconds
from benchmarks.problems import clouds
from eap_core.scoring.evidence import estimate, random_subsets
from eap_core.scoring.settings import AUTHORS

TITLE = "EAP, n = 1000 (50 anomalies), l = 750, d = 20"
SAMPLED = 5
NOTE = (
    "Reference: a plain transcription of the algorithm (`benchmarks/transcription.py`) that tries "
    "one k after the other and refits everything on each subset; its 100 subsets are timed on "
    f"{SAMPLED}, spread evenly over the sizes, and scaled up. Shortest of three runs for ours."
)


def run() -> list[Figure]:
    problem = clouds(1000, 50, 750, 20)
    once, averaged = replace(AUTHORS, subsets=0), AUTHORS
    estimate(problem, once)  # imports and caches are nobody's time

    def plainly(kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        transcription.single_pass(
            problem.x_train[kept],
            problem.y_train[kept],
            problem.x_train[problem.anomalies],
            problem.x_candidates,
            problem.rate,
            once,
            0,
        )

    single = seconds(lambda: estimate(problem, once))
    plain_single = seconds(lambda: plainly(np.ones(problem.n, dtype=bool)), repeat=1)
    hundred = seconds(lambda: estimate(problem, averaged))
    masks = random_subsets(problem, averaged, 0)
    sample = [masks[i] for i in np.linspace(10, 90, SAMPLED).astype(int)]
    sampled = sum(seconds(partial(plainly, kept), repeat=1) for kept in sample)
    plain_hundred = sampled * len(masks) / SAMPLED
    return [
        Figure(
            "one pass",
            f"{single:.2f} s",
            f"{plain_single:.1f} s",
            f"{plain_single / single:,.0f}× faster",
            "≥ 10×",
        ),
        Figure(
            "mean of 100 subsets",
            f"{hundred:.2f} s",
            f"{plain_hundred:.0f} s (scaled up)",
            f"{plain_hundred / hundred:,.0f}× faster",
            "≥ 200×",
        ),
    ]
