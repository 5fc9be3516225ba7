"""An archive is judged before it is unpacked; no more than it declares comes out of it."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest

from eap_core.base.archive import (
    ExcessError,
    LongDirectoryError,
    MemberFault,
    MemberStream,
    OverlapError,
    ZipLimits,
    find_fault,
    place_members,
    read_directory,
    unpack_pieces,
)
from tests.eap_core.images.samples import Entry, raw_zip

LARGE = bytes(range(256)) * 4_000


def packed(*entries: Entry) -> io.BytesIO:
    return io.BytesIO(raw_zip(entries))


def test_members_come_out_in_pieces_as_they_were() -> None:
    entries = [Entry(b"a", LARGE), Entry(b"b", b""), Entry(b"c", LARGE, method=0)]
    file = packed(*entries)
    places = place_members(read_directory(file, 10_000))
    assert [b"".join(unpack_pieces(file, place)) for place in places] == [LARGE, b"", LARGE]
    assert max(len(piece) for place in places for piece in unpack_pieces(file, place)) <= 2**18


def test_two_members_can_be_read_in_turns() -> None:
    file = packed(Entry(b"a", LARGE, method=0), Entry(b"b", LARGE[::-1]))
    one, other = (unpack_pieces(file, p) for p in place_members(read_directory(file, 10_000)))
    pairs = list(zip(one, other, strict=False))
    assert b"".join(first for first, _ in pairs) == LARGE[: len(pairs) * 2**18]
    assert LARGE[::-1].startswith(b"".join(second for _, second in pairs))


def test_a_long_list_of_members_is_not_read() -> None:
    file = packed(*(Entry(b"%d" % i, b"x") for i in range(50)))
    assert len(read_directory(file, 10_000).entries) == 50
    with pytest.raises(LongDirectoryError):
        read_directory(file, 2_000)


@pytest.mark.parametrize("cut", [0, 10, 30, 60])
def test_damage_is_of_one_kind(cut: int) -> None:
    data = raw_zip([Entry(b"a", b"x" * 99)])
    end = data.rindex(b"PK\x05\x06")
    for damaged in (data[:cut], data[:end] + b"PK\x06\x07" + b"\xff" * 16 + data[end:]):
        with pytest.raises(zipfile.BadZipFile):
            read_directory(io.BytesIO(damaged), 10_000)
    before = io.BytesIO(data[: end + 16] + b"\xff\xff\xff\x7f" + data[end + 20 :])
    [place] = place_members(read_directory(before, 10_000))
    with pytest.raises(zipfile.BadZipFile):
        next(unpack_pieces(before, place))


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (Entry(b"a", b"x" * 100), None),
        (Entry(b"a", b"x", flags=0x1), "encrypted"),
        (Entry(b"a", b"x", flags=0x40), "encrypted"),
        (Entry(b"a", b"x", flags=0x2000), "encrypted"),
        (Entry(b"a", b"x", method=12), "method"),
        (Entry(b"a", b"x", method=14), "method"),
        (Entry(b"a", b"x", size=5_001), "size"),
        (Entry(b"a", bytes(4_000)), "ratio"),
        (Entry(b"a", bytes(900)), None),
    ],
)
def test_what_must_not_be_unpacked_is_found(entry: Entry, fault: MemberFault | None) -> None:
    [info] = read_directory(packed(entry), 10_000).entries
    assert find_fault(info, ZipLimits(size=5_000, ratio=10, ratio_from=1_000)) == fault
    if fault in ("size", "ratio"):
        assert find_fault(info, ZipLimits()) is None


def test_members_that_share_bytes_are_refused_by_name() -> None:
    twins = packed(Entry(b"a", b"x" * 99), Entry(b"b", b"y" * 99, offset=0))
    with pytest.raises(OverlapError) as raised:
        place_members(read_directory(twins, 10_000))
    assert set(raised.value.names) == {"a", "b"}


@pytest.mark.parametrize("method", [0, 8])
def test_more_than_declared_is_not_given(method: int) -> None:
    file = packed(Entry(b"a", LARGE, method=method, size=300_000))
    [place] = place_members(read_directory(file, 10_000))
    pieces = unpack_pieces(file, place)
    assert len(next(pieces)) <= 300_000
    with pytest.raises(ExcessError):
        next(pieces)


@pytest.mark.parametrize("wrong", [{"start": -5}, {"start": 3}, {"stop": 50}, {"start": 9**9}])
def test_a_member_that_is_elsewhere_is_refused(wrong: dict[str, int]) -> None:
    file = packed(Entry(b"a", LARGE))
    [place] = place_members(read_directory(file, 10_000))
    with pytest.raises(zipfile.BadZipFile):
        next(unpack_pieces(file, replace(place, **wrong)))


@pytest.mark.parametrize("wrong", [{"checksum": 1}, {"size": 2_000_000}])
def test_a_stream_is_checked_at_its_end(wrong: dict[str, int]) -> None:
    file = packed(Entry(b"a", LARGE))
    [place] = place_members(read_directory(file, 10_000))
    stream = MemberStream(file, place)
    assert (stream.read(5), stream.tell(), stream.read(0)) == (LARGE[:5], 5, b"")
    held = LARGE[:5]
    while piece := stream.read(70_000):
        held += piece
    assert (held, stream.tell()) == (LARGE, len(LARGE))
    stream = MemberStream(file, replace(place, **wrong))
    with pytest.raises(zipfile.BadZipFile):
        list(iter(lambda: stream.read(70_000), b""))
