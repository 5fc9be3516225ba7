"""A small real problem to try everything on: breast-cancer measurements and made-up anomalies.

Benign samples are the normals and ten malignant ones the real anomalies. Four generators with known
habits make the candidates: one that interpolates between malignant samples the training data do not
hold, one that barely changes a benign sample, one that exaggerates until no cell could look so, and
one that mixes measurements of different samples.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from eap_core.table import Floats, Table
from eap_core.writers import unwritable, write_frame

GENERATORS = ("interpolate", "jitter", "exaggerate", "shuffle")
_PER_GENERATOR = 40
_ANOMALIES = 10


def demo_tables(seed: int = 0) -> tuple[Table, Table]:
    """Labelled training rows and candidates; a candidate's generator is an extra column."""
    data = load_breast_cancer()
    rng = np.random.default_rng(seed)
    columns = tuple(str(name) for name in data.feature_names)
    benign = rng.permutation(data.data[data.target == 1])
    malignant = rng.permutation(data.data[data.target == 0])
    normals, held_out = benign[:300], benign[300:]
    anomalies, unseen = malignant[:_ANOMALIES], malignant[_ANOMALIES:]
    train = Table(
        source="demo training data",
        columns=columns,
        values=np.vstack([normals, anomalies]),
        ids=(
            *(f"benign-{i:03d}" for i in range(len(normals))),
            *(f"malignant-{i:03d}" for i in range(len(anomalies))),
        ),
        labels=np.repeat([0, 1], [len(normals), len(anomalies)]).astype(np.int8),
    )
    made = (
        _interpolate(unseen, rng),
        _jitter(held_out, rng),
        _exaggerate(unseen, normals, rng),
        _shuffle(unseen, rng),
    )
    names = tuple(name for name in GENERATORS for _ in range(_PER_GENERATOR))
    candidates = Table(
        source="demo candidates",
        columns=columns,
        values=np.vstack(made),
        ids=tuple(f"{name}-{i % _PER_GENERATOR:02d}" for i, name in enumerate(names)),
        extras={"generator": names},
    )
    return train, candidates


def write_demo(folder: Path) -> tuple[Path, Path]:
    """Write the demo as two CSV files, as a person would have them."""
    import pandas as pd  # slow to import

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    paths = []
    for table, name in zip(demo_tables(), ("train", "candidates"), strict=True):
        frame = pd.DataFrame(table.values, columns=list(table.columns))
        frame.insert(0, "id", list(table.ids))
        for extra, values in table.extras.items():
            frame[extra] = list(values)
        if table.labels is not None:
            frame["label"] = table.labels
        paths.append(folder / f"{name}.csv")
        write_frame(frame, paths[-1])
    return paths[0], paths[1]


def _pick(rows: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(rows[rng.integers(len(rows), size=_PER_GENERATOR)])


def _interpolate(rows: Floats, rng: np.random.Generator) -> Floats:
    share = rng.uniform(0.1, 0.4, size=(_PER_GENERATOR, 1))
    one, other = _pick(rows, rng), _pick(rows, rng)
    return np.asarray((1 - share) * one + share * other)


def _jitter(rows: Floats, rng: np.random.Generator) -> Floats:
    noise = rng.normal(1.0, 0.02, size=(_PER_GENERATOR, rows.shape[1]))
    return np.asarray(_pick(rows, rng) * noise)


def _exaggerate(rows: Floats, normals: Floats, rng: np.random.Generator) -> Floats:
    centre = normals.mean(axis=0)
    factor = rng.uniform(3, 6, size=(_PER_GENERATOR, 1))
    return np.asarray(centre + factor * (_pick(rows, rng) - centre))


def _shuffle(rows: Floats, rng: np.random.Generator) -> Floats:
    return np.column_stack([rng.choice(column, size=_PER_GENERATOR) for column in rows.T])
