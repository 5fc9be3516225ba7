"""Tables read and validated, beside plain pandas that validates nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Figure, seconds
from eap_core.readers import read_table
from eap_core.readers.files import Reading

ROWS, COLUMNS = 100_000, 50
TITLE = f"Reading a CSV of {ROWS:,} × {COLUMNS}"
NOTE = (
    "Encoding, dialect, header, ids and every cell checked, numbers converted exactly; the "
    "reference is `pandas.read_csv` told the dialect, which silently loads wrong numbers."
)
_GOAL = "≤ 5×"


def run() -> list[Figure]:
    values = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    names = [f"c{j}" for j in range(COLUMNS)]
    gaps = values.copy()
    gaps[np.random.default_rng(1).random(values.shape) < 0.01] = np.nan
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame(values, columns=names).to_csv(folder / "plain.csv", index=False)
        pd.DataFrame(values, columns=names).to_csv(
            folder / "comma.csv", index=False, sep=";", decimal=","
        )
        pd.DataFrame(gaps, columns=names).to_csv(folder / "gaps.csv", index=False)
        return [
            _figure("plain", folder / "plain.csv", Reading(), {}),
            _figure(
                "semicolons, decimal comma",
                folder / "comma.csv",
                Reading(),
                {"sep": ";", "decimal": ","},
            ),
            _figure("1 % gaps, median", folder / "gaps.csv", Reading(missing="median"), {}),
        ]


def _figure(what: str, path: Path, reading: Reading, dialect: dict[str, str]) -> Figure:
    ours = seconds(lambda: read_table(path, reading))
    plain = seconds(lambda: pd.read_csv(path, **dialect))  # type: ignore[call-overload]
    return Figure(what, f"{ours:.2f} s", f"{plain:.2f} s", f"{ours / plain:.1f}×", _GOAL)
