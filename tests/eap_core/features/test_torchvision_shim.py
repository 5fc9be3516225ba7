"""torchvision is importable beside any torch, and nothing is done where it is so by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_REPOSITORY = Path(__file__).parents[3]
_IMPORT = """
from eap_core.features.clip_hub import import_torchvision
import_torchvision()
"""


def done(code: str, path: Path = _REPOSITORY) -> subprocess.CompletedProcess[str]:
    """In a process of its own, for an import cannot be taken back."""
    return subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            f"import sys\nsys.path.insert(0, {str(path)!r})\n{code}",
        ],
        capture_output=True,
        text=True,
        cwd=_REPOSITORY,
        check=False,
    )


def test_open_clip_can_be_imported_and_prepares_pictures() -> None:
    found = done(
        _IMPORT
        + """
import open_clip
from PIL import Image
from open_clip.transform import PreprocessCfg, image_transform_v2
prepare = image_transform_v2(PreprocessCfg(size=8), is_train=False)
print(tuple(prepare(Image.new("RGB", (20, 10))).shape))
"""
    )
    assert found.stdout.strip() == "(3, 8, 8)", found.stderr


def test_a_pair_that_fits_is_left_alone() -> None:
    """The operators are there, as a torchvision that fits its torch would bring them."""
    found = done(
        """
from torch.library import Library
own = Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    own.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""
        + _IMPORT
        + "from eap_core.features import clip_hub\n"
        + "print(clip_hub._kept_declarations, 'torchvision' in sys.modules)"
    )
    assert found.stdout.strip() == "[] True", found.stderr


def test_any_other_failure_is_not_hidden(tmp_path: Path) -> None:
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('operator torchvision::roi_align')")
    found = done("sys.path.insert(0, " + repr(str(tmp_path)) + ")" + _IMPORT + "print('imported')")
    assert found.stdout == ""
    assert "RuntimeError: operator torchvision::roi_align" in found.stderr
