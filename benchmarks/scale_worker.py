"""One pass over n = 20,000 × d = 768 with l = 2,000, alone in a process; prints JSON."""

from __future__ import annotations

import json
import resource
import time
from dataclasses import replace

import numpy as np
from sklearn.ensemble import IsolationForest

from benchmarks.problems import clouds
from eap_core.scoring import detectors
from eap_core.scoring.distances import MEMORY_BUDGET
from eap_core.scoring.evidence import estimate
from eap_core.scoring.settings import AUTHORS


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    problem = clouds(20_000, 50, 2_000, 768)
    IsolationForest(n_estimators=2).fit(problem.x_train[:300])
    detectors.names()
    before = peak_bytes()
    start = time.perf_counter()
    estimate(problem, replace(AUTHORS, subsets=0), budget=MEMORY_BUDGET)
    total = time.perf_counter() - start
    peak = peak_bytes()

    start = time.perf_counter()
    fitted = detectors.fit("iforest", problem.x_train, 0)
    fitted.probability(problem.x_candidates)
    forest = time.perf_counter() - start

    start = time.perf_counter()
    for rows in (problem.x_train, problem.x_candidates):
        for i in range(0, len(rows), 1000):
            np.matmul(rows[i : i + 1000], problem.x_train.T)
    product = time.perf_counter() - start
    figures = {"total": total, "forest": forest, "product": product}
    print(json.dumps({**figures, "before": before, "peak": peak, "budget": MEMORY_BUDGET}))


if __name__ == "__main__":
    main()
