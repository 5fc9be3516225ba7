"""EAP of many candidates in one pass, alone in a process; prints JSON."""

from __future__ import annotations

import json
import sys
import time

import psutil

from benchmarks.large import ONE_PASS
from benchmarks.problems import clouds
from benchmarks.scale_worker import peak_bytes
from eap_core.analysis.score import score
from eap_core.scoring.distances import MEMORY_BUDGET
from eap_core.scoring.workbench import Workbench


def resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def main(candidates: int) -> None:
    score(Workbench(clouds(200, 5, 20, 32), ONE_PASS))
    problem = clouds(2_050, 50, candidates, 32)
    held = resident_bytes()
    start = time.perf_counter()
    score(Workbench(problem, ONE_PASS))
    took = time.perf_counter() - start
    # Making the problem may have taken more for a moment: then scoring took less than that.
    figures = {"seconds": took, "peak": peak_bytes() - held, "budget": MEMORY_BUDGET}
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]))
