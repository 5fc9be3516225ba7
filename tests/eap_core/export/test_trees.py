"""Image trees, loaded by the rules of those who read them."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pandas as pd
import pytest
from PIL import Image

from eap_core.export import FORMS, forms_of
from eap_core.export.bundle import make_bundle
from eap_core.export.files import kind_folders, slug
from eap_core.export.request import ExportRequest
from eap_core.images.layout import recognise
from eap_core.store import projects
from eap_core.store.items import NewUpload, add_upload, items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.export.conftest import decide, image_items, picture, scored
from tests.eap_core.export.loaders import MisMatchError, anomalib_folder, image_folder, mvtec

TREES = tuple(name for name, form in FORMS.items() if form.has_images)
CATEGORY = "bottle_line_3"


def unpacked(store: Store, project: Project, request: ExportRequest, folder: Path) -> Path:
    with ZipFile(make_bundle(store, project.id, request).path) as archive:
        archive.extractall(folder)
    return folder


def sums(paths: list[Path]) -> Counter[str]:
    return Counter(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


def of_role(store: Store, project: Project, *roles: str) -> Counter[str]:
    return Counter(i.sha256 for i in items_of(store, project.id) if i.role in roles and i.sha256)


@pytest.fixture
def png(store: Store) -> Project:
    """All PNG, as MVTec AD is; every candidate is accepted."""
    made = projects.create(store, "Bottle *line* 3", "images")
    new = [
        replace(i, sha256=store.blobs.put(picture(5000 + i.position))) for i in image_items(store)
    ]
    add_upload(store, made.id, NewUpload("all.zip", "images"), new)
    scored(store, made.id)
    decide(store, made.id, {i.name: "accept" for i in new if i.role == "candidate"})
    return made


@pytest.mark.parametrize("form", TREES)
@pytest.mark.parametrize("in_test", [False, True])
def test_originals_are_unchanged_under_safe_unique_names(
    store: Store, images: Project, tmp_path: Path, form: str, in_test: bool
) -> None:
    request = ExportRequest(form, 50, "all", in_test, in_test)
    root = unpacked(store, images, request, tmp_path / "out")
    paths = [p for p in root.rglob("*") if p.suffix in (".png", ".jpg")]
    relative = [str(p.relative_to(root)) for p in paths]
    assert len({name.casefold() for name in relative}) == len(paths)
    for name in relative:
        assert re.fullmatch(r"([a-z0-9_]+/)+\d{3,}_[a-z0-9_]+\.(png|jpg)", name)
    for path in paths:
        with Image.open(path) as image:
            assert {"PNG": ".png", "JPEG": ".jpg"}[str(image.format)] == path.suffix
    table = pd.read_csv(root / "candidates.csv", keep_default_na=False)
    listed = table[table["decision"] == "accepted"]
    assert len(listed) == 7
    for file, sha256 in zip(listed["file"], listed["sha256"], strict=True):
        assert hashlib.sha256((root / file).read_bytes()).hexdigest() == sha256
    assert set(table.loc[table["decision"] != "accepted", "file"]) == {""}
    assert set(table["split"]) == {"test" if in_test else "train"}


def test_anomalib_loads_normals_tests_and_masks(
    store: Store, images: Project, tmp_path: Path
) -> None:
    root = unpacked(store, images, ExportRequest("anomalib", 50), tmp_path / "out")
    found = anomalib_folder(root, "normal", "abnormal", "normal_test", "mask")
    train = [each.path for each in found if each.split == "train"]
    assert sums(train) == of_role(store, images, "normal")
    bad = [each for each in found if each.label == 1]
    assert sums([each.path for each in bad]) == of_role(store, images, "test_anomaly")
    masks = {i.sha256: i.mask for i in items_of(store, images.id)}
    for each in bad:
        assert each.mask
        (own,) = sums([each.path])
        assert sums([each.mask]) == Counter([masks[own]])
    good = [each.path for each in found if (each.label, each.split) == (0, "test")]
    assert sums(good) == of_role(store, images, "test_normal")
    made = anomalib_folder(root, "normal", "synthetic", None, "synthetic_masks")
    assert len([each for each in made if each.mask]) == 7


def test_anomalib_with_synthetic_and_real_ones_in_the_test_as_asked(
    store: Store, images: Project, tmp_path: Path
) -> None:
    root = unpacked(
        store, images, ExportRequest("anomalib", 50, "all", True, True), tmp_path / "out"
    )
    assert not (root / "synthetic").exists()
    found = anomalib_folder(root, "normal", "abnormal", "normal_test", "mask")
    assert len([each for each in found if each.label == 1]) == 11 + 3 + 7
    card = (root / "README.md").read_text()
    assert "7 synthetic anomalies are among the test data, as was asked" in card
    assert "3 real anomalies, which the scores learnt from, are among the test data" in card


def test_anomalib_without_all_masks_does_not_name_them(store: Store, tmp_path: Path) -> None:
    made = projects.create(store, "some", "images")
    new = image_items(store)
    new = [replace(i, mask=None) if i.role == "test_anomaly" and i.position % 3 else i for i in new]
    add_upload(store, made.id, NewUpload("all.zip", "images"), new)
    scored(store, made.id)
    root = unpacked(store, made, ExportRequest("anomalib", 50), tmp_path / "out")
    with pytest.raises(MisMatchError):
        anomalib_folder(root, "normal", "abnormal", None, "mask")
    card = (root / "README.md").read_text()
    assert "abnormal images have no mask" in card
    assert 'mask_dir="mask"' not in card
    assert anomalib_folder(root, "normal", "abnormal")


def test_mvtec_loads_as_mvtec_and_synthetic_ones_lie_beside(
    store: Store, png: Project, tmp_path: Path
) -> None:
    root = unpacked(store, png, ExportRequest("mvtec"), tmp_path / "out")
    found = mvtec(root, CATEGORY)
    train = [each.path for each in found if each.split == "train"]
    assert sums(train) == of_role(store, png, "normal")
    bad = [each for each in found if each.label]
    assert sums([each.path for each in bad]) == of_role(store, png, "test_anomaly")
    masks = {i.sha256: i.mask for i in items_of(store, png.id)}
    for each in bad:
        assert each.mask
        (own,) = sums([each.path])
        assert sums([each.mask]) == Counter([masks[own]])
        assert each.mask.stem == f"{each.path.stem}_mask"
    made = list((root / "synthetic" / "train").rglob("*.png"))
    assert sums(made) == of_role(store, png, "candidate")
    kinds = {path.name for path in (root / "synthetic" / "train").iterdir()}
    assert kinds == {"scratch", "kind_good", "defect"}
    card = (root / "README.md").read_text()
    assert f'MVTecAD(root=".", category="{CATEGORY}")' in card
    assert "3 real anomalies, which the scores learnt from, are left out" in card


def test_mvtec_with_synthetic_ones_in_the_test(store: Store, png: Project, tmp_path: Path) -> None:
    request = ExportRequest("mvtec", synthetic_in_test=True, real_in_test=True)
    root = unpacked(store, png, request, tmp_path / "out")
    found = mvtec(root, CATEGORY)
    assert len([each for each in found if each.label]) == 11 + 3 + 14
    kinds = {each.path.parent.name for each in found}
    assert {"synthetic_scratch", "synthetic_kind_good", "synthetic_defect"} <= kinds


def test_an_mvtec_tree_that_its_reader_would_refuse_says_so_and_how_to_load_it(
    store: Store, images: Project, tmp_path: Path
) -> None:
    root = unpacked(store, images, ExportRequest("mvtec", 50), tmp_path / "out")
    card = (root / "README.md").read_text()
    assert "1 files are not PNG" in card
    lines = card.split("data = Folder(")[1].split("\n)")[0].splitlines()[2:]
    given = dict(line.strip().rstrip(",").split("=", 1) for line in lines)
    arguments = {name: json.loads(value) for name, value in given.items()}
    found = anomalib_folder(root / arguments.pop("root"), **arguments)
    assert len([each for each in found if each.split == "train"]) == 12
    assert len([each for each in found if each.mask]) == 11


def test_the_image_folder_loads_with_the_same_columns_in_both_parts(
    store: Store, images: Project, tmp_path: Path
) -> None:
    root = unpacked(store, images, ExportRequest("imagefolder", 50), tmp_path / "out")
    found = image_folder(root)
    assert set(found) == {"train", "test"}
    train, test = found["train"], found["test"]
    assert Counter(train["role"]) == {"normal": 12, "anomaly": 3, "candidate": 7}
    assert Counter(test["role"]) == {"test_normal": 4, "test_anomaly": 11}
    assert (train["synthetic"] == (train["role"] == "candidate")).all()
    assert not test["synthetic"].any()
    assert {"label", "defect_type", "generator", "prompt", "eap", "mask"} <= set(train.columns)
    made = train[train["synthetic"]]
    assert made["eap"].notna().all()
    assert (made["label"] == "anomaly").all()
    masks = {i.sha256: i.mask for i in items_of(store, images.id)}
    for sha256, mask in zip(made["sha256"], made["mask"], strict=True):
        assert sums([root / "train" / mask]) == Counter([masks[sha256]])


def test_the_image_folder_keeps_odd_metadata_from_breaking_it(store: Store, tmp_path: Path) -> None:
    made = projects.create(store, "odd", "images")
    odd = {"defect_type": "test", "source_file_name": "a.png", "image": "7", "code": "1"}
    new = [
        replace(i, metadata={**i.metadata, **odd}) if i.role == "candidate" else i
        for i in image_items(store)
    ]
    new = [replace(i, metadata={**i.metadata, "code": "x"}) if "test" in i.role else i for i in new]
    add_upload(store, made.id, NewUpload("all.zip", "images"), new)
    scored(store, made.id)
    found = image_folder(unpacked(store, made, ExportRequest("imagefolder", 50), tmp_path / "out"))
    assert len(found["train"]) == 12 + 3 + 7
    assert "source_file_name (given)" in found["train"]
    # "1" and "none" are text; "x" alone too: the column stays where both parts are read alike
    assert ("code" in found["train"]) == ("code" in found["test"])


def test_the_image_folder_without_test_data(store: Store, tmp_path: Path) -> None:
    made = projects.create(store, "train only", "images")
    new = [i for i in image_items(store) if "test" not in i.role]
    add_upload(store, made.id, NewUpload("all.zip", "images"), new)
    scored(store, made.id)
    found = image_folder(unpacked(store, made, ExportRequest("imagefolder", 50), tmp_path / "out"))
    assert set(found) == {"train"}


@pytest.mark.parametrize("form", TREES[:2])
def test_nothing_generated_passes_for_real_when_a_tree_is_read_again(
    store: Store, png: Project, tmp_path: Path, form: str
) -> None:
    root = unpacked(store, png, ExportRequest(form), tmp_path / "out")
    names = [str(p.relative_to(root)) for p in root.rglob("*") if p.suffix == ".png"]
    layout = recognise(names)
    made = [name for name in names if name.startswith("synthetic/")]
    assert {layout.places[name].role for name in made} == {"candidate"}
    others = {layout.places[name].role for name in names if not name.startswith("synthetic")}
    assert "candidate" not in others
    assert "normal" in others


def test_slugs_are_safe_and_kinds_keep_apart() -> None:
    assert slug("../ÄÖ x?.png", "image") == "ao_x_png"
    assert slug("划痕", "defect") == "defect"
    assert len(slug("a" * 500, "")) == 60
    found = kind_folders(["Scratch", "scratch", "SCRATCH!", "划", "痕", "good", "synthetic_a", ""])
    assert len(set(found.values())) == len(found)
    assert found["good"] == "kind_good"
    assert not any(PurePosixPath(name).name.startswith("synthetic") for name in found.values())


def test_every_form_has_words_and_every_tree_its_rules() -> None:
    assert len({form.title for form in FORMS.values()}) == len(FORMS)
    guide = (Path(__file__).parents[3] / "docs" / "export.md").read_text(encoding="utf-8")
    for name, form in FORMS.items():
        assert form.summary.endswith(".")
        assert "images" in form.kinds
        assert form.has_images != (name in forms_of("table"))
        assert not form.has_images or f"### {form.title}\n" in guide
