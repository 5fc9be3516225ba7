from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eap_core.base.table import Role
from eap_core.health import Finding, find_amounts
from eap_core.health.images import SEEN, find_changes, find_looks, measure_change
from eap_core.images import ImageItem
from eap_core.images.decode import decode
from tests.conftest import SHARED


def part(seed: int, size: tuple[int, int] = (160, 160)) -> Image.Image:
    """A grey disc with a smooth texture of its own."""
    rng = np.random.default_rng(seed)
    field = np.asarray(
        Image.fromarray(rng.integers(90, 160, (12, 12)).astype(np.uint8)).resize(
            size, Image.Resampling.BICUBIC
        )
    )
    picture = Image.fromarray(np.stack([field, field, field], axis=2))
    ImageDraw.Draw(picture).ellipse((30, 30, size[0] - 30, size[1] - 30), outline=(30, 30, 30))
    return picture


def encoded(picture: Image.Image, kind: str = "PNG", quality: int = 90) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, quality=quality)
    return out.getvalue()


class Album:
    """Pictures by hash, as a project holds them."""

    def __init__(self) -> None:
        self.items: list[ImageItem] = []
        self.pictures: dict[str, Image.Image] = {}

    def add(
        self, name: str, role: Role, picture: Image.Image, kind: str = "PNG", source: str = ""
    ) -> None:
        data = encoded(picture, kind)
        found = decode(data, name)
        sha256 = f"{len(self.items):064x}"
        self.pictures[sha256] = found.rgb
        metadata = {"source": source} if source else {}
        self.items.append(ImageItem(name, role, sha256, found.facts, metadata, None))

    @property
    def open(self) -> Callable[[str], Image.Image]:
        return self.pictures.__getitem__

    def changes(self) -> dict[str, Finding]:
        return {f.code: f for f in find_changes(self.items, self.open, self.open)}

    def looks(self) -> dict[str, Finding]:
        return {f.code: f for f in find_looks(self.items)}


@pytest.fixture
def album() -> Album:
    made = Album()
    for i in range(6):
        made.add(f"good/{i:03d}.png", "normal", part(i))
    return made


def scratched(picture: Image.Image, level: int = 60) -> Image.Image:
    out = picture.copy()
    ImageDraw.Draw(out).line((60, 70, 95, 84), fill=(level, level, level), width=3)
    return out


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_encoding_and_noise_are_no_change_and_a_thin_scratch_is(kind: str) -> None:
    picture = part(1)
    again = Image.open(io.BytesIO(encoded(picture, kind, 75))).convert("RGB")
    noise = np.random.default_rng(0).normal(0, 4, (160, 160, 3))
    noisy = Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))
    assert measure_change(picture, again) < SEEN
    assert measure_change(picture, noisy) < SEEN
    assert measure_change(picture, scratched(picture)) > 2 * SEEN


def test_the_change_is_found_at_any_size() -> None:
    picture = part(1, (600, 300))
    assert measure_change(picture, picture.resize((300, 150), Image.Resampling.BOX)) < SEEN
    assert measure_change(scratched(picture), picture.resize((500, 250))) > SEEN


def test_a_colour_shift_alone_is_a_change() -> None:
    picture = part(1)
    red, green, blue = picture.split()
    shifted = Image.merge("RGB", (red.point(lambda v: v + 20), green, blue.point(lambda v: v - 20)))
    assert measure_change(picture, shifted) > SEEN


def test_candidates_that_show_no_change_are_named_with_their_source(album: Album) -> None:
    album.add("c/timid.jpg", "candidate", part(3), "JPEG", source="003.png")
    album.add("c/nameless.jpg", "candidate", part(4), "JPEG")
    album.add("c/real.png", "candidate", scratched(part(2)), source="good/002.png")
    found = album.changes()
    assert set(found) == {"nothing-changed"}
    assert found["nothing-changed"].where == (
        "c/timid.jpg ≈ good/003.png",
        "c/nameless.jpg ≈ good/004.png",
    )


def test_an_exact_copy_is_not_told_twice(album: Album) -> None:
    album.add("c/copy.png", "candidate", part(3))
    assert not album.changes()


def test_a_source_that_is_not_there_is_noted(album: Album) -> None:
    album.add("c/1.png", "candidate", scratched(part(2)), source="900.png")
    assert album.changes()["unknown-source"].where == ("c/1.png",)


def test_candidates_that_look_alike_are_told_once_as_a_pair(album: Album) -> None:
    album.add("c/1.png", "candidate", scratched(part(2)))
    album.add("c/2.jpg", "candidate", scratched(part(2)), "JPEG")
    album.add("c/3.png", "candidate", scratched(part(5)))
    assert album.changes()["near-duplicate-candidate"].where == ("c/1.png ≈ c/2.jpg",)


def test_alike_images_raise_no_alarm(album: Album) -> None:
    album.add("c/1.png", "candidate", scratched(part(2)))
    assert not album.looks()


def test_another_size_is_a_warning_with_the_sizes(album: Album) -> None:
    album.add("c/1.png", "candidate", part(2, (80, 80)))
    finding = album.looks()["other-size"]
    assert finding.severity == "warning"
    assert "candidates 80×80 (1)" in finding.what
    assert "normals 160×160 (6)" in finding.what


def test_sizes_that_vary_alike_in_every_role_are_a_note(album: Album) -> None:
    album.add("good/wide.png", "normal", part(8, (170, 160)))
    album.add("c/1.png", "candidate", part(9, (165, 160)))
    finding = album.looks()["mixed-sizes"]
    assert (finding.severity, "3 different sizes" in finding.what) == ("note", True)


def test_colour_beside_grey_is_a_warning(album: Album) -> None:
    red, green, blue = part(7).split()
    tinted = Image.merge("RGB", (red.point(lambda v: v + 40), green, blue))
    album.add("c/1.png", "candidate", tinted)
    assert album.looks()["colour"].where == ("c/1.png",)


def test_grey_beside_colour_is_a_warning() -> None:
    album = Album()
    red, green, blue = part(7).split()
    album.add("n.png", "normal", Image.merge("RGB", (red.point(lambda v: v + 40), green, blue)))
    album.add("c.png", "candidate", part(7))
    assert album.looks()["colour"].where == ("c.png",)


def test_light_and_flat_pictures_are_told(album: Album) -> None:
    album.add("c/dark.png", "candidate", part(2).point(lambda v: v // 3))
    album.add("c/flat.png", "candidate", Image.new("RGB", (160, 160), (40, 40, 40)))
    found = album.looks()
    assert "darker" in found["other-light"].what
    assert found["blank"].where == ("c/flat.png",)


def test_lossy_beside_lossless_is_noted(album: Album) -> None:
    album.add("c/1.jpg", "candidate", part(2), "JPEG")
    assert album.looks()["other-format"].severity == "note"


@pytest.mark.parametrize(
    ("counts", "codes"),
    [
        ({}, {"no-candidates", "too-few-normals", "no-anomalies"}),
        ({"normal": 2, "candidate": 1, "anomaly": 1}, {"too-few-normals", "few-anomalies"}),
        ({"normal": 5, "candidate": 1, "anomaly": 5}, {"few-normals", "too-many-anomalies"}),
        ({"normal": 99, "candidate": 1, "anomaly": 9}, set()),
    ],
)
def test_amounts(counts: dict[Role, int], codes: set[str]) -> None:
    assert {finding.code for finding in find_amounts(counts)} == codes


def test_a_finding_survives_being_written_down() -> None:
    finding = Finding("blank", "note", "what", "do", ("a", "b"))
    assert Finding.from_record(finding.record) == finding
    assert finding.sentence == "what: a; b — do"


def test_generated_bottles_differ_in_size_from_the_real_ones() -> None:
    folder = SHARED / "data" / "images" / "mvtec_bottle"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/images")
    album = Album()
    roles: dict[str, Role] = {"normal": "normal", "anomaly": "anomaly", "generated": "candidate"}
    for path in sorted(folder.rglob("*.png")):
        role = roles.get(path.relative_to(folder).parts[0])
        if role:
            album.items.append(_item(path, role))
    found = {f.code: f for f in find_looks(album.items)}
    assert "candidates differ in size from the normals" in found["other-size"].what
    for told in ("normals 900×900 (5)", "256×256 (30)", "512×512 (40)"):
        assert told in found["other-size"].what


def _item(path: Path, role: Role) -> ImageItem:
    return ImageItem(
        path.name, role, "0" * 64, decode(path.read_bytes(), path.name).facts, {}, None
    )
