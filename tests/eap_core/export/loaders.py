"""How the usual readers load a folder, written after their documentation (docs/export.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# torchvision.datasets.folder.IMG_EXTENSIONS, which anomalib uses
_ENDINGS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
_KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_SEPARATORS = r"[ ._\-0-9]"


@dataclass(frozen=True)
class Sample:
    path: Path
    label: int
    split: str
    mask: Path | None = None


class MisMatchError(ValueError):
    """Images and masks do not go together."""


def _images(folder: Path) -> list[Path]:
    found = [p for p in folder.glob("**/*") if p.suffix.lower() in _ENDINGS and p.is_file()]
    if not found:
        raise RuntimeError(f"found 0 images in {folder}")
    return found


def anomalib_folder(
    root: Path,
    normal_dir: str,
    abnormal_dir: str | list[str] | None = None,
    normal_test_dir: str | None = None,
    mask_dir: str | list[str] | None = None,
) -> list[Sample]:
    """Normal images train, abnormal ones test; masks pair with the sorted abnormal images."""
    normal = sorted(_images(root / normal_dir))
    samples = [Sample(path, 0, "train") for path in normal]
    if normal_test_dir:
        samples += [Sample(path, 0, "test") for path in sorted(_images(root / normal_test_dir))]
    if abnormal_dir:
        abnormal = sorted(p for each in _several(abnormal_dir) for p in _images(root / each))
        masks: list[Path | None] = [None] * len(abnormal)
        if mask_dir:
            given = sorted(p for each in _several(mask_dir) for p in _images(root / each))
            masks[: len(given)] = given[: len(abnormal)]
        for path, mask in zip(abnormal, masks, strict=True):
            if mask and path.stem not in mask.stem:
                raise MisMatchError(f"{path} and {mask}")
            samples.append(Sample(path, 1, "test", mask))
    return samples


def _several(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def mvtec(root: Path, category: str) -> list[Sample]:
    """Every PNG below the category is split/label/name; each defective test image has a mask."""
    top = root / category
    found = [p for p in top.glob("**/*") if p.suffix in (".png", ".PNG")]
    if not found:
        raise RuntimeError("found 0 images")
    parts = [(p.parts[-3], p.parts[-2], p) for p in found]
    for split, label, path in parts:
        if path != top / split / label / path.name:
            raise MisMatchError(f"{path} does not lie in split/label")
    masks = sorted(p for split, _, p in parts if split == "ground_truth")
    samples = sorted((p, split, label) for split, label, p in parts if split != "ground_truth")
    defective = [p for p, split, label in samples if split == "test" and label != "good"]
    if len(masks) != len(defective):
        raise ValueError(f"{len(masks)} masks for {len(defective)} images")
    mask_of = dict(zip(defective, masks, strict=True))
    for path, split, label in samples:
        if label != "good" and (path not in mask_of or path.stem not in mask_of[path].stem):
            raise MisMatchError(f"{path} in {split}")
    return [
        Sample(path, int(label != "good"), split, mask_of.get(path))
        for path, split, label in samples
    ]


def image_folder(root: Path) -> dict[str, pd.DataFrame]:
    """The parts by the names of folders, with the metadata beside the images.

    Also what older versions refuse is refused: an image without a row of metadata.
    """
    files = {
        split: [p for p in root.glob("**/*") if p.is_file() and _in_split(p.relative_to(root), ks)]
        for split, ks in _KEYWORDS.items()
    }
    both = set(files["train"]) & set(files["test"])
    if both:
        raise MisMatchError(f"in two parts: {sorted(both)[:3]}")
    found = {split: _with_metadata(own) for split, own in files.items() if own}
    types = {split: dict(frame.dtypes) for split, frame in found.items()}
    if any(each != types["train"] for each in types.values()):
        raise ValueError("metadata files have different features")
    return found


def _in_split(path: Path, keywords: tuple[str, ...]) -> bool:
    pattern = re.compile(rf"(^|.*{_SEPARATORS})({'|'.join(keywords)})($|{_SEPARATORS}.*)")
    return any(pattern.fullmatch(folder) for folder in path.parts[:-1])


def _with_metadata(files: list[Path]) -> pd.DataFrame:
    (metadata,) = [path for path in files if path.name == "metadata.csv"]
    frame = pd.read_csv(metadata)
    images = {path for path in files if path.suffix.lower() in _ENDINGS}
    named = {metadata.parent / str(name) for name in frame["file_name"]}
    if images != named:
        raise MisMatchError(f"{len(images ^ named)} images or rows without the other")
    further = [c for c in frame if str(c).endswith(("_file_name", "_file_names"))]
    if further:
        raise MisMatchError(f"{further} would be opened as images")
    if len(named) != len(frame):
        raise MisMatchError("two rows name one image")
    return frame
