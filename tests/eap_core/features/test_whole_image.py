"""The whole image's directions against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from eap_core.features.lite0 import WholeImageSettings, fit_whole_image

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(100, 12)) @ RNG.normal(size=(12, 30)) + 5


@pytest.mark.parametrize(("normals", "kept"), [(100, 6), (79, 3), (3, 2), (2, 1)])
def test_the_directions_are_those_of_a_whitened_pca(normals: int, kept: int) -> None:
    rows = ROWS[:normals]
    settings = WholeImageSettings(components=6, few_normals=80, components_of_few=3)
    fitted = fit_whole_image(rows, settings)
    standard = (rows - rows.mean(0)) / rows.std(0)
    expected = PCA(kept, whiten=True, svd_solver="full").fit_transform(standard)
    found = np.stack([fitted.describe(row.astype(np.float32)) for row in rows])
    scale = np.sqrt(normals / (normals - 1))  # scikit-learn divides by n − 1
    assert found.shape == (normals, kept)
    np.testing.assert_allclose(np.abs(found), np.abs(expected) * scale, atol=1e-4)


def test_directions_that_are_only_noise_are_left_out() -> None:
    flat = ROWS[:, :1] * np.ones((1, 30))
    assert len(fit_whole_image(flat, WholeImageSettings()).projection) == 1


@pytest.mark.parametrize("copies", [1, 5])
def test_normals_that_do_not_differ_leave_the_distance_from_them(copies: int) -> None:
    fitted = fit_whole_image(np.repeat(ROWS[:1], copies, axis=0), WholeImageSettings())
    near, far = (fitted.describe((ROWS[0] + d).astype(np.float32)) for d in (0.0, 2.0))
    np.testing.assert_allclose(near, [0.0], atol=1e-6)
    np.testing.assert_allclose(far, [2.0], atol=1e-6)
