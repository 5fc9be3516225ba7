"""How long a command that only shows something keeps a person waiting."""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.measure import Figure

TITLE = "Start of the command line"
NOTE = (
    "CPU seconds of a process, the shortest of five. The reference imports what the command line "
    "is made with, and numpy, and does nothing."
)
_REFERENCE = ("-c", "import numpy, rich, typer")
_REPEAT = 5


def run() -> list[Figure]:
    least = _cpu_seconds(*_REFERENCE)
    return [
        Figure(
            f"`python -m eap_core {command}`",
            f"{ours:.2f} s",
            f"imports {least:.2f} s",
            f"{ours / least:.1f}×",
            "≤ 3×",
        )
        for command in ("--help", "list")
        for ours in [_cpu_seconds("-m", "eap_core", command)]
    ]


def _cpu_seconds(*arguments: str) -> float:
    best = float("inf")
    for _ in range(_REPEAT):
        before = _children()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        best = min(best, _children() - before)
    return best


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
