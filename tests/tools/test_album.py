"""The pictures themselves: repeatable, alike but not equal, and flawed exactly where promised."""

from __future__ import annotations

from hashlib import sha256
from itertools import islice

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from tools.demo_images.album import DemoImage, demo_images, drawn
from tools.demo_images.catalogue import REPEATED, Entry, catalogue
from tools.demo_images.picture import faultless
from tools.demo_images.scene import SIZE, photograph

ENTRIES = {entry.name: entry for entry in catalogue()}
CANDIDATES = [entry for entry in ENTRIES.values() if entry.role == "candidate"]


def draw(name: str) -> DemoImage:
    return drawn(ENTRIES[name])


def digest(image: Image.Image) -> str:
    return sha256(image.tobytes()).hexdigest()


def values(image: Image.Image) -> npt.NDArray[np.float64]:
    return np.asarray(image, dtype=np.float64)


def difference(entry: Entry, picture: DemoImage) -> npt.NDArray[np.float64]:
    """How far each pixel is from the source, the largest of its three colours."""
    source = faultless(photograph(0, entry.scene)).image
    found: npt.NDArray[np.float64] = np.abs(values(picture.image) - values(source)).max(axis=2)
    return found


def by_way(way: str) -> list[Entry]:
    return [e for e in CANDIDATES if e.draw is not None and e.draw.__name__ == way]


ONE_OF_EACH = [
    *(by_way(way)[0].name for way in dict.fromkeys(e.draw.__name__ for e in CANDIDATES if e.draw)),
    *("normal/flange-001.jpg", "test_normal/flange-301.jpg", "anomaly/dent/flange-202.jpg"),
]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_picture_is_the_same_whatever_was_drawn_before(name: str) -> None:
    first = draw(name)
    draw("normal/flange-007.jpg")
    draw("generated/wild-dream/scratch-01.jpg")
    again = draw(name)
    assert digest(first.image) == digest(again.image)
    assert (first.mask is None) == (again.mask is None)
    if first.mask and again.mask:
        assert digest(first.mask) == digest(again.mask)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_picture_has_the_size_and_mode_of_the_normals(name: str) -> None:
    picture = draw(name)
    assert (picture.image.size, picture.image.mode) == ((SIZE, SIZE), "RGB")
    if picture.mask:
        assert (picture.mask.size, picture.mask.mode) == ((SIZE, SIZE), "L")
        assert {value for _, value in picture.mask.getcolors() or []} == {0, 255}


def test_the_stream_of_pictures_follows_the_catalogue() -> None:
    for picture, entry in zip(islice(demo_images(), 3), catalogue(), strict=False):
        assert (picture.name, picture.role) == (entry.name, entry.role)
        assert picture.metadata == entry.metadata
        assert digest(picture.image) == digest(drawn(entry).image)


def test_another_seed_gives_other_pictures() -> None:
    entry = ENTRIES["normal/flange-001.jpg"]
    assert digest(drawn(entry, 0).image) != digest(drawn(entry, 1).image)


def test_normals_vary_but_little() -> None:
    stack = np.stack([values(draw(f"normal/flange-{i:03d}.jpg").image) for i in range(1, 16)])
    brightness = stack.mean(axis=(1, 2, 3))
    assert 2 < np.ptp(brightness) < 50
    typical = np.median(stack, axis=0)
    apart = np.abs(stack - typical).mean(axis=(1, 2, 3))
    assert apart.min() > 1
    assert apart.max() < 25
    assert len({digest(Image.fromarray(image.astype(np.uint8))) for image in stack}) == len(stack)


def test_the_part_is_steel_and_brass_on_a_dark_table() -> None:
    scene = photograph(0, "normal/flange-001.jpg")
    image = values(faultless(scene).image)
    x, y = (round(middle) for middle in scene.centre)
    red, _, blue = image[y - 2 : y + 3, x + 37 : x + 40].mean(axis=(0, 1))
    assert red > 1.3 * blue
    assert image[:20, -20:].mean() < 60
    assert image[y - 2 : y + 3, x - 5 : x + 5].mean() < 60
    assert image[y - 70 : y - 65, x - 5 : x + 5].mean() > 90


@pytest.mark.parametrize("entry", by_way("damaged")[:8], ids=lambda entry: entry.name)
def test_a_careful_defect_is_plain_to_see_and_all_within_its_mask(entry: Entry) -> None:
    picture = drawn(entry)
    changed = difference(entry, picture)
    assert picture.mask is not None
    inside = values(picture.mask) > 0
    assert changed[~inside].max() <= 12
    assert changed[~inside].mean() < 0.05
    assert np.quantile(changed[inside], 0.95) > 20
    assert 50 < np.count_nonzero(inside) < SIZE * SIZE / 10


@pytest.mark.parametrize("name", [e.name for e in ENTRIES.values() if e.role == "anomaly"][:4])
def test_real_anomalies_come_with_a_mask(name: str) -> None:
    picture = draw(name)
    assert picture.mask is not None
    assert picture.mask.getbbox() is not None


def test_untouched_candidates_equal_their_source() -> None:
    for entry in by_way("untouched"):
        assert difference(entry, drawn(entry)).max() == 0


@pytest.mark.parametrize("way", ["encoded_again", "faint", "plain"])
def test_timid_candidates_differ_from_their_source_but_not_visibly(way: str) -> None:
    for entry in by_way(way)[:4]:
        changed = difference(entry, drawn(entry))
        assert 0 < changed.max() <= 24
        assert changed.mean() < 2.5


@pytest.mark.parametrize("way", ["neon", "floating", "holes_outside", "melted", "inverted"])
def test_wild_candidates_are_far_from_their_source(way: str) -> None:
    for entry in by_way(way)[:2]:
        assert difference(entry, drawn(entry)).mean() > 3.5


@pytest.mark.parametrize("way", ["seams", "fitting", "plain", "neon", "floating", "holes_outside"])
def test_what_is_outside_a_mask_is_the_source(way: str) -> None:
    entry = by_way(way)[0]
    picture = drawn(entry)
    assert picture.mask is not None
    assert difference(entry, picture)[values(picture.mask) == 0].max() <= 6


def test_pasted_rectangles_show_their_seams() -> None:
    for entry in by_way("seams")[:3]:
        picture = drawn(entry)
        assert picture.mask is not None
        assert difference(entry, picture)[values(picture.mask) > 0].mean() > 75


def test_whole_picture_changes_have_no_mask() -> None:
    assert drawn(by_way("melted")[0]).mask is None
    assert drawn(by_way("inverted")[0]).mask is None


@pytest.mark.parametrize(("name", "original"), REPEATED.items())
def test_repeated_candidates_are_equal(name: str, original: str) -> None:
    assert name != original
    assert digest(draw(name).image) == digest(draw(original).image)
