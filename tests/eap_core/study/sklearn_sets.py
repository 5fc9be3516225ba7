"""Small real data sets for a study, made from those that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits


def write_sets(folder: Path) -> Path:
    """Two tables, and two sets of images as rows of pixels in a folder that says so."""
    tumours, benign = load_breast_cancer(return_X_y=True)
    _save(folder / "1_tumours.npz", tumours, benign == 0)
    pixels, digit = load_digits(return_X_y=True)
    _save(folder / "2_digits.npz", *_told_apart(pixels, digit, (0, 1, 2, 3, 4), (8,)))
    images = folder / "CV_by_pixels"
    _save(images / "ones.npz", *_told_apart(pixels, digit, (1,), (7,), 60))
    _save(images / "threes.npz", *_told_apart(pixels, digit, (3,), (8,), 60))
    return folder


def _told_apart(
    pixels: npt.NDArray[np.float64],
    digit: npt.NDArray[np.int64],
    normal: tuple[int, ...],
    anomalous: tuple[int, ...],
    most: int = 1000,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    good = pixels[np.isin(digit, normal)]
    bad = pixels[np.isin(digit, anomalous)][:most]
    return np.concatenate([good, bad]), np.repeat([False, True], [len(good), len(bad)])


def _save(path: Path, rows: npt.NDArray[np.float64], anomalous: npt.NDArray[np.bool_]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, X=rows, y=anomalous.astype(np.int64))
