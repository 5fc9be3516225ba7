"""Problems of a given size for the benchmarks."""

from __future__ import annotations

import numpy as np

from eap_core.base.problem import Problem


def clouds(n: int, m: int, candidates: int, columns: int, seed: int = 0) -> Problem:
    """A cloud of normals, anomalies beside it of which some are far, candidates of three kinds."""
    rng = np.random.default_rng(seed)

    def beside(rows: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        direction = rng.normal(size=(rows, columns))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        reach = rng.uniform(0.5, 2.0, size=(rows, 1)) * np.sqrt(columns)
        return np.asarray(rng.normal(size=(rows, columns)) * 0.8 + direction * reach)

    third = candidates // 3
    return Problem(
        np.vstack([rng.normal(size=(n - m, columns)), beside(m)]),
        np.repeat([0, 1], [n - m, m]).astype(np.int8),
        np.vstack(
            [
                beside(third),
                rng.normal(size=(third, columns)),
                rng.normal(size=(candidates - 2 * third, columns)) * 6,
            ]
        ),
        tuple(f"c{i}" for i in range(candidates)),
    )
