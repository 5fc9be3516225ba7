"""What somebody who loads a bundle would otherwise find out by an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eap_core.export.layout import Placed
from eap_core.export.loading import unmasked, without_png
from eap_core.export.request import Request
from eap_core.store.items import Item


def notes_of(
    request: Request, images: Sequence[Placed], left_out: Sequence[Item], category: str
) -> list[str]:
    """Sentences without their full stop; all of them of plain words and numbers."""
    if not images:
        return []
    roles: Counter[str] = Counter(each.item.role for each in images)
    return [
        *_real(request, roles, left_out),
        *_synthetic(request, roles, unmasked(images, "synthetic/")),
        *_masks(request, images, category),
        *_endings(request, images, category),
    ]


def _real(request: Request, roles: Counter[str], left_out: Sequence[Item]) -> Iterator[str]:
    if left_out:
        yield (
            f"{len(left_out):,} real anomalies, which the scores learnt from, are left out: this "
            "layout keeps anomalies among the test data only, and a test on them would flatter"
        )
    if request.real_in_test and roles["anomaly"]:
        yield (
            f"{roles['anomaly']:,} real anomalies, which the scores learnt from, are among the "
            "test data, as was asked: a test on them flatters"
        )


def _synthetic(request: Request, roles: Counter[str], bare: int) -> Iterator[str]:
    if request.synthetic_in_test:
        yield (
            f"{roles['candidate']:,} synthetic anomalies are among the test data, as was asked: a "
            "test on them says nothing about real defects"
        )
    elif request.format == "anomalib":
        yield (
            "anomalib's Folder reads every abnormal image as test data, so the synthetic ones lie "
            'apart in `synthetic/`: name it as `abnormal_dir="synthetic"` to load them'
            + ("" if bare else ', with `mask_dir="synthetic_masks"`')
        )
    elif request.format == "mvtec":
        yield (
            "an MVTec tree has only good images in training, so the synthetic ones lie beside it "
            "in `synthetic/train/`"
        )


def _masks(request: Request, images: Sequence[Placed], category: str) -> Iterator[str]:
    below = {"anomalib": "abnormal/", "mvtec": f"{category}/test/"}.get(request.format)
    if below is None:
        return
    without = unmasked([each for each in images if "normal" not in each.item.role], below)
    if without and request.format == "anomalib":
        yield (
            f"{without:,} abnormal images have no mask, and anomalib pairs masks with images one "
            "by one: do not name `mask_dir`"
        )
    elif without:
        yield (
            f"{without:,} defective test images have no mask, and readers of MVTec AD such as "
            "anomalib's need one for each: load them as shown below"
        )


def _endings(request: Request, images: Sequence[Placed], category: str) -> Iterator[str]:
    other = without_png(images, category) if request.format == "mvtec" else 0
    if other:
        yield (
            f"{other:,} files are not PNG, which is all that anomalib's reader of MVTec AD looks "
            "at: load them as shown below, since files are never converted here"
        )
