"""Time of each evaluator against n and against l, as a picture."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from benchmarks.measure import Figure, seconds
from benchmarks.problems import clouds
from eap_core.evaluators import EVALUATORS
from eap_core.scoring.workbench import Workbench

TITLE = "Scaling"
NOTE = "![seconds against training rows and against candidates](scaling.png)"
PICTURE = Path(__file__).parents[1] / "docs" / "scaling.png"
ROWS, CANDIDATES = (250, 500, 1000, 2000, 4000), (50, 100, 200, 400, 800, 1600)


def run() -> list[Figure]:
    mpl.use("agg")
    panel, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
    grown: dict[str, list[str]] = {}
    sizes = (
        ("training rows n  (l = 200)", ROWS, [(n, 200) for n in ROWS]),
        ("candidates l  (n = 1000)", CANDIDATES, [(1000, count) for count in CANDIDATES]),
    )
    markers = "osv^D<>p*hXPd8+H1234"
    for axis, (label, along, pairs) in zip(axes, sizes, strict=True):
        for i, name in enumerate(name for name in EVALUATORS if name != "random"):
            times = [_seconds(name, n, count) for n, count in pairs]
            axis.loglog(
                along,
                times,
                marker=markers[i],
                label=name,
                color=plt.cm.cividis(i / len(EVALUATORS)),
            )
            grown.setdefault(name, []).append(f"{times[-1]:.2f} s")
        axis.set_xlabel(label)
        axis.set_xticks(along, [f"{size:,}" for size in along])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, two cores")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    panel.savefig(PICTURE, dpi=110)
    return [
        Figure(f"`{name}`", f"{by_rows} (n = {ROWS[-1]:,}, l = 200)", "", "", "")
        for name, (by_rows, _) in grown.items()
    ]


def _seconds(name: str, n: int, candidates: int) -> float:
    problem = clouds(n, max(5, n // 50), candidates, 20)
    bench = Workbench(problem)
    bench.detector  # noqa: B018 -- the forest is the same for all
    return max(seconds(partial(EVALUATORS[name].score, bench), repeat=1), 1e-4)
