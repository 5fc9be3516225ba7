"""From files to items: order, keeping, threads, cancelling, and every reason told."""

from __future__ import annotations

import hashlib
import io
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image

from eap_core.base.progress import Cancelled
from eap_core.base.table import Role
from eap_core.images import ImageBatch, read_images
from eap_core.images.decode import decode
from eap_core.images.layout import layout_of, recognise
from eap_core.images.sources import GatheredFiles, ImageMember, gather
from tests.eap_core.images.samples import folder_of, picture, png, saved, zip_file

Kept = list[tuple[str, bytes, bytes | None]]


def member(name: str, data: bytes) -> ImageMember:
    return ImageMember(name, len(data), lambda: data)


def gathered(count: int) -> GatheredFiles:
    return GatheredFiles(tuple(member(f"{i:03d}.png", png(i)) for i in range(count)))


def read(
    found: GatheredFiles, role: Role | None = None, workers: int | None = None
) -> tuple[ImageBatch, Kept]:
    kept: Kept = []
    done = read_images(
        found, layout_of(found), role, lambda *file: kept.append(file), workers=workers
    )
    return done, kept


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_whole_project_from_a_zip(tmp_path: Path) -> None:
    files = {
        "set/normal/1.png": png(1),
        "set/anomaly/hole/2.png": png(2),
        "set/masks/hole/2_mask.png": saved(Image.new("L", (24, 16), 255)),
        "set/generated/gan/3.png": png(3),
        "set/generated/gan/bad.png": png(4)[:50],
        "set/metadata.csv": b"file_name,prompt\ngenerated/gan/3.png,a hole\n",
        "set/readme.txt": b"hello",
    }
    done, kept = read(gather(zip_file(tmp_path / "set.zip", files)))
    assert [(item.name, item.role) for item in done.items] == [
        ("set/normal/1.png", "normal"),
        ("set/anomaly/hole/2.png", "anomaly"),
        ("set/generated/gan/3.png", "candidate"),
    ]
    normal, anomaly, candidate = done.items
    mask = files["set/masks/hole/2_mask.png"]
    assert anomaly.mask == sha256(mask)
    assert anomaly.metadata == {"defect_type": "hole"}
    assert candidate.metadata == {"generator": "gan", "prompt": "a hole"}
    assert normal.facts == decode(png(1), "x").facts
    assert [(sha, data) for sha, data, _ in kept] == [
        (sha256(data), data) for data in (png(1), png(2), mask, png(3))
    ]
    assert [small is None for _, _, small in kept] == [False, False, True, False]
    assert Image.open(io.BytesIO(kept[0][2] or b"")).size == (24, 16)
    assert {skipped.name: skipped.reason.split(" — ")[0] for skipped in done.skipped} == {
        "set/readme.txt": "is no image by its ending",
        "set/generated/gan/bad.png": "is cut off or damaged",
    }


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_order_is_kept_and_all_workers_agree(workers: int | None) -> None:
    done, kept = read(gathered(23), "candidate", workers)
    assert [item.name for item in done.items] == gathered(23).names
    assert [sha for sha, _, _ in kept] == [sha256(png(i)) for i in range(23)]


def test_equal_bytes_are_two_items() -> None:
    done, kept = read(GatheredFiles((member("a.png", png()), member("b.png", png()))), "normal")
    assert [item.name for item in done.items] == ["a.png", "b.png"]
    assert done.items[0].sha256 == done.items[1].sha256
    assert len(kept) == 2


@pytest.mark.parametrize("role", ["normal", "test_anomaly"])
def test_a_chosen_role_goes_before_the_folders(role: Literal["normal", "test_anomaly"]) -> None:
    names = ["normal/1.png", "generated/gan/2.png", "3.png", "generated/gan/2_mask.png"]
    done, _ = read(GatheredFiles(tuple(member(name, png()) for name in names)), role)
    assert [item.role for item in done.items] == 3 * [role]
    assert done.items[1].mask is not None
    assert any(f"called candidate are taken as {role}" in note for note in done.notes)


def test_images_without_a_role_are_listed_and_not_read() -> None:
    def fail() -> bytes:
        raise AssertionError("read")

    found = GatheredFiles((member("normal/1.png", png()), ImageMember("2.png", 1, fail)))
    done, _ = read(found)
    assert [item.name for item in done.items] == ["normal/1.png"]
    [skipped] = done.skipped
    assert skipped.name == "2.png"
    assert "choose one of normal, anomaly, candidate" in skipped.reason


def test_a_bad_mask_does_not_cost_the_image() -> None:
    names = {"bad/1.png": png(1), "bad/2.png": png(2), "mask/1.png": b"x", "mask/2.png": b""}
    names["mask/2.png"] = saved(picture(1, 5, 5))
    done, kept = read(GatheredFiles(tuple(member(name, data) for name, data in names.items())))
    assert [item.mask for item in done.items] == [None, sha256(names["mask/2.png"])]
    assert [skipped.name for skipped in done.skipped] == ["mask/1.png"]
    assert any("1 masks have another size than their image: 'bad/2.png'" in n for n in done.notes)
    assert len(kept) == 3


def test_sizes_colours_and_conversions_are_told() -> None:
    found = GatheredFiles(
        (
            member("a.png", saved(picture(1, 10, 10))),
            member("b.png", saved(picture(1, 300, 200).convert("L"))),
            member("c.png", saved(Image.new("RGBA", (10, 10)))),
            member("d.png", saved(Image.new("RGBA", (10, 10)))),
        )
    )
    done, _ = read(found, "normal")
    assert done.notes == (
        "the images have 2 sizes, from 10 × 10 to 300 × 200 pixels; for features all are resized "
        "alike",
        "3 of 4 images are grey, the others have colours",
        "transparent parts are laid on white — 2 images, the first is 'c.png'",
    )


def test_what_keep_raises_surfaces_and_ends_the_reading() -> None:
    kept: list[str] = []

    def keep(sha: str, *_: object) -> None:
        if len(kept) == 3:
            raise OSError(28, "No space left on device")
        kept.append(sha)

    found = gathered(40)
    with pytest.raises(OSError, match="No space left"):
        read_images(found, recognise(found.names), "normal", keep)
    assert len(kept) == 3


def test_only_a_few_images_are_in_work_at_once() -> None:
    lock, ahead, most = threading.Lock(), 0, 0

    def load() -> bytes:
        nonlocal ahead, most
        with lock:
            ahead += 1
            most = max(most, ahead)
        return png()

    def keep(*_: object) -> None:
        nonlocal ahead
        time.sleep(0.002)
        with lock:
            ahead -= 1

    found = GatheredFiles(tuple(ImageMember(f"{i}.png", 1, load) for i in range(60)))
    read_images(found, recognise(found.names), "normal", keep, workers=2)
    assert most <= 5


def test_cancelling_stops_at_once() -> None:
    started: list[str] = []

    def load(name: str) -> bytes:
        started.append(name)
        return png()

    def progress(share: float, _: str) -> None:
        if share > 0.1:
            raise Cancelled

    found = gathered(100)
    members = tuple(replace(each, load=partial(load, each.name)) for each in found.members)
    with pytest.raises(Cancelled):
        read_images(
            GatheredFiles(members), recognise(found.names), "normal", lambda *_: None, progress, 2
        )
    assert len(started) < 20


def test_cancelling_does_not_wait_for_a_slow_image() -> None:
    release = threading.Event()
    calls = 0

    def load() -> bytes:
        release.wait(30)
        return png()

    def progress(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Cancelled

    found = GatheredFiles((ImageMember("a.png", 1, load),))
    with pytest.raises(Cancelled):
        read_images(found, recognise(["a.png"]), "normal", lambda *_: None, progress)
    assert not release.is_set()
    release.set()


def test_progress_runs_from_start_to_end() -> None:
    shares: list[float] = []
    steps: list[str] = []

    def progress(share: float, step: str) -> None:
        shares.append(share)
        steps.append(step)

    found = gathered(5)
    read_images(found, recognise(found.names), "normal", lambda *_: None, progress)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert steps[0] == "image 1 of 5"


def test_nothing_readable_is_no_item_and_all_reasons(tmp_path: Path) -> None:
    found = gather(folder_of(tmp_path / "set", {"normal/a.png": b"x", "normal/b.png": b""}))
    done, kept = read(found)
    assert done.items == ()
    assert kept == []
    assert len(done.skipped) == 2
    assert done.skipped[1].reason == "is empty (0 bytes) — export it again"
