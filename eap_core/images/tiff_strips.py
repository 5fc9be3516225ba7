"""In how many strips or tiles a TIFF file keeps its first picture, by its directory alone.

The decoder makes an object of each before anything can be asked: millions take minutes.
"""

from __future__ import annotations

import struct

_TAGS = (273, 324)  # where the strips, or the tiles, start


def strips_of(data: bytes) -> int:
    """The number claimed; 0 where there is no directory, which the decoder will say."""
    order = "<" if data.startswith(b"II") else ">"
    big = data[2:4] in (b"+\0", b"\0+")
    entry = struct.Struct(f"{order}HHQ8x" if big else f"{order}HHL4x")
    number = struct.Struct(f"{order}Q" if big else f"{order}H")
    try:
        [start] = struct.unpack_from(f"{order}Q" if big else f"{order}L", data, 8 if big else 4)
        [count] = number.unpack_from(data, start)
        first = start + number.size
        fitting = min(count, (len(data) - first) // entry.size)
    except (struct.error, OverflowError):
        return 0
    entries = entry.iter_unpack(data[first : first + fitting * entry.size])
    return max((claimed for tag, _, claimed in entries if tag in _TAGS), default=0)
