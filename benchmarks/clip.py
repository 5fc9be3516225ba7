"""CLIP features: images a second of each path, and whether 8 bits keep EAP's ranking."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks.image_sets import EACH, Split, data_sets, split_of
from benchmarks.measure import Figure, seconds
from eap_core.analysis.score import score
from eap_core.base.files import FeatureCache
from eap_core.base.prepare import problem_from_tables
from eap_core.base.table import Floats, Table
from eap_core.features import EMBEDDERS
from eap_core.features.base import ImageSource
from eap_core.features.clip import ClipEye, InEightBits, image_vectors
from eap_core.features.clip_hub import ModelSpec, recipe_of
from eap_core.features.clip_model import WeightsFile, build_model, locate_weights
from eap_core.scoring.workbench import Workbench

TITLE = "CLIP features"
MODELS = ("ViT-B-16-SigLIP", "ViT-B-32:openai")
TIMED, BATCH = 24, 8
NOTE = (
    f"{TIMED} textile images from an empty cache, the model loaded, shortest of two runs. "
    f"Reference: open_clip as its readme uses it, fp32, batches of {BATCH}, torch's own number of "
    "threads. The weights are random, which changes no time. Ranking: EAP on the features of a "
    "textile split (150 training images, 120 candidates) in 32 and in 8 bits; with random weights "
    "it shows that the conversion is sound, not what a trained model would give, and so each "
    "run tries it on its own images first."
)


def _weights(model: str, folder: Path) -> WeightsFile:
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    wanted = ModelSpec.named(model, folder / "weights.safetensors")
    state = build_model(recipe_of(wanted)).state_dict()
    save_file({name: value.contiguous() for name, value in state.items()}, str(wanted.weights))
    return locate_weights(wanted)


def plain(model: WeightsFile, images: Sequence[ImageSource]) -> Callable[[], object]:
    """As open_clip's readme does it, in batches."""
    import torch

    loaded = model.load()

    def work() -> Any:
        with torch.inference_mode():
            for start in range(0, len(images), BATCH):
                pictures = [loaded.prepare(one.open()) for one in images[start : start + BATCH]]
                loaded.network.encode_image(torch.stack(pictures), normalize=True)

    return work


def fresh(look: Callable[[FeatureCache], object]) -> float:
    """Seconds from an empty cache."""

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            look(FeatureCache(Path(folder)))

    return seconds(work, repeat=2)


def offline(name: str, images: Sequence[ImageSource]) -> Callable[[FeatureCache], object]:
    """The features that need no download."""
    normal = np.ones(len(images), dtype=bool)
    return lambda cache: EMBEDDERS[name].embed(images, normal, cache)


def speeds(model: WeightsFile, images: Sequence[ImageSource]) -> list[Figure]:
    reference = seconds(plain(model, images), repeat=2)
    eight = InEightBits(model)
    conversion = seconds(eight.load, repeat=1)
    times = {
        "32 bits": fresh(lambda cache: image_vectors(model, images, cache)),
        "8 bits": fresh(lambda cache: image_vectors(eight, images, cache)),
        **{f"without CLIP: {name}": fresh(offline(name, images)) for name in ("full", "fast")},
    }
    with tempfile.TemporaryDirectory() as folder:
        image_vectors(model, images, FeatureCache(Path(folder)))
        times["seen before"] = seconds(
            lambda: image_vectors(model, images, FeatureCache(Path(folder)))
        )
    name = model.recipe.model
    return [
        *(
            Figure(
                f"images/s, {name}, {path}",
                f"{len(images) / time:.1f}",
                f"{len(images) / reference:.1f}",
                f"{reference / time:.2f}×",
                {"32 bits": "≥ 0.8×", "8 bits": "≥ 1.5×"}.get(path, ""),
            )
            for path, time in times.items()
        ),
        Figure(f"conversion to 8 bits, {name}, once a run", f"{conversion:.0f} s", "", "", ""),
    ]


def eap_of(split: Split, eye: ClipEye, cache: FeatureCache) -> Floats:
    parts = (split.normals, split.anomalies, split.candidates)
    rows = [image_vectors(eye, part, cache).astype(np.float64) for part in parts]
    columns = tuple(f"f{j}" for j in range(rows[0].shape[1]))
    normals, anomalies, candidates = (
        Table(
            name, columns, own * len(columns) ** 0.5, tuple(f"{name} {i}" for i in range(len(own)))
        )
        for name, own in zip(("normal", "anomaly", "candidate"), rows, strict=True)
    )
    return score(Workbench(problem_from_tables(normals, candidates, anomalies))).columns["eap"]


def ranking(model: WeightsFile) -> list[Figure]:
    textile = data_sets()[-1]
    split = split_of(textile, [], 0)
    with tempfile.TemporaryDirectory() as folder:
        whole, eight = (
            eap_of(split, eye, FeatureCache(Path(folder))) for eye in (model, InEightBits(model))
        )
    good = np.arange(len(split.candidates)) < EACH
    aucs = [float(roc_auc_score(good, scores)) for scores in (eight, whole)]
    rho = float(spearmanr(whole, eight).statistic)
    third = len(whole) // 3
    tops = [set(np.argsort(-scores, kind="stable")[:third]) for scores in (whole, eight)]
    shared = len(tops[0] & tops[1]) / third
    name = model.recipe.model
    return [
        Figure(f"EAP in 8 and 32 bits, {name}: rank correlation", f"{rho:.4f}", "1", "", "≥ 0.99"),
        Figure(f"the same best third, {name}", f"{shared:.0%}", "100%", "", ""),
        Figure(
            f"AUC_qlt, {name}", f"{aucs[0]:.3f}", f"{aucs[1]:.3f}", f"{aucs[0] - aucs[1]:+.3f}", ""
        ),
    ]


def run() -> list[Figure]:
    images = list(data_sets()[-1].normals[:TIMED])
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            model = _weights(name, Path(folder))
            figures += speeds(model, images)
            figures += ranking(model)
    return figures
