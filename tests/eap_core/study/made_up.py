"""Results of a study that was never run: as many cells as a test wants, quickly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from eap_core.evaluators import PAPER_EVALUATORS
from eap_core.study.results import NAMES, read_published

PRIORS = ("0.01", "0.05", "0.1", "0.2", "0.3", "0.4", "m/n")
SETS = {
    "tables": ["annthyroid", "breastw", "cardio", "fault", "glass", "letter", "PageBlocks", "wbc"],
    "images": ["bottle", "cable", "capsule", "carpet", "grid", "hazelnut", "leather", "transistor"],
}


def made_up(
    sets: dict[str, list[str]] | None = None,
    seeds: int = 3,
    evaluators: Sequence[str] = PAPER_EVALUATORS,
    priors: Sequence[str] = PRIORS,
    seed: int = 0,
) -> pd.DataFrame:
    """Cells around the paper's means: data sets differ most, then evaluators, then seeds."""
    rng = np.random.default_rng(seed)
    paper = read_published().set_index(["data", "evaluator"])["AUC_qlt"]
    rows = []
    for track, names in (SETS if sets is None else sets).items():
        for name in names:
            level = rng.normal(0, 0.06)
            hard = {method: rng.normal(0, 0.04) for method in evaluators}
            for number in range(seeds):
                for method in evaluators:
                    mean = paper.get((track, NAMES[method]), 0.5) + level / 2 + hard[method]
                    rows.append(_row(rng, (track, name, number), "evaluator", method, mean, level))
                for method in priors:
                    rate = 0.06 if method == "m/n" else float(method)
                    mean = 0.82 + level / 2 - 0.15 * abs(rate - 0.1)
                    rows.append(_row(rng, (track, name, number), "prior", method, mean, level))
    return pd.DataFrame(rows)


def _row(
    rng: np.random.Generator,
    experiment: tuple[str, str, int],
    kind: str,
    method: str,
    mean: float,
    level: float,
) -> dict[str, object]:
    auc = float(np.clip(mean + rng.normal(0, 0.015), 0.02, 0.999))
    total = int(rng.integers(90, 750))
    start = float(np.clip(0.66 + level, 0.4, 0.95))
    gain_at, loss_at = (np.unique(np.round(np.linspace(0, s, 21) * total)) / total for s in _ENDS)
    gain = start + (0.9 - start) * (0.4 + auc) * (1 - np.exp(-6 * gain_at))
    loss = start + 0.25 * (1.1 - auc) * (1 - np.exp(-3 * loss_at)) - 0.05 * (auc - 0.5) * loss_at
    gain[1:] += rng.normal(0, 0.006, len(gain) - 1)
    loss[1:] += rng.normal(0, 0.006, len(loss) - 1)
    track, name, seed = experiment
    return {
        "track": track,
        "dataset": name,
        "seed": seed,
        "kind": kind,
        "method": method,
        "AUC_qlt": auc,
        "AULC_g": float(np.trapezoid(gain, gain_at) / gain_at[-1]),
        "ACC_g": float(gain[-1]),
        "AULC_p": float(np.trapezoid(loss, loss_at) / loss_at[-1]),
        "gain_at": gain_at.tolist(),
        "gain": gain.tolist(),
        "loss_at": loss_at.tolist(),
        "loss": loss.tolist(),
    }


_ENDS = (1 / 3, 2 / 3)
