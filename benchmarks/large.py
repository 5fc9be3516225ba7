"""More normals than are used, and more candidates than fit into memory at once."""

from __future__ import annotations

import time
from dataclasses import replace

from benchmarks.measure import Figure, in_own_process
from benchmarks.problems import clouds
from eap_core.analysis.score import score
from eap_core.base.problem import Problem
from eap_core.evaluators import PAPER_EVALUATORS
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.workbench import Workbench

TITLE = "Large problems"
NOTE = (
    "Time with 100,000 normals against the 2,000 drawn of them, d = 64, l = 2,000, the draw "
    "included. Time and memory against the number of candidates with 2,000 normals, d = 32, in one "
    "pass; memory is that of the process beyond what it has before scoring."
)


def run() -> list[Figure]:
    few, many = clouds(2_050, 50, 2_000, 64), clouds(100_050, 50, 2_000, 64)
    score(Workbench(clouds(200, 5, 20, 64)), ["eap", "reach"])  # imports are nobody's time
    figures = []
    for words, names in (
        ("EAP", ("eap",)),
        ("EAP-Reach with EAP", ("reach",)),
        ("all thirteen and EAP-Reach", (*PAPER_EVALUATORS, "reach")),
    ):
        ours, reference = (_seconds(problem, names, AUTHORS) for problem in (many, few))
        figures.append(
            Figure(
                f"{words}, n = 100,050",
                f"{ours:.1f} s",
                f"n = 2,050: {reference:.1f} s",
                f"{ours / reference:.2f}×",
                "≤ 1.5×",
            )
        )
    eap, reach = (_seconds(few, names, AUTHORS) for names in (("eap",), ("reach",)))
    figures.append(
        Figure(
            "EAP-Reach with EAP",
            f"{reach:.1f} s",
            f"EAP {eap:.1f} s",
            f"{reach / eap:.2f}×",
            "≤ 2×",
        )
    )
    return [*figures, *_candidates()]


def _seconds(problem: Problem, names: tuple[str, ...], settings: Settings) -> float:
    start = time.perf_counter()
    drawn = problem.drawn(settings.max_normals, 0)
    score(Workbench(drawn, settings), names)
    return time.perf_counter() - start


def _candidates() -> list[Figure]:
    """A process each, so that the peak of memory is its own."""
    tenth = in_own_process("benchmarks.large_worker", "100000")
    whole = in_own_process("benchmarks.large_worker", "1000000")
    return [
        Figure(
            "EAP of 1,000,000 candidates, one pass",
            f"{whole['seconds']:.0f} s",
            f"100,000: {tenth['seconds']:.1f} s",
            f"{whole['seconds'] / tenth['seconds']:.1f}× for 10×",
            "≤ 12×",
        ),
        Figure(
            "memory for it",
            f"{whole['peak'] / 1e9:.2f} GB",
            f"budget {whole['budget'] / 1e9:.0f} GB",
            f"{whole['peak'] / whole['budget']:.2f}×",
            "≤ 1.5×",
        ),
    ]


ONE_PASS = replace(AUTHORS, subsets=0)
