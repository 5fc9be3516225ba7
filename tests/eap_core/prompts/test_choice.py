"""Choosing a pair: AUCs by hand, ties, imbalance, mistakes, and what must change nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eap_core.base.errors import DataError
from eap_core.base.table import Floats, Role
from eap_core.prompts.choice import (
    ClipViews,
    PromptSelection,
    auc,
    compare_selections,
    find_best_line,
    find_mistakes,
    rank_pairs,
    views_of,
    zero_shot,
)


def seen(*pairs: dict[Role, list[float]], scale: float = 10.0) -> ClipViews:
    """Views with these differences; the images are named by role and number."""
    roles = tuple(role for role, values in pairs[0].items() for _ in values)
    items = tuple(f"{role}{i}" for role, values in pairs[0].items() for i in range(len(values)))
    rows = [[value for values in pair.values() for value in values] for pair in pairs]
    return ClipViews(np.array(rows), roles, items, scale)


def by_counting(low: Floats, high: Floats) -> float:
    return float(np.mean([(b > a) + (a == b) / 2 for a, b in product(low, high)]))


def test_softmax_over_two_similarities_by_hand() -> None:
    images = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], dtype=np.float32)
    found = zero_shot(images, np.array([1.0, 0.0]), np.array([0.0, 1.0]), scale=2.0)
    e = np.exp(2.0)
    by_hand = [1 / (1 + e), e / (1 + e), np.exp(1.6) / (np.exp(1.2) + np.exp(1.6))]
    np.testing.assert_allclose(found, by_hand, atol=1e-7)


def test_a_large_scale_saturates_without_a_warning() -> None:
    images = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert zero_shot(images, images[0], images[1], 1e6).tolist() == [0.0, 1.0]


def test_aucs_by_hand_on_embeddings() -> None:
    # One direction per text; an image's difference is its last coordinate minus its first.
    images = np.array(
        [
            *([4, 1], [3, 2], [2, 3]),  # normals: −3, −1, 1
            *([3, 2], [1, 4], [1, 2]),  # candidates: −1, 3, 1
            *([3, 1], [1, 1]),  # test normals: −2, 0
            *([1, 1], [1, 2]),  # test anomalies: 0, 1
        ],
        dtype=np.float32,
    )
    roles: tuple[Role, ...] = (
        *("normal",) * 3, *("candidate",) * 3, *("test_normal",) * 2, *("test_anomaly",) * 2,
    )  # fmt: skip
    axes = np.eye(2)
    views = views_of(
        images, axes[[0, 1]], axes[[1, 0]], roles, tuple(f"i{i}" for i in range(10)), 1.0
    )
    best, worst = rank_pairs(views, views.at("candidate"))
    # Of the 9 pairs 6 are in order and 2 tie (−1 and −1, 1 and 1), so 7 of 9.
    assert best.pair == 0
    assert best.selection_auc == pytest.approx(7 / 9)
    # Of the 4 pairs 3 are in order and one ties.
    assert best.test_auc == pytest.approx(3.5 / 4)
    assert worst.pair == 1
    assert worst.selection_auc == pytest.approx(2 / 9)
    (only,) = rank_pairs(
        views_of(images, axes[:1], axes[1:], roles, views.items, 1.0), np.array([4])
    )
    assert only.selection_auc == 1.0


def test_ties_go_to_the_larger_gap_then_to_the_first_of_the_file() -> None:
    narrow: dict[Role, list[float]] = {"normal": [0.0, 0.1], "candidate": [0.2]}
    wide: dict[Role, list[float]] = {"normal": [0.0, 0.1], "candidate": [0.9]}
    views = seen(narrow, wide, narrow, wide)
    found = rank_pairs(views, views.at("candidate"))
    assert [one.selection_auc for one in found] == [1.0] * 4
    assert [one.pair for one in found] == [1, 3, 0, 2]


def test_a_better_auc_goes_before_a_larger_gap() -> None:
    views = seen(
        {"normal": [0.0, 0.3], "candidate": [0.2, 9.0]},
        {"normal": [0.0, 0.1], "candidate": [0.2, 0.3]},
    )
    assert rank_pairs(views, views.at("candidate"))[0].pair == 1


def test_imbalance_is_no_matter() -> None:
    few: dict[Role, list[float]] = {"normal": [0.0, 0.4], "candidate": [0.3, 0.5]}
    many: dict[Role, list[float]] = {"normal": [0.0, 0.4] * 500, "candidate": [0.3, 0.5]}
    aucs = [rank_pairs(v, v.at("candidate"))[0].selection_auc for v in (seen(few), seen(many))]
    assert aucs == [0.75, 0.75]
    assert find_best_line(np.repeat([0.0, 0.4], 500), np.array([0.3, 0.5])) == find_best_line(
        np.array([0.0, 0.4]), np.array([0.3, 0.5])
    )


def test_saturated_probabilities_are_still_told_apart() -> None:
    views = seen({"normal": [1.0], "candidate": [2.0]}, scale=1000.0)
    assert np.ptp(views.probability(views.differences)) == 0
    assert rank_pairs(views, views.at("candidate"))[0].selection_auc == 1.0


def test_without_normals_selection_or_test() -> None:
    views = seen({"normal": [0.0], "candidate": [1.0], "test_normal": [0.0]})
    assert rank_pairs(views, views.at("candidate"))[0].test_auc is None
    with pytest.raises(DataError, match="no selected images"):
        rank_pairs(views, views.at("test_anomaly"))
    with pytest.raises(DataError, match="no normals"):
        rank_pairs(seen({"candidate": [1.0]}), np.array([0]))
    with pytest.raises(FloatingPointError):
        seen({"normal": [float("nan")]})


def test_selections_side_by_side() -> None:
    good: dict[Role, list[float]] = {
        "normal": [0.0, 0.1], "candidate": [0.5, 0.0], "test_normal": [0.0], "test_anomaly": [0.5],
    }  # fmt: skip
    bad: dict[Role, list[float]] = {
        "normal": [0.0, 0.1], "candidate": [0.0, 0.5], "test_normal": [0.5], "test_anomaly": [0.0],
    }  # fmt: skip
    views = seen(good, bad)
    rows = views.at("candidate")
    found = compare_selections(
        views,
        [
            PromptSelection("EAP", rows[:1]),
            PromptSelection("Lava", rows[1:]),
            PromptSelection("none", rows[:0]),
        ],
    )
    assert [(c.selection.name, c.best.pair, c.best.test_auc) for c in found] == [
        ("EAP", 0, 1.0),
        ("Lava", 1, 0.0),
    ]
    assert all(c.best.selection_auc == 1.0 for c in found)


def test_the_worst_mistakes_come_first() -> None:
    views = seen(
        {
            "normal": [0.0, 0.2],
            "candidate": [0.6, 0.8],
            "test_normal": [0.1, 0.5, 0.9],
            "test_anomaly": [0.3, 0.7, -0.4],
        }
    )
    (choice,) = compare_selections(views, [PromptSelection("EAP", views.at("candidate"))])
    found = find_mistakes(views, choice)  # the line runs at 0.4
    assert found.held_out
    assert found.judged == 6
    assert found.line == pytest.approx(1 / (1 + np.exp(-4.0)))
    assert [(m.item, m.anomalous) for m in found.found] == [
        ("test_anomaly2", True),
        ("test_normal2", False),
        ("test_anomaly0", True),
        ("test_normal1", False),
    ]
    assert found.found[0].probability == pytest.approx(1 / (1 + np.exp(4.0)))


def test_an_image_on_the_line_counts_as_normal() -> None:
    views = seen({"normal": [0.0, 0.2], "candidate": [0.6], "test_normal": [0.4],
                  "test_anomaly": [0.4]})  # fmt: skip
    (choice,) = compare_selections(views, [PromptSelection("one", np.array([2]))])
    assert [one.item for one in find_mistakes(views, choice).found] == ["test_anomaly0"]


def test_without_a_test_set_the_images_it_was_chosen_by_are_judged() -> None:
    views = seen({"normal": [0.0, 0.1, 0.9], "candidate": [0.8, 0.7]})
    (choice,) = compare_selections(views, [PromptSelection("EAP", views.at("candidate"))])
    found = find_mistakes(views, choice)
    assert (found.held_out, found.judged) == (False, 5)
    assert [m.item for m in found.found] == ["normal2"]


@pytest.mark.parametrize(
    ("low", "high", "line"),
    [
        ([0, 1], [2, 3], 1.5),
        ([0, 1], [1, 3], 2.0),  # of two equally good lines the one in the wider gap
        ([1, 1], [1, 1], 1.0),
        ([2, 3], [0, 1], 3.0),  # no line helps: nothing lies above
    ],
)
def test_lines_by_hand(low: list[float], high: list[float], line: float) -> None:
    assert find_best_line(np.array(low, dtype=float), np.array(high, dtype=float)) == line


numbers = st.floats(-1, 1, width=16)
samples = arrays(np.float64, st.integers(1, 12), elements=numbers)


@given(samples, samples)
def test_the_auc_is_what_counting_says_and_swapping_mirrors_it(low: Floats, high: Floats) -> None:
    assert auc(low, high) == pytest.approx(by_counting(low, high))
    assert auc(high, low) == pytest.approx(1 - auc(low, high))
    assert auc(-low, -high) == pytest.approx(1 - auc(low, high))


@given(samples, samples)
def test_no_other_line_is_better(low: Floats, high: Floats) -> None:
    def errors(line: float) -> float:
        return float(np.mean(high <= line) + np.mean(low > line))

    tried = np.concatenate([low, high, low + 1e-6, high + 1e-6])
    assert errors(find_best_line(low, high)) <= min(errors(line) for line in tried) + 1e-9


vectors = arrays(np.float64, (9, 4), elements=numbers)
texts = arrays(np.float64, (3, 4), elements=numbers)
_NINE: tuple[Role, ...] = (
    *("normal",) * 3, *("candidate",) * 2, *("test_normal",) * 2, *("test_anomaly",) * 2,
)  # fmt: skip
_NAMES = tuple(f"i{i}" for i in range(9))


@given(vectors, texts, texts, arrays(np.float64, 4, elements=numbers))
def test_moving_both_texts_changes_nothing(
    images: Floats, normal: Floats, anomalous: Floats, shift: Floats
) -> None:
    for n, a in zip(normal, anomalous, strict=True):
        np.testing.assert_allclose(
            zero_shot(images, n, a, 5.0), zero_shot(images, n + shift, a + shift, 5.0), atol=1e-7
        )
    views = views_of(images, normal, anomalous, _NINE, _NAMES, 5.0)
    moved = views_of(images, normal + shift, anomalous + shift, _NINE, _NAMES, 5.0)
    np.testing.assert_allclose(views.differences, moved.differences, atol=2e-9)


@given(vectors, texts, texts)
def test_swapping_the_two_texts_mirrors_everything(
    images: Floats, normal: Floats, anomalous: Floats
) -> None:
    rows = np.array([3, 4])
    there = rank_pairs(views_of(images, normal, anomalous, _NINE, _NAMES, 5.0), rows)
    back = rank_pairs(views_of(images, anomalous, normal, _NINE, _NAMES, 5.0), rows)
    mirrored = {one.pair: one for one in back}
    for one in there:
        other = mirrored[one.pair]
        assert other.selection_auc == pytest.approx(1 - one.selection_auc)
        assert one.test_auc is not None
        assert other.test_auc == pytest.approx(1 - one.test_auc)
        assert other.gap == pytest.approx(-one.gap, abs=2e-9)
        np.testing.assert_allclose(
            zero_shot(images, normal[one.pair], anomalous[one.pair], 5.0),
            1 - zero_shot(images, anomalous[one.pair], normal[one.pair], 5.0),
            atol=1e-12,
        )


@given(vectors, texts, texts, st.permutations(range(9)))
def test_the_order_of_the_images_changes_nothing(
    images: Floats, normal: Floats, anomalous: Floats, order: list[int]
) -> None:
    views = views_of(images, normal, anomalous, _NINE, _NAMES, 5.0)
    shuffled = views_of(
        images[order],
        normal,
        anomalous,
        tuple(_NINE[i] for i in order),
        tuple(_NAMES[i] for i in order),
        5.0,
    )
    chosen = ["i3", "i4", "gone"]
    assert rank_pairs(views, views.rows(chosen)) == rank_pairs(shuffled, shuffled.rows(chosen))


def test_equal_images_tie_wherever_they_stand() -> None:
    """In which products the last bits differ by the place is up to the machine: many are tried."""
    for count, pairs, width in product((3, 7, 13, 50), (1, 2, 27), (16, 512, 768)):
        rng = np.random.default_rng([count, pairs, width])
        one = rng.normal(size=width)
        one /= np.linalg.norm(one)
        images = np.vstack([one] * count)
        normal, anomalous = rng.normal(size=(2, pairs, width))
        role: Role = "normal"
        views = views_of(
            images, normal, anomalous, (role,) * count, tuple(map(str, range(count))), 1.0
        )
        assert (views.differences == views.differences[:, :1]).all()
