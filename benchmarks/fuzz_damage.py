"""Random damage to files: flipped bits, cuts, pieces of other files, repeats and lying numbers."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import numpy as np

LIES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
Rng = np.random.Generator


def mutated(data: bytes, other: bytes, rng: Rng) -> bytes:
    """One to six random damages; PNG checksums are often put right, or little would get through."""
    held = bytearray(data)
    for _ in range(int(rng.integers(1, 7))):
        damage = DAMAGES[int(rng.integers(len(DAMAGES)))]
        held = damage(held or bytearray(b"\0"), other, rng)
    if held.startswith(b"\x89PNG") and rng.random() < 0.8:
        held = _with_right_checksums(held)
    return bytes(held)


def _flip(data: bytearray, _: bytes, rng: Rng) -> bytearray:
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return data


def _cut(data: bytearray, _: bytes, rng: Rng) -> bytearray:
    return data[: int(rng.integers(len(data) + 1))]


def _splice(data: bytearray, other: bytes, rng: Rng) -> bytearray:
    at, start = int(rng.integers(len(data))), int(rng.integers(len(other)))
    piece = other[start : start + int(rng.integers(1, 200))]
    return data[:at] + piece + data[at + int(rng.integers(0, 200)) :]


def _repeat(data: bytearray, _: bytes, rng: Rng) -> bytearray:
    at = int(rng.integers(len(data)))
    piece = data[at : at + int(rng.integers(1, 100))]
    return data[:at] + piece * int(rng.integers(2, 300)) + data[at:]


def _lie(data: bytearray, _: bytes, rng: Rng) -> bytearray:
    value = LIES[int(rng.integers(len(LIES)))]
    form = ("<H", ">H", "<L", ">L")[int(rng.integers(4))]
    size = struct.calcsize(form)
    if len(data) < size:
        return data
    at = int(rng.integers(len(data) - size + 1))
    data[at : at + size] = struct.pack(form, value & (2 ** (8 * size) - 1))
    return data


DAMAGES: tuple[Callable[[bytearray, bytes, Rng], bytearray], ...]
DAMAGES = (_flip, _flip, _cut, _splice, _repeat, _lie, _lie)


def _with_right_checksums(data: bytearray) -> bytearray:
    at = 8
    while at + 12 <= len(data):
        [length] = struct.unpack_from(">L", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            break
        struct.pack_into(">L", data, end, zlib.crc32(data[at + 4 : end]))
        at = end + 4
    return data
