"""ZIP archives, good and evil: what may load loads, everything else is named with its reason."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eap_core.base.archive import PackedMember
from eap_core.base.errors import DataError
from eap_core.images import sources
from eap_core.images.sources import GatheredFiles, gather, unpack
from tests.eap_core.images.samples import Entry, folder_of, png, raw_zip, zip_file


@pytest.fixture
def box(tmp_path: Path) -> Path:
    return tmp_path / "box.zip"


def of(box: Path, *entries: Entry) -> GatheredFiles:
    box.write_bytes(raw_zip(entries))
    return gather(box)


GOOD = Entry(b"good.png", png(1))


def test_members_are_read_whole(box: Path) -> None:
    files = {"a.png": png(1), "b/c.jpg": png(2), "b/d.TIFF": b"x" * 700_000}
    found = gather(zip_file(box, files))
    assert {member.name: member.read() for member in found.members} == files
    assert [member.size for member in found.members] == [len(data) for data in files.values()]
    assert (found.skipped, found.notes) == ((), ())


def test_stored_members_and_archives_behind_other_data_are_read(box: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_STORED) as file:
        file.writestr("a.png", png(1))
    box.write_bytes(b"PK\x03\x04 a loader of some kind " + inner.getvalue())
    [member] = gather(box).members
    assert member.read() == png(1)


@pytest.mark.parametrize(
    "name",
    [
        b"../evil.png",
        b"a/../../evil.png",
        b"..",
        b"/tmp/eap_pwned_absolute.png",
        b"C:\\evil.png",
        b"c:evil.png",
        b"..\\evil.png",
        b"folder\\evil.png",
        b"\\\\server\\share\\evil.png",
        b"evil.png\0.txt",
        b"../__MACOSX/evil.png",
        b"../folder/",
    ],
)
def test_names_that_lead_elsewhere_are_refused_by_name(box: Path, name: bytes) -> None:
    found = of(box, Entry(name, png()), GOOD)
    assert found.names == ["good.png"]
    [skipped] = found.skipped
    assert "could lead out of the archive" in skipped.reason
    assert "\0" not in skipped.name


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (Entry(b"a.png", png(), flags=1), "password-protected"),
        (Entry(b"a.png", png(), method=14), "packed in a way"),
        (Entry(b"a.png", png(), method=9), "packed in a way"),
        (Entry(b"a.png", png(), method=99), "packed in a way"),
        (Entry(b"a.png", b"/etc/passwd", attributes=(stat.S_IFLNK | 0o777) << 16), "is a link"),
        (Entry(b"a.png", b"", attributes=(stat.S_IFCHR | 0o777) << 16), "is a link or a device"),
        (Entry(b"inner.zip", raw_zip([GOOD])), "is an archive inside"),
        (Entry(b"a.exe", b"MZ"), "is no image by its ending"),
        (Entry(b"a.png.html", b"x"), "is no image by its ending"),
        (Entry(b"a.png", bytes(30 * 1024**2)), "limit is 200:1"),
        (Entry(b"a.png", b"x", size=300 * 1024**2), "limit is 200:1"),
        (Entry(b"d/" * 30 + b"a.png", png()), "folders deep; limit is 20"),
        (Entry(b"x" * 1_500 + b".png", png()), "has a name of 1,504 characters"),
    ],
)
def test_odd_members_are_listed_and_the_good_load(box: Path, entry: Entry, reason: str) -> None:
    found = of(box, entry, GOOD)
    assert [member.read() for member in found.members] == [png(1)]
    assert [reason in skipped.reason for skipped in found.skipped] == [True]
    with pytest.raises(DataError, match=r"box\.zip (holds no image|is password)"):
        of(box, entry)


@pytest.mark.parametrize(
    "entry",
    [
        Entry(b"a.png", bytes(9 * 1024**2), size=1_000),
        Entry(b"a.png", png(), size=10),
        Entry(b"a.png", png(), size=100_000),
        Entry(b"a.png", png(), checksum=1),
        Entry(b"a.png", png(), method=0, size=10),
        Entry(b"a.png", png(), offset=5_000_000),
        Entry(b"a.png", png(), offset=3),
    ],
)
def test_members_that_lie_are_refused_when_read(box: Path, entry: Entry) -> None:
    [member] = of(box, entry).members
    with pytest.raises(DataError, match=r"a\.png (is damaged|unpacks to more|cannot be read)"):
        member.read()


def test_broken_deflate_is_refused_when_read(box: Path) -> None:
    data = bytearray(raw_zip([GOOD]))
    data[40:60] = b"\xff" * 20
    box.write_bytes(data)
    [member] = gather(box).members
    with pytest.raises(DataError, match="is damaged"):
        member.read()


@given(data=st.binary(max_size=3_000), cut=st.integers(0, 60), method=st.sampled_from([0, 8]))
@settings(max_examples=60)
def test_unpacking_gives_all_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int, method: int
) -> None:
    entry = Entry(b"n", data, method=method)
    path = tmp_path_factory.getbasetemp() / "one.bin"
    whole = b"PK\x03\x04" + entry.fields + b"n" + entry.packed
    path.write_bytes(whole[: len(whole) - cut])
    packed = PackedMember(0, len(whole), len(entry.packed), len(data), zlib.crc32(data), method)
    try:
        assert unpack(path, packed) == data
        assert cut == 0 or not data or method == 8
    except DataError:
        assert cut


def test_a_bomb_costs_no_memory_before_it_is_refused(box: Path) -> None:
    found = of(box, Entry(b"a.png", bytes(200 * 1024**2), size=900_000))
    with pytest.raises(DataError, match="more than the 900,000 bytes"):
        found.members[0].read()


def test_overlapping_members_are_named(box: Path) -> None:
    twin = Entry(b"b.png", png(1), offset=0)
    with pytest.raises(DataError, match=r"'good\.png' and 'b\.png' overlap"):
        of(box, GOOD, twin)
    nested = Entry(b"c.png", png(3), offset=40)
    with pytest.raises(DataError, match="overlap"):
        of(box, GOOD, nested)


def test_the_room_of_a_member_ends_at_the_next(box: Path) -> None:
    data = bytes(100)
    box.write_bytes(b"PK\x03\x04" + bytes(26) + data)
    room = PackedMember(0, 130, 100, 100, zlib.crc32(data), 0)
    assert unpack(box, room) == data
    with pytest.raises(DataError, match="is damaged"):
        unpack(box, replace(room, stop=129))


def test_the_limits_of_an_archive(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_TOTAL_BYTES", 100)
    with pytest.raises(DataError, match=r"box\.zip unpacks to [\d,]+ bytes; limit is 100"):
        of(box, GOOD)
    monkeypatch.setattr(sources, "MAX_MEMBERS", 3)
    with pytest.raises(DataError, match=r"box\.zip holds 4 files; limit is 3"):
        of(box, *(Entry(b"%d.png" % i, b"x") for i in range(4)))
    monkeypatch.setattr(sources, "MAX_DIRECTORY_BYTES", 199)
    with pytest.raises(DataError, match="too many files"):
        of(box, *(Entry(b"%d.png" % i, b"x") for i in range(4)))


def test_seventy_thousand_members_load(box: Path) -> None:
    data = png()
    with zipfile.ZipFile(box, "w") as file:
        for i in range(70_000):
            file.writestr(zipfile.ZipInfo(f"{i}.png"), data if i == 69_999 else b"")
    found = gather(box)
    assert len(found.members) == 70_000
    assert found.members[-1].read() == data


def test_zip64_sizes_are_read_and_lies_refused(box: Path) -> None:
    with zipfile.ZipFile(box, "w") as file, file.open("a.png", "w", force_zip64=True) as stream:
        stream.write(png(1))
    [member] = gather(box).members
    assert member.read() == png(1)
    entry = Entry(b"a.png", png(1), size=0xFFFFFFFF)
    box.write_bytes(raw_zip([entry, GOOD]))
    assert gather(box).names == ["good.png"]


@pytest.mark.parametrize("end", [b"PK\x06\x07" + b"\xff" * 16, b"PK\x06\x07" + bytes(16)])
def test_a_lying_zip64_end_is_no_crash(box: Path, end: bytes) -> None:
    data = raw_zip([GOOD])
    at = data.rindex(b"PK\x05\x06")
    lie = struct.pack("<HHHHLLH", 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    box.write_bytes(data[:at] + end + b"PK\x05\x06" + lie)
    with pytest.raises(DataError, match="incomplete or damaged: upload again"):
        gather(box)


def test_two_members_of_one_name_stay_two(box: Path) -> None:
    composed, decomposed = "\u00e9.png", "e\u0301.png"
    names = ["a.png", "a.png", "a (2).png", "a.png", "A.png", composed, decomposed]
    entries = [Entry(name.encode(), png(i), flags=0x800) for i, name in enumerate(names)]
    found = of(box, *entries)
    assert found.names[:5] == ["a.png", "a (3).png", "a (2).png", "a (4).png", "A.png"]
    assert found.names[5:] == [composed, decomposed]
    assert [member.read() for member in found.members] == [png(i) for i in range(7)]
    assert "'a (3).png', 'a (4).png'" in found.notes[0]


def test_clutter_is_left_out_without_alarm(box: Path) -> None:
    clutter = ["__MACOSX/._good.png", ".DS_Store", "a/Thumbs.db", "desktop.ini", ".git/x.png"]
    found = gather(zip_file(box, {"good.png": png(), "a/": b"", **dict.fromkeys(clutter, b"x")}))
    assert found.names == ["good.png"]
    assert found.skipped == ()
    assert found.notes == ("box.zip: 5 hidden or system files are left out",)


def test_odd_names_are_escaped_and_load(box: Path) -> None:
    names = ["a\nb.png", "<b>.png", "=1+1.png", "\u202egnp.exe.png", " .png", "x" * 250 + ".png"]
    found = gather(zip_file(box, {name: png() for name in names}))
    assert found.names[0] == "a\\nb.png"
    assert found.names[3] == "\\u202egnp.exe.png"
    assert len(set(found.names)) == 6
    assert all(name.isprintable() for name in found.names)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"box.zip is empty \(0 bytes\)"),
        (b"Rar!\x1a\x07\x01\x00", "box.zip is a RAR archive: make a ZIP"),
        (b"7z\xbc\xaf\x27\x1c", "box.zip is a 7z archive: make a ZIP"),
        (b"\x1f\x8b\x08", "box.zip is a gzip archive: make a ZIP"),
        (png(), "box.zip is a PNG image, no ZIP archive"),
        (b"hello", "box.zip is no ZIP archive"),
        (raw_zip([GOOD])[:-30], "box.zip is incomplete or damaged: upload again"),
        (raw_zip([GOOD])[:200], "box.zip is incomplete or damaged: upload again"),
        (raw_zip([]), "box.zip holds no files"),
        (raw_zip([Entry(b"a/")]), "box.zip holds no files"),
        (raw_zip([Entry(b"a.png", png(), flags=1)]), "is password-protected: zip it again without"),
    ],
)
def test_what_is_no_good_archive_is_said(box: Path, data: bytes, reason: str) -> None:
    box.write_bytes(data)
    with pytest.raises(DataError, match=reason) as raised:
        gather(box)
    assert "\n" not in str(raised.value)


def test_uploads_are_called_by_their_own_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"0a1b": raw_zip([GOOD]), "2c3d": png(2)})
    assert gather(folder / "0a1b", name="C:\\mine\\box.ZIP").names == ["good.png"]
    assert gather(folder / "2c3d", name="two.png").members[0].read() == png(2)
    with pytest.raises(DataError, match=r"^page\.html is no image by its ending"):
        gather(folder / "2c3d", name="page.html")


def test_nothing_is_written(box: Path) -> None:
    found = of(box, Entry(b"../out.png", png()), Entry(b"deep/in.png", png()), GOOD)
    for member in found.members:
        member.read()
    assert list(box.parent.iterdir()) == [box]
