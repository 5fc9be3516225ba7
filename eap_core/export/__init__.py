"""From decisions to files: the curated set as a table or an image tree, with its papers.

Here: the forms of a bundle: where images lie in each, how it is read, and what it is called.
docs/export.md tells the rules of those who read the trees. Nothing here needs a library, so that
the command line can offer the forms at once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from eap_core.export.files import BundleMember
    from eap_core.store.items import Item
    from eap_core.store.projects import Kind


Only = Literal["all", "accepted"]


# Where images lie.

Split = Literal["train", "test"]


@dataclass(frozen=True)
class LayoutFolders:
    """The folder of an image, that of its mask, and the part of the data it belongs to."""

    folder: str
    split: Split
    masks: str | None = None
    suffix: str = ""  # of a mask's name
    counted_with: str | None = None  # images with the same are numbered together


@dataclass(frozen=True)
class PlacedImage:
    """An image with its place; ``mask`` is a path in the bundle, too."""

    item: Item
    split: Split
    image: BundleMember
    mask: BundleMember | None

    @property
    def members(self) -> list[BundleMember]:
        return [self.image, self.mask] if self.mask else [self.image]


@dataclass(frozen=True)
class IntoTest:
    """Which anomalies go into the test data that usually do not."""

    synthetic: bool = False
    real: bool = False


# The folders of an item, given the name of its kind, the category and what goes into the test data.
Placement = Callable[["Item", str, str, IntoTest], LayoutFolders | None]


def place_anomalib(item: Item, kind: str, _: str, into_test: IntoTest) -> LayoutFolders | None:
    """Folder reads what it is told to: normal_dir for training, abnormal_dir always for tests."""
    if item.role == "normal":
        return LayoutFolders("normal", "train")
    if item.role == "test_normal":
        return LayoutFolders("normal_test", "test")
    if item.role == "candidate" and not into_test.synthetic:
        return LayoutFolders(f"synthetic/{kind}", "train", f"synthetic_masks/{kind}")
    if item.role == "anomaly" and not into_test.real:
        return None
    kind = f"synthetic_{kind}" if item.role == "candidate" else kind
    return LayoutFolders(f"abnormal/{kind}", "test", f"mask/{kind}")


def place_mvtec(item: Item, kind: str, category: str, into_test: IntoTest) -> LayoutFolders | None:
    """The category's folder holds nothing else, or readers of MVTec AD refuse it as a whole."""
    if item.role == "normal":
        return LayoutFolders(f"{category}/train/good", "train")
    if item.role == "test_normal":
        return LayoutFolders(f"{category}/test/good", "test")
    if item.role == "candidate" and not into_test.synthetic:
        return LayoutFolders(f"synthetic/train/{kind}", "train", f"synthetic_masks/{kind}", "_mask")
    if item.role == "anomaly" and not into_test.real:
        return None
    kind = f"synthetic_{kind}" if item.role == "candidate" else kind
    return LayoutFolders(
        f"{category}/test/{kind}", "test", f"{category}/ground_truth/{kind}", "_mask"
    )


def place_imagefolder(item: Item, _kind: str, _category: str, into_test: IntoTest) -> LayoutFolders:
    """Flat: a folder named after a kind could be taken for another part of the data."""
    moved = {"candidate": into_test.synthetic, "anomaly": into_test.real}
    held_out = item.role in ("test_normal", "test_anomaly")
    split: Split = "test" if moved.get(item.role, held_out) else "train"
    return LayoutFolders(split, split, "masks", counted_with="all")


# How the usual readers load a bundle, as lines to copy.


def load_csv(_: Sequence[PlacedImage], _category: str, table: str) -> list[str]:
    given = f'{json.dumps(table)}, dtype={{"id": str}}'
    return ["import pandas as pd", f"table = pd.read_csv({given})"]


def load_parquet(_: Sequence[PlacedImage], _category: str, table: str) -> list[str]:
    return ["import pandas as pd", f"table = pd.read_parquet({json.dumps(table)})"]


def load_imagefolder(_: Sequence[PlacedImage], _category: str, _table: str) -> list[str]:
    return ["from datasets import load_dataset", 'data = load_dataset("imagefolder", data_dir=".")']


def count_unmasked(images: Sequence[PlacedImage], below: str) -> int:
    """How many images below a folder have no mask."""
    return sum(each.image.path.startswith(below) and each.mask is None for each in images)


def count_without_png(images: Sequence[PlacedImage], category: str) -> int:
    """How many files of the category an ordinary reader of MVTec AD would not look at."""
    return sum(
        member.path.startswith(f"{category}/") and not member.path.endswith(".png")
        for each in images
        for member in each.members
    )


def load_anomalib(images: Sequence[PlacedImage], _category: str, _table: str) -> list[str]:
    top = {each.image.path.partition("/")[0] for each in images}
    named = {"root": ".", "normal_dir": "normal"}
    if "normal_test" in top:
        named["normal_test_dir"] = "normal_test"
    if "abnormal" in top:
        named["abnormal_dir"] = "abnormal"
        if not count_unmasked(images, "abnormal/"):
            named["mask_dir"] = "mask"
    return _folder(named)


def load_mvtec(images: Sequence[PlacedImage], category: str, _table: str) -> list[str]:
    """By the usual reader, or, where that would refuse the files, by one that is told the way."""
    test = f"{category}/test/"
    kinds = {each.image.path.removeprefix(test).partition("/")[0]
             for each in images if each.image.path.startswith(test)}  # fmt: skip
    defects = sorted(kinds - {"good"})
    bare = sum(count_unmasked(images, f"{test}{kind}/") for kind in defects)
    if not bare and not count_without_png(images, category):
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


# What somebody who loads a bundle would otherwise find out by an error: sentences without their
# full stop, all of them of plain words and numbers.


def warn_of_moved(into_test: IntoTest, roles: Counter[str], left_out: int) -> Iterator[str]:
    """What holds for every form: which anomalies are where a test would flatter."""
    if left_out:
        yield (
            f"{left_out:,} real anomalies, which the scores learnt from, are left out: this "
            "layout keeps anomalies among the test data only, and a test on them would flatter"
        )
    if into_test.real and roles["anomaly"]:
        yield (
            f"{roles['anomaly']:,} real anomalies, which the scores learnt from, are among the "
            "test data, as was asked: a test on them flatters"
        )
    if into_test.synthetic:
        yield (
            f"{roles['candidate']:,} synthetic anomalies are among the test data, as was asked: a "
            "test on them says nothing about real defects"
        )


def warn_anomalib(images: Sequence[PlacedImage], _: str, into_test: IntoTest) -> Iterator[str]:
    if not into_test.synthetic:
        bare = count_unmasked(images, "synthetic/")
        yield (
            "anomalib's Folder reads every abnormal image as test data, so the synthetic ones lie "
            'apart in `synthetic/`: name it as `abnormal_dir="synthetic"` to load them'
            + ("" if bare else ', with `mask_dir="synthetic_masks"`')
        )
    without = _count_unmasked_anomalies(images, "abnormal/")
    if without:
        yield (
            f"{without:,} abnormal images have no mask, and anomalib pairs masks with images one "
            "by one: do not name `mask_dir`"
        )


def warn_mvtec(images: Sequence[PlacedImage], category: str, into_test: IntoTest) -> Iterator[str]:
    if not into_test.synthetic:
        yield (
            "an MVTec tree has only good images in training, so the synthetic ones lie beside it "
            "in `synthetic/train/`"
        )
    without = _count_unmasked_anomalies(images, f"{category}/test/")
    if without:
        yield (
            f"{without:,} defective test images have no mask, and readers of MVTec AD such as "
            "anomalib's need one for each: load them as shown below"
        )
    other = count_without_png(images, category)
    if other:
        yield (
            f"{other:,} files are not PNG, which is all that anomalib's reader of MVTec AD looks "
            "at: load them as shown below, since files are never converted here"
        )


def _count_unmasked_anomalies(images: Sequence[PlacedImage], below: str) -> int:
    return count_unmasked([each for each in images if "normal" not in each.item.role], below)


# Lines of Python that read the bundle, given its images, the category and the table's name.
Loading = Callable[[Sequence[PlacedImage], str, str], list[str]]
Warnings = Callable[[Sequence[PlacedImage], str, IntoTest], Iterator[str]]


def _warn_of_nothing(_: Sequence[PlacedImage], _category: str, _moved: IntoTest) -> Iterator[str]:
    yield from ()


@dataclass(frozen=True)
class ExportForm:
    """What one form of a bundle is called, what it is made of, and how it is read.

    title, summary : its name on screen, and one line on it.
    kinds : the kinds of projects that it can be made of.
    load : lines that read it, for the card.
    place : where its images lie; without, it is a table alone.
    warn : what the card must say of such a
    table : how the table of candidates is written.
    metadata : whether each part of its images has a table of them, as Hugging Face reads it.
    real_in_training : whether the anomalies that the scores learnt from are in its training data.
    """

    title: str
    summary: str
    kinds: tuple[Kind, ...]
    load: Loading
    place: Placement | None = None
    warn: Warnings = _warn_of_nothing
    table: Literal["csv", "parquet"] = "csv"
    metadata: bool = False
    real_in_training: bool = False

    @property
    def has_images(self) -> bool:
        return self.place is not None


FORMS: Final[Mapping[str, ExportForm]] = MappingProxyType(
    {
        "csv": ExportForm(
            "Spreadsheet (CSV)",
            "One row per candidate, for Excel, LibreOffice or pandas.",
            ("images", "table"),
            load_csv,
        ),
        "parquet": ExportForm(
            "Parquet",
            "The same table for programs: exact types, small.",
            ("images", "table"),
            load_parquet,
            table="parquet",
        ),
        "anomalib": ExportForm(
            "anomalib folder",
            "Folders that anomalib's Folder reads: normal, abnormal, mask, synthetic.",
            ("images",),
            load_anomalib,
            place_anomalib,
            warn_anomalib,
        ),
        "mvtec": ExportForm(
            "MVTec tree",
            "train/good, test, ground_truth as in MVTec AD; synthetic images beside it.",
            ("images",),
            load_mvtec,
            place_mvtec,
            warn_mvtec,
        ),
        "imagefolder": ExportForm(
            "Hugging Face image folder",
            "train and test with a metadata.csv, for load_dataset.",
            ("images",),
            load_imagefolder,
            place_imagefolder,
            metadata=True,
            real_in_training=True,
        ),
    }
)

if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[tuple(FORMS)]  # which the command line offers as a choice


def forms_of(kind: Kind) -> list[str]:
    """The forms that a project of this kind can be exported in."""
    return [name for name, form in FORMS.items() if kind in form.kinds]


def describe_loading(
    form: ExportForm, images: Sequence[PlacedImage], category: str, table: str
) -> list[str]:
    """A heading and an example for the card."""
    lines = form.load(images, category, table)
    return ["## Load it", "```python\n" + "\n".join(lines) + "\n```"]


def notes_of(
    form: ExportForm,
    into_test: IntoTest,
    images: Sequence[PlacedImage],
    left_out: Sequence[Item],
    category: str,
) -> list[str]:
    """What the card must say of where the images lie."""
    if not images:
        return []
    roles: Counter[str] = Counter(each.item.role for each in images)
    return [
        *warn_of_moved(into_test, roles, len(left_out)),
        *form.warn(images, category, into_test),
    ]
