"""How the usual readers load a bundle, as lines to copy."""

from __future__ import annotations

from collections.abc import Sequence

from eap_core.export.layout import Placed
from eap_core.export.request import Request


def loading(request: Request, images: Sequence[Placed], category: str) -> list[str]:
    """A heading and an example for the card."""
    if request.format == "csv":
        lines = ["import pandas as pd", 'table = pd.read_csv("candidates.csv", dtype={"id": str})']
    elif request.format == "parquet":
        lines = ["import pandas as pd", 'table = pd.read_parquet("candidates.parquet")']
    elif request.format == "anomalib":
        lines = _anomalib(images)
    elif request.format == "mvtec":
        lines = [
            "from anomalib.data import MVTecAD",
            f'data = MVTecAD(root=".", category="{category}")',
        ]
    else:
        lines = [
            "from datasets import load_dataset",
            'data = load_dataset("imagefolder", data_dir=".")',
        ]
    return ["## Load it", "```python\n" + "\n".join(lines) + "\n```"]


def unmasked(images: Sequence[Placed], below: str) -> int:
    """How many images below a folder have no mask."""
    return sum(each.image.path.startswith(below) and each.mask is None for each in images)


def _anomalib(images: Sequence[Placed]) -> list[str]:
    top = {each.image.path.partition("/")[0] for each in images}
    lines = ["from anomalib.data import Folder", "data = Folder(", '    name="curated",']
    lines += ['    root=".",', '    normal_dir="normal",']
    if "normal_test" in top:
        lines.append('    normal_test_dir="normal_test",')
    if "abnormal" in top:
        lines.append('    abnormal_dir="abnormal",')
        if not unmasked(images, "abnormal/"):
            lines.append('    mask_dir="mask",')
    return [*lines, ")"]
