"""Folder layouts: the usual trees, words in any case, masks, and tables of metadata."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.base.table import ROLES
from eap_core.images.layout import Layout, layout_of, recognise, with_metadata
from eap_core.images.sources import ImageMember, gather
from tests.conftest import SHARED


def roles(layout: Layout) -> dict[str, str | None]:
    return {name: place.role for name, place in layout.places.items() if not place.mask}


def of_kind(layout: Layout, name: str, key: str) -> str | None:
    return layout.places[name].metadata.get(key)


@pytest.mark.parametrize("above", ["", "bottle/", "data/mvtec/bottle/"])
def test_the_tree_of_mvtec(above: str) -> None:
    names = ["train/good/000.png", "test/good/000.png", "test/broken/000.png",
             "test/broken/001.png", "test/cut/000.png", "ground_truth/broken/000_mask.png",
             "ground_truth/broken/001_mask.png", "ground_truth/cut/000_mask.png"]  # fmt: skip
    layout = recognise([above + name for name in names])
    assert layout.kind == "mvtec"
    assert list(roles(layout).values()) == ["normal", "test_normal"] + 3 * ["anomaly"]
    assert of_kind(layout, f"{above}test/broken/000.png", "defect_type") == "broken"
    assert dict(layout.masks) == {
        f"{above}test/{kind}/{number}.png": f"{above}ground_truth/{kind}/{number}_mask.png"
        for kind, number in (("broken", "000"), ("broken", "001"), ("cut", "000"))
    }
    [note] = layout.notes
    assert "test_anomaly to hold them out" in note


def test_a_defect_may_be_called_defective() -> None:
    layout = recognise(["test/defective/1.png", "ground_truth/defective/1_mask.png", "test/2.png"])
    assert of_kind(layout, "test/defective/1.png", "defect_type") == "defective"
    assert dict(layout.masks) == {"test/defective/1.png": "ground_truth/defective/1_mask.png"}
    assert layout.places["test/2.png"].role is None


@pytest.mark.parametrize(
    ("normal", "anomaly", "mask"),
    [("normal", "abnormal", "mask"), ("good", "bad", "ground_truth"), ("OK", "NG", "Masks"),
     ("Normals", "Defects", "GT"), ("defect-free", "Anomalies", "ground truth")],
)  # fmt: skip
def test_the_folders_of_anomalib(normal: str, anomaly: str, mask: str) -> None:
    names = [f"{normal}/1.jpg", f"{anomaly}/1.jpg", f"{anomaly}/hole/2.jpg", f"{mask}/1.png",
             f"{mask}/hole/2_mask.png"]  # fmt: skip
    layout = recognise(names)
    assert layout.kind == "anomalib folder"
    assert list(roles(layout).values()) == ["normal", "anomaly", "anomaly"]
    assert of_kind(layout, names[2], "defect_type") == "hole"
    assert dict(layout.masks) == {names[1]: names[3], names[2]: names[4]}


@pytest.mark.parametrize("word", ["candidates", "Synthetic", "generated", "FAKE"])
def test_generated_images_are_candidates_wherever_they_lie(word: str) -> None:
    names = [f"{word}/1.png", f"{word}/gan/2.png", f"{word}/gan/hole/3.png",
             f"anomaly/{word}/gan/4.png", f"train/{word}/5.png", f"x/{word}/anomaly/6.png",
             f"masks/{word}/gan/2.png"]  # fmt: skip
    layout = recognise(names)
    assert set(roles(layout).values()) == {"candidate"}
    assert dict(layout.places[names[2]].metadata) == {"generator": "gan", "defect_type": "hole"}
    assert of_kind(layout, names[3], "generator") == "gan"
    assert "generator" not in layout.places[names[5]].metadata
    assert dict(layout.masks) == {names[1]: names[6]}


def test_roles_held_out_for_testing() -> None:
    layout = recognise(["test_normal/1.png", "abnormal_test/hole/2.png", "normal/3.png"])
    assert list(roles(layout).values()) == ["test_normal", "test_anomaly", "normal"]
    assert of_kind(layout, "abnormal_test/hole/2.png", "defect_type") == "hole"


def test_without_telling_folders_it_is_flat() -> None:
    layout = recognise(["1.png", "some/2.png", "normality/3.png", "good.png"])
    assert layout.kind == "flat"
    assert set(roles(layout).values()) == {None}
    assert layout.notes == ()


def test_masks_beside_or_in_a_folder_of_their_own() -> None:
    names = ["a.png", "a_mask.png", "b.png", "c_mask.png", "images/d.jpg", "masks/d.png",
             "x/images/e.jpg", "x/masks/e_mask.png"]  # fmt: skip
    layout = recognise(names)
    assert dict(layout.masks) == {
        "a.png": "a_mask.png",
        "images/d.jpg": "masks/d.png",
        "x/images/e.jpg": "x/masks/e_mask.png",
    }
    assert not layout.places["c_mask.png"].mask


def test_masks_are_never_guessed() -> None:
    names = ["anomaly/a/1.png", "anomaly/b/1.png", "normal/2.png", "masks/1.png", "masks/2.png",
             "masks/c/1.png", "masks/9.png"]  # fmt: skip
    layout = recognise(names)
    assert dict(layout.masks) == {}
    assert "4 masks belong to no image here" in layout.notes[-1]
    assert sum(place.mask for place in layout.places.values()) == 4


def test_several_products_and_stray_images_are_told() -> None:
    layout = recognise(["bottle/good/1.png", "cable/good/1.png", "cable/stray.png"])
    assert "several products are mixed: 'bottle', 'cable'" in layout.notes[0]
    assert "no folder says what 1 images are: 'cable/stray.png'" in layout.notes[1]


PARTS = st.sampled_from(["good", "test", "train", "masks", "generated", "bad", "x", "Ä", "gan"])
NAMES = st.lists(
    st.tuples(st.lists(PARTS, max_size=4), st.sampled_from(["1.png", "1_mask.png", "2.jpg"])),
    max_size=12,
    unique_by=lambda made: ("/".join(made[0]), made[1]),
)


@given(made=NAMES)
def test_every_name_gets_one_place_and_masks_are_no_images(
    made: list[tuple[list[str], str]],
) -> None:
    names = ["/".join([*folders, file]) for folders, file in made]
    layout = recognise(names)
    assert list(layout.places) == names
    assert len(set(layout.masks.values())) == len(layout.masks)
    for image, mask in layout.masks.items():
        assert layout.places[mask].mask
        assert image != mask
    for place in layout.places.values():
        assert place.role is None or place.role in ROLES
        assert not (place.mask and place.role)


@pytest.mark.parametrize(
    ("name", "kind", "counts", "masks"),
    [
        ("elpv", "anomalib folder", {"normal": 120, "anomaly": 200}, 0),
        ("magnetic_tile", "anomalib folder", {"normal": 150, "anomaly": 392}, 392),
        ("mvtec_bottle", "roles", {"normal": 5, "anomaly": 5, "candidate": 70}, 40),
    ],
)
def test_the_real_sets(name: str, kind: str, counts: dict[str, int], masks: int) -> None:
    folder = SHARED / "data" / "images" / name
    if not folder.is_dir():
        pytest.skip("needs the image sets, which are not shipped")
    layout = layout_of(gather(folder))
    assert layout.kind == kind
    assert Counter(roles(layout).values()) == counts
    assert len(layout.masks) == masks
    assert layout.notes == ()
    if name == "mvtec_bottle":
        generators = Counter(place.metadata.get("generator") for place in layout.places.values())
        assert generators["dfmgan"] == 30
        assert generators["2gao_1defect"] == generators["2gao_4defect"] == 20


def table(text: str, name: str = "metadata.csv", encoding: str = "utf-8") -> ImageMember:
    data = text.encode(encoding)
    return ImageMember(name, len(data), lambda: data)


def test_a_table_goes_before_the_folders() -> None:
    layout = recognise(["generated/gan/1.png", "generated/gan/2.png", "x/3.png", "m.png"])
    text = """file_name,Generator,Text-Prompt,source,role,colour,mask
generated/gan/1.png,diffusion,"a scratch, deep",017.png,,red,m.png
./x/3.png,,,,Good,,
gone.png,,,,,,
generated/gan/2.png,,,,,,lost.png
"""
    found = with_metadata(layout, [table(text)])
    assert dict(found.places["generated/gan/1.png"].metadata) == {
        "generator": "diffusion",
        "prompt": "a scratch, deep",
        "source": "017.png",
        "colour": "red",
    }
    assert dict(found.places["generated/gan/2.png"].metadata) == {"generator": "gan"}
    assert found.places["x/3.png"].role == "normal"
    assert dict(found.masks) == {"generated/gan/1.png": "m.png"}
    assert found.places["m.png"].mask
    assert any("2 files are not here: 'gone.png', 'lost.png'" in note for note in found.notes)


@pytest.mark.parametrize("column", ["file_name", "File", "IMAGE", "path", "filename"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_tables_of_several_habits(column: str, mark: str) -> None:
    layout = recognise(["a/é.png", "a/b.png"])
    text = f"{column}{mark}method\r\né.png{mark}gan\r\nb.png{mark}größer\r\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        found = with_metadata(layout, [table(text, "a/metadata.csv", encoding)])
        assert of_kind(found, "a/é.png", "generator") == "gan"
        assert of_kind(found, "a/b.png", "generator") == "größer"


def test_names_match_in_another_unicode_form_if_only_one_does() -> None:
    composed, decomposed = "\u00e9.png", "e\u0301.png"
    text = f"file_name,generator\n{composed},gan\n"
    found = with_metadata(recognise([decomposed]), [table(text)])
    assert of_kind(found, decomposed, "generator") == "gan"
    both = with_metadata(recognise([decomposed, composed]), [table(text)])
    assert of_kind(both, composed, "generator") == "gan"
    assert of_kind(both, decomposed, "generator") is None
    two = ["a\u0307\u0323.png", "a\u0323\u0307.png"]
    neither = with_metadata(recognise(two), [table("file_name,generator\n\u1ea1\u0307.png,gan\n")])
    assert [of_kind(neither, name, "generator") for name in two] == [None, None]


def test_names_with_control_characters_match() -> None:
    text = 'file_name,generator\n"a\nb.png",gan\n'
    found = with_metadata(recognise(["a\\nb.png"]), [table(text)])
    assert of_kind(found, "a\\nb.png", "generator") == "gan"


def test_of_two_lines_the_last_counts_and_that_is_said() -> None:
    text = "file_name,generator\na.png,one\na.png,two\n"
    found = with_metadata(recognise(["a.png"]), [table(text)])
    assert of_kind(found, "a.png", "generator") == "two"
    assert "the last of several lines counts for 'a.png'" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x,y\n1,2\n", "metadata.csv has no column that names the images, only 'x', 'y'"),
        ("file_name,role\na.png,boss\n", "'boss' is no role — line 2, column 'role'"),
        ("file_name,role\na.png,train\n", "'train' is no role"),
        ("file_name,role\na.png\n", "line 2: expected 2 values, saw 1"),
        ('file_name,role\n"a.png,x\n', "a quote is opened and never closed"),
        ("", "metadata.csv contains no data"),
        ("file_name,role\na\0.png,x\n", "NUL"),
    ],
)
def test_a_broken_table_is_an_error_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        with_metadata(recognise(["a.png"]), [table(text)])
