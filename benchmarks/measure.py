"""How the benchmarks time, weigh and report."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured figure: the product's, the reference's, and their ratio against a goal."""

    what: str
    ours: str
    reference: str
    ratio: str
    goal: str


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """The shortest of some runs: the one least disturbed."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def in_own_process(module: str, *arguments: str) -> Any:
    """What a module prints as JSON, run alone so that its peak memory is its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def markdown(title: str, note: str, figures: list[Figure]) -> str:
    lines = [f"## {title}", "", note, "", "| what | ours | reference | ratio | goal |"]
    lines.append("|---|---|---|---|---|")
    lines += [f"| {f.what} | {f.ours} | {f.reference} | {f.ratio} | {f.goal} |" for f in figures]
    return "\n".join(lines) + "\n"
