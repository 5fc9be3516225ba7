"""How the usual readers load a bundle, as lines to copy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from eap_core.export.layout import Placed
from eap_core.export.request import Request


def loading(request: Request, images: Sequence[Placed], category: str, table: str) -> list[str]:
    """A heading and an example for the card."""
    if request.format == "csv":
        given = f'{json.dumps(table)}, dtype={{"id": str}}'
        lines = ["import pandas as pd", f"table = pd.read_csv({given})"]
    elif request.format == "parquet":
        lines = ["import pandas as pd", f"table = pd.read_parquet({json.dumps(table)})"]
    elif request.format == "anomalib":
        lines = _anomalib(images)
    elif request.format == "mvtec":
        lines = _mvtec(images, category)
    else:
        lines = [
            "from datasets import load_dataset",
            'data = load_dataset("imagefolder", data_dir=".")',
        ]
    return ["## Load it", "```python\n" + "\n".join(lines) + "\n```"]


def unmasked(images: Sequence[Placed], below: str) -> int:
    """How many images below a folder have no mask."""
    return sum(each.image.path.startswith(below) and each.mask is None for each in images)


def without_png(images: Sequence[Placed], category: str) -> int:
    """How many files of the category an ordinary reader of MVTec AD would not look at."""
    return sum(
        member.path.startswith(f"{category}/") and not member.path.endswith(".png")
        for each in images
        for member in each.members
    )


def _anomalib(images: Sequence[Placed]) -> list[str]:
    top = {each.image.path.partition("/")[0] for each in images}
    named = {"root": ".", "normal_dir": "normal"}
    if "normal_test" in top:
        named["normal_test_dir"] = "normal_test"
    if "abnormal" in top:
        named["abnormal_dir"] = "abnormal"
        if not unmasked(images, "abnormal/"):
            named["mask_dir"] = "mask"
    return _folder(named)


def _mvtec(images: Sequence[Placed], category: str) -> list[str]:
    """By the usual reader, or, where that would refuse the files, by one that is told the way."""
    test = f"{category}/test/"
    kinds = {each.image.path.removeprefix(test).partition("/")[0]
             for each in images if each.image.path.startswith(test)}  # fmt: skip
    defects = sorted(kinds - {"good"})
    bare = sum(unmasked(images, f"{test}{kind}/") for kind in defects)
    if not bare and not without_png(images, category):
        return ["from anomalib.data import MVTecAD",
                f'data = MVTecAD(root=".", category="{category}")']  # fmt: skip
    named: dict[str, object] = {"root": category, "normal_dir": "train/good"}
    if "good" in kinds:
        named["normal_test_dir"] = "test/good"
    if defects:
        named["abnormal_dir"] = [f"test/{kind}" for kind in defects]
        if not bare:
            named["mask_dir"] = [f"ground_truth/{kind}" for kind in defects]
    return _folder(named)


def _folder(named: Mapping[str, object]) -> list[str]:
    given = [f"    {name}={json.dumps(value)}," for name, value in named.items()]
    return [
        "from anomalib.data import Folder",
        "data = Folder(",
        '    name="curated",',
        *given,
        ")",
    ]
