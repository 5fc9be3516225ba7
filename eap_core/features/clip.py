"""Image features of the paper: what a CLIP model makes of the whole image, by itself."""

from __future__ import annotations

import importlib.util
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.files import FeatureCache, key_of
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Bools, Floats
from eap_core.features.base import (
    Embedding,
    ImageSource,
    Tally,
    check_images,
    open_picture,
    single_threaded_workers,
)
from eap_core.features.clip_hub import ModelSpec
from eap_core.features.clip_model import ClipModel, Vectors, WeightsFile, locate_weights

# A model's eye in whole numbers of 8 bits, by ONNX Runtime: about half the time for an image.
#
# What it sees is a little coarser, so whoever uses it finds out first whether that matters for the
# images at hand.

PACKAGES: Final = ("onnx", "onnxruntime", "onnxscript")
_RECIPE: Final = "1"  # counted up whenever the same model comes to mean other numbers
_PICTURE, _VECTOR = "picture", "vector"


class NotConvertibleError(Exception):
    """ONNX has no word for something in this model."""


def is_installed() -> bool:
    """Whether the packages are here, which are no part of the usual installation."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def check_installed() -> None:
    """Refuse what would fail after the long work."""
    if not is_installed():
        raise SettingsError(
            "8 bits need packages that are not installed",
            advice=f"run pip install {' '.join(PACKAGES)}, or do without them",
            code="int8-unavailable",
            facts={"packages": " ".join(PACKAGES)},
        )


class InEightBits:
    """A located model whose images are looked at in 8 bits; its sentences are not its business."""

    def __init__(self, model: WeightsFile) -> None:
        self.model = model
        self.key = f"{model.key}-int8-{_RECIPE}"

    @cached_property
    def _loaded(self) -> ClipModel:
        whole = self.model.load()
        return replace(whole, key=self.key, network=_convert_network(whole.network, self._size))

    @property
    def _size(self) -> tuple[int, int]:
        size = self.model.recipe.preparation["size"]
        return (size, size) if isinstance(size, int) else tuple(size)

    def load(self) -> ClipModel:
        """The model, converted once; a NotConvertibleError where that is not possible."""
        return self._loaded


@dataclass(frozen=True, eq=False)
class _Eye:
    """As much of a network as looking at an image takes."""

    session: Any

    def encode_image(self, picture: Any) -> Any:
        import torch

        (found,) = self.session.run([_VECTOR], {_PICTURE: picture.numpy()})
        return torch.from_numpy(found)


def _convert_network(network: Any, size: tuple[int, int]) -> _Eye:
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Looking(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, picture: Any) -> Any:
            return self.network.encode_image(picture)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a thread for each image
    with tempfile.TemporaryDirectory() as folder, _silently():
        whole, eight = Path(folder, "whole.onnx"), Path(folder, "eight.onnx")
        try:
            torch.onnx.export(
                Looking().eval(),
                (torch.zeros(1, 3, *size),),
                whole,
                input_names=[_PICTURE],
                output_names=[_VECTOR],
                dynamo=True,
                verbose=False,
            )
            # A range of 7 bits: processors without the newest instructions overflow at 8.
            quantize_dynamic(
                whole, eight, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8
            )
            return _Eye(
                onnxruntime.InferenceSession(eight, options, providers=["CPUExecutionProvider"])
            )
        except Exception as error:  # each model may stumble in a way of its own
            raise NotConvertibleError(type(error).__name__) from error


@contextmanager
def _silently() -> Iterator[None]:
    """All three packages talk of their steps, in every way there is."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


# What a CLIP model sees in images, one unit vector each.
#
# An image is looked at once per model and kept at once, so work that was stopped goes on where it
# was. Each is computed alone, by one thread: no bit depends on which images stand beside it.

_TOLD_EVERY = 100  # entries of a cache, which are read much faster than an image is looked at


class ClipEye(Protocol):
    """A model that need not be loaded to know what it has seen before."""

    @property
    def key(self) -> str: ...

    def load(self) -> ClipModel: ...


def image_vectors(
    model: ClipEye, images: Sequence[ImageSource], cache: FeatureCache, progress: Progress = silent
) -> Vectors:
    """A unit vector for each image; the model is loaded only if one was not looked at before."""
    sources = {source.sha256: source for source in images}
    found: dict[str, Vectors] = {}
    for i, image in enumerate(sources):
        if i % _TOLD_EVERY == 0:
            progress(0.0, "finding what is known already")
        known = cache.load(_key(model, image))
        if known is not None:
            found[image] = known[0]
    lacking = [source for image, source in sources.items() if image not in found]
    if lacking:
        progress(0.0, "loading the model")
        found |= _embed_one(model, lacking, cache, progress)
    return np.stack([found[source.sha256] for source in images])


def _embed_one(
    model: ClipEye, sources: Sequence[ImageSource], cache: FeatureCache, progress: Progress
) -> dict[str, Vectors]:
    loaded, tally = model.load(), Tally(progress, len(sources))
    found: dict[str, Vectors] = {}
    with single_threaded_workers() as workers:
        tally.begin()
        # Opened one after the other in this thread: a source need not stand threads.
        pictures = (open_picture(source) for source in sources)
        rows: Iterator[Vectors] = workers.in_order(pictures, lambda one: loaded.images([one])[0])
        for source, row in zip(sources, rows, strict=True):
            cache.store(_key(model, source.sha256), (row,))
            found[source.sha256] = row
            tally.one_more()
    return found


def _key(model: ClipEye, image: str) -> str:
    return key_of("clip image", model.key, image)


# Whether 8 bits keep the ranking, found out on the images at hand before they are used.
#
# The trial is made on normals alone, so that no candidate's score depends on another candidate.
# They are the harder test: images that hardly differ are the first to change places.

ENOUGH: Final = 0.99  # correlation of the ranks of all distances
_SAMPLE, _LEAST = 48, 8


@dataclass(frozen=True)
class Int8Trial:
    """By which eye the images are looked at, and why."""

    eye: ClipEye
    why: str


def try_int8(
    model: WeightsFile,
    images: Sequence[ImageSource],
    normal: Bools,
    cache: FeatureCache,
    progress: Progress,
) -> Int8Trial:
    """8 bits where they keep the order of the distances between normals, otherwise 32."""
    eight = InEightBits(model)
    distinct = {source.sha256: source for source, own in zip(images, normal, strict=True) if own}
    sample = [distinct[name] for name in sorted(distinct)[:_SAMPLE]]
    if len(sample) < _LEAST:
        return Int8Trial(model, f"32 bits are used: with {len(sample)} normals 8 cannot be tried")

    def told(_: float, step: str) -> None:
        progress(0.0, f"trying 8 bits: {step}")

    fine = image_vectors(model, sample, cache, told)
    try:
        coarse = image_vectors(eight, sample, cache, told)
    except (NotConvertibleError, DataError) as error:  # the images themselves were fine just now
        return Int8Trial(model, f"32 bits are used: this model cannot be used in 8 ({error})")
    kept = same_order(fine, coarse)
    found = f"on {len(sample)} normals the ranks of their distances correlate by {kept:.4f}"
    if kept < ENOUGH:
        return Int8Trial(model, f"32 bits are used, for 8 would change the ranking: {found}")
    return Int8Trial(eight, f"looked at in 8 bits, which keep the ranking: {found}")


def same_order(fine: Vectors, coarse: Vectors) -> float:
    """Spearman's correlation of all distances, each column on its own scale as in the score."""
    from scipy.spatial.distance import pdist  # slow to import
    from scipy.stats import rankdata

    ranks = [rankdata(pdist(_scale_rows(rows))) for rows in (fine, coarse)]
    if any(np.ptp(own) == 0 for own in ranks):
        return 0.0  # without an order there is none to keep
    return float(np.corrcoef(ranks)[0, 1])


def _scale_rows(rows: Vectors) -> Floats:
    values = rows.astype(np.float64)
    spread = values.std(axis=0)
    return np.asarray(values / np.where(spread > 0, spread, 1.0))


@dataclass(frozen=True)
class Clip:
    """The columns are as the model gives them: they are standardised like those of a table.

    ``int8`` looks in 8 bits if that keeps the ranking.
    """

    wanted: ModelSpec = field(default_factory=ModelSpec)
    int8: bool = False
    name: str = "clip"
    title: str = "CLIP"
    summary: str = (
        "the whole image by a large model that has to be fetched first, as the method's paper does"
    )
    seconds: float = 0.3

    def embed(
        self,
        images: Sequence[ImageSource],
        normal: Bools,
        cache: FeatureCache,
        progress: Progress = silent,
    ) -> Embedding:
        check_images(images, normal)
        if self.int8:
            check_installed()
        model = locate_weights(self.wanted, progress)
        notes = [f"image features by {model.in_words}"]
        chosen = Int8Trial(model, "")
        if self.int8:
            chosen = try_int8(model, images, normal, cache, progress)
            notes.append(chosen.why)
        unit = image_vectors(chosen.eye, images, cache, progress)
        columns = unit.shape[1]
        return Embedding(
            # A unit vector's many columns are all small; so scaled, a column that hardly varies
            # is told from one that does as it is in a table.
            values=unit.astype(np.float64) * np.sqrt(columns),
            heat=None,
            columns=tuple(f"clip {i + 1}" for i in range(columns)),
            notes=tuple(notes),
            standardised=False,
        )
