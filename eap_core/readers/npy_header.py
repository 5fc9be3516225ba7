"""What an array in an NPY file claims to be, checked before any of it is read."""

from __future__ import annotations

import math
import tokenize
import warnings
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.lib import format as npy

from eap_core.errors import DataError, shown

# numpy evaluates a header as a literal, which a hostile one can break in any of these ways.
_BROKEN_HEADER = (
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
    OverflowError,
    EOFError,
    Warning,
)
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True)
class ArrayHeader:
    """Name, shape and type of an array, and where in its file the values start."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    fortran_order: bool
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def size(self) -> str:
        """The shape as people write it."""
        return "×".join(f"{n}" for n in self.shape) or "a single value"

    def __str__(self) -> str:
        return f"array {shown(self.name)} of shape {self.shape} and type {self.dtype}"


def read_header(stream: IO[bytes], name: str, size: int, source: str) -> ArrayHeader:
    """The header of an array that takes ``size`` bytes in all, if its claims fit that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy mends headers of Python 2 with a warning
            version = npy.read_magic(stream)
            shape, fortran_order, dtype = _READERS[version](stream)
    except _BROKEN_HEADER:
        raise DataError(
            f"{source}: array {shown(name)} has a damaged or unknown header — "
            "save it again with numpy.save or numpy.savez"
        ) from None
    header = ArrayHeader(name, shape, dtype, fortran_order, stream.tell())
    if dtype.hasobject:
        raise DataError(
            f"{source}: array {shown(name)} holds Python objects, which are never loaded — "
            "save it as numbers or text"
        )
    if min(shape, default=0) < 0 or header.start + header.nbytes != size:
        raise DataError(
            f"{source}: {header} claims {header.nbytes:,} bytes but has "
            f"{max(0, size - header.start):,} — the file is damaged: save it again"
        )
    return header
