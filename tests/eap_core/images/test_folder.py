"""Folders of a server, their links, and the roots they must lie below; several sources at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eap_core.base.errors import DataError
from eap_core.images import sources as module
from eap_core.images.sources import below_root, configured_roots, gather, gather_many
from tests.eap_core.images.samples import folder_of, png, zip_file


def test_files_are_found_by_name_in_order(tmp_path: Path) -> None:
    files = {"b/2.png": png(1), "b/1.png": png(2), "a.PNG": png(3), "b-c/1.jpg": png(4)}
    found = gather(folder_of(tmp_path / "set", files))
    assert found.names == ["a.PNG", "b/1.png", "b/2.png", "b-c/1.jpg"]
    assert [member.read() for member in found.members] == [files[name] for name in found.names]


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    root = folder_of(tmp_path / "set", {"a.png": png(1), "sub/b.png": png(2)})
    secret = folder_of(tmp_path / "secret", {"s.png": png(3)})
    (root / "out.png").symlink_to(secret / "s.png")
    (root / "outdir").symlink_to(secret)
    (root / "in.png").symlink_to(root / "sub" / "b.png")
    (root / "loop").symlink_to(root)
    (root / "self.png").symlink_to(root / "self.png")
    (root / "gone.png").symlink_to(root / "nothing.png")
    found = gather(root)
    assert found.names == ["a.png", "in.png", "sub/b.png"]
    assert {skipped.name for skipped in found.skipped} == {
        "out.png", "outdir", "loop", "self.png", "gone.png",
    }  # fmt: skip


def test_a_link_put_there_later_is_not_followed(tmp_path: Path) -> None:
    root = folder_of(tmp_path / "set", {"a.png": png(1)})
    secret = folder_of(tmp_path / "secret", {"s.png": png(3)})
    [member] = gather(root).members
    (root / "a.png").unlink()
    (root / "a.png").symlink_to(secret / "s.png")
    with pytest.raises(DataError, match=r"a\.png is a link that leads out"):
        member.read()


def test_what_cannot_be_read_is_listed(tmp_path: Path) -> None:
    root = folder_of(
        tmp_path / "set", {"a.png": png(), "b.txt": b"x", "c.zip": b"x", ".h.png": b""}
    )
    os.mkfifo(root / "pipe.png")
    found = gather(root)
    assert found.names == ["a.png"]
    assert {skipped.name: skipped.reason.split(" — ")[0] for skipped in found.skipped} == {
        "b.txt": "is no image by its ending",
        "c.zip": "is an archive inside",
        "pipe.png": "is no regular file",
    }
    (root / "a.png").unlink()
    with pytest.raises(DataError, match="set holds no image that can be used"):
        gather(root)


def test_a_file_that_is_gone_is_a_reason(tmp_path: Path) -> None:
    root = folder_of(tmp_path / "set", {"a.png": png()})
    [member] = gather(root).members
    (root / "a.png").unlink()
    with pytest.raises(DataError, match=r"^a\.png cannot be read — No such file"):
        member.read()


def test_depth_and_number_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "/".join("d" * 25)
    found = gather(folder_of(tmp_path / "set", {"a.png": png(), f"{deep}/b.png": png()}))
    assert found.names == ["a.png"]
    assert "too deep" in found.skipped[0].reason
    monkeypatch.setattr(module, "MAX_MEMBERS", 3)
    with pytest.raises(DataError, match="more than 3 files"):
        gather(folder_of(tmp_path / "more", {f"{i}.png": b"x" for i in range(5)}))
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 10)
    with pytest.raises(DataError, match="bytes of images; limit is 10"):
        gather(folder_of(tmp_path / "large", {"a.png": png()}))


def test_undecodable_names_are_shown_escaped(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.png")).write_bytes(png(5))
    [member] = gather(tmp_path).members
    assert member.name == "caf\\udce9.png"
    assert member.read() == png(5)


@pytest.mark.parametrize("path", ["missing.png", "a\0b.png"])
def test_a_missing_source_is_said(tmp_path: Path, path: str) -> None:
    with pytest.raises(DataError, match="cannot be opened"):
        gather(tmp_path / path)


def test_many_sources_keep_apart(tmp_path: Path) -> None:
    one = zip_file(tmp_path / "x1", {"1.png": png(1), "../2.png": b""})
    two = zip_file(tmp_path / "x2", {"1.png": png(2)})
    folder = folder_of(tmp_path / "dir", {"1.png": png(3)})
    single = folder_of(tmp_path, {"x3": png(4), "x4": png(5), "x5": b"x"})
    found = gather_many(
        [(one, "one.zip"), (two, "two.zip"), (folder, "dir"), (single / "x3", "1.png"),
         (single / "x4", "1.png"), (single / "x5", "page.html"), (single / "x5", "bad.zip")]
    )  # fmt: skip
    assert found.names == ["one/1.png", "two/1.png", "dir/1.png", "1.png", "1 (2).png"]
    assert [member.read() for member in found.members] == [png(i) for i in range(1, 6)]
    assert [skipped.name for skipped in found.skipped] == ["one/../2.png", "page.html", "bad.zip"]
    assert found.skipped[2].reason == "is no ZIP archive — zip the images again"
    assert "got a number" in found.notes[0]
    assert gather_many([(one, "one.zip")]).names == ["1.png"]


def test_errors_follow_a_renamed_file(tmp_path: Path) -> None:
    files = folder_of(tmp_path, {"x1": png(), "x2": png()})
    found = gather_many([(files / "x1", "a.png"), (files / "x2", "a.png")])
    (files / "x2").unlink()
    with pytest.raises(DataError, match=r"^a \(2\)\.png cannot be read"):
        found.members[1].read()


def test_only_places_below_a_root_are_allowed(tmp_path: Path) -> None:
    root = folder_of(tmp_path / "root", {"set/a.png": png()})
    other = folder_of(tmp_path / "root_of_others", {"a.png": png()})
    (root / "link").symlink_to(other)
    (tmp_path / "way_in").symlink_to(root / "set")
    assert below_root(root / "set", [root]) == root / "set"
    assert below_root(root, [other, root]) == root
    assert below_root(tmp_path / "way_in", [root]) == root / "set"
    for outside in (other, root / "link", root / ".." / "root_of_others", tmp_path, Path("/"),
                    other / "missing", Path("a\0b")):  # fmt: skip
        with pytest.raises(
            DataError,
            match=r"is not below a folder opened for import — give a whole path below '.*root",
        ):
            below_root(outside, [root])
    with pytest.raises(DataError, match="does not exist"):
        below_root(root / "missing", [root])
    with pytest.raises(DataError, match="set EAP_ROOTS"):
        below_root(root, [])


def test_roots_come_from_the_environment() -> None:
    value = os.pathsep.join(["/data/one", "", "/data/two"])
    assert configured_roots({"EAP_ROOTS": value}) == (Path("/data/one"), Path("/data/two"))
    assert configured_roots({}) == ()
