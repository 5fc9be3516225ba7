"""kNN-Shapley against Shapley's own definition."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from eap_core.base.problem import Problem
from eap_core.evaluators.knn_shap import KnnShap
from eap_core.scoring.workbench import Workbench


def vote(players: list[int], distances: list[float], matches: list[bool], k: int) -> float:
    """The share of k votes for the right label that the nearest players give."""
    nearest = sorted(players, key=lambda p: (distances[p], p))[:k]
    return sum(matches[p] for p in nearest) / k


def shapley(distances: list[float], matches: list[bool], player: int, k: int) -> float:
    """The mean of a player's contribution over all sets of the others, each size alike."""
    others = [p for p in range(len(distances)) if p != player]
    total = 0.0
    for size in range(len(others) + 1):
        for chosen in combinations(others, size):
            gain = vote([*chosen, player], distances, matches, k)
            gain -= vote(list(chosen), distances, matches, k)
            total += gain / comb(len(others), size) / len(distances)
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("ties", [False, True])
def test_equal_to_the_definition(k: int, ties: bool) -> None:
    rng = np.random.default_rng(k)
    train, candidates = rng.normal(size=(8, 2)), rng.normal(size=(5, 2)) * 2
    if ties:
        candidates[0], train[3] = train[5], train[2]
    labels = np.array([0] * 5 + [1] * 3, dtype=np.int8)
    problem = Problem(train, labels, candidates, tuple("abcde"))
    slow = []
    for candidate in candidates:
        rows = np.vstack([train, candidate])  # the candidate comes last among equals
        every = np.append(labels, 1)
        values = [
            shapley(
                np.square(rows - train[v]).sum(axis=1).tolist(),
                (every == labels[v]).tolist(),
                8,
                k,
            )
            for v in range(8)
        ]
        slow.append(np.mean(values))
    found = KnnShap(n_neighbors=k).score(Workbench(problem))
    np.testing.assert_allclose(found, slow, rtol=0, atol=1e-10)
