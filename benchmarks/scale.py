"""Time and memory of one pass over a large problem."""

from __future__ import annotations

from benchmarks.measure import Figure, in_own_process

TITLE = "Large: n = 20,000, d = 768, l = 2,000, one pass"
NOTE = (
    "Reference for time: the bare matrix product of the same rows, in the same process. Memory is "
    "the growth of the process's peak while it scores, against the stated budget."
)


def run() -> list[Figure]:
    found = in_own_process("benchmarks.scale_worker")
    distances = found["total"] - found["forest"]
    return [
        Figure(
            "all but the forest",
            f"{distances:.1f} s",
            f"{found['product']:.1f} s",
            f"{distances / found['product']:.1f}× the product",
            "≤ 4×",
        ),
        Figure("with the forest", f"{found['total']:.1f} s", f"{found['product']:.1f} s", "", ""),
        Figure(
            "peak memory while scoring",
            f"{(found['peak'] - found['before']) / 1e6:,.0f} MB",
            f"{found['budget'] / 1e6:,.0f} MB",
            f"whole process {found['peak'] / 1e6:,.0f} MB",
            "≤ budget + 500 MB",
        ),
    ]
