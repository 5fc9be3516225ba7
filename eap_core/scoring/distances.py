"""Squared Euclidean distances, block by block within a memory budget.

Exact in two senses. Every entry has full relative precision: with few columns the differences are
summed directly; with many, |x|² + |y|² − 2x·y is a matrix product, and each entry in which it
cancels is computed again from the differences. And every entry has the same bits whatever the
block and the budget: products are always taken over the same grid of tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import SettingsError
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats

MEMORY_BUDGET = 1_000_000_000
_TILE = 64  # rows of one matrix product; part of the result's identity, so no setting
_DIRECT_COLUMNS = 32  # up to here summing differences is about as fast as the product
_CANCELLED = 1e-3  # below this share of |x|² + |y|² the product has lost too many digits
_CACHED_BYTES = 2_000_000  # a block about this large stays in the processor's cache
_LIVE_ARRAYS = 8  # arrays of a block's size that are alive at once in one worker

Result = TypeVar("Result")


class SquaredDistances:
    """The squared distances from each of ``rows`` to each of ``columns``, a block at a time.

    One that is visited again keeps the whole matrix when it takes no more than half of the budget,
    and computes it anew on each visit otherwise.
    """

    def __init__(
        self,
        rows: Floats,
        columns: Floats,
        budget: int = MEMORY_BUDGET,
        visited_again: bool = True,
    ) -> None:
        import joblib  # slow to import, as are the two below

        self._tiles = _direct(rows, columns) if _few(columns) else _Products(rows, columns)
        self.shape = (len(rows), len(columns))
        tile_bytes = 8 * _TILE * max(len(columns), 1)
        self.workers = max(1, min(joblib.cpu_count(), budget // (tile_bytes * _LIVE_ARRAYS)))
        least = tile_bytes * _LIVE_ARRAYS * self.workers
        if budget < least:
            raise SettingsError(
                f"a memory budget of {budget / 1e9:.2g} GB is too small for {len(columns):,} "
                "training rows",
                advice=f"give at least {least / 1e9:.2g} GB or fewer rows",
            )
        kept = 8 * len(rows) * len(columns)
        keep = visited_again and kept <= min(budget // 2, budget - least)
        self._whole = np.empty(self.shape) if keep else None
        room = budget if self._whole is None else budget - kept
        self.block_rows = _TILE * int(min(room // least, max(1, _CACHED_BYTES // tile_bytes)))
        self._filled = [False] * len(self.blocks())

    def blocks(self) -> list[slice]:
        """The rows of each block."""
        n = self.shape[0]
        return [slice(i, min(i + self.block_rows, n)) for i in range(0, n, self.block_rows)]

    def map(
        self,
        work: Callable[[slice, Floats], Result],
        progress: Progress = silent,
        step: str = "distances",
    ) -> Iterator[Result]:
        """``work(rows, distances of these rows)`` for each block, in order, on all cores."""
        from threadpoolctl import threadpool_limits

        blocks = self.blocks()
        if len(blocks) == 1:  # a pool would take longer than the work
            yield work(blocks[0], self._block(0))
            progress(1.0, step)
            return
        with (
            threadpool_limits(1, user_api="blas"),  # one thread a block; the blocks are parallel
            ThreadPoolExecutor(self.workers) as pool,
        ):
            try:
                done = pool.map(lambda b: work(blocks[b], self._block(b)), range(len(blocks)))
                for b, result in enumerate(done):
                    yield result
                    progress((b + 1) / len(blocks), step)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _block(self, b: int) -> Floats:
        start = b * self.block_rows
        rows = slice(start, min(start + self.block_rows, self.shape[0]))
        if self._whole is None:
            return self._compute(rows)
        if not self._filled[b]:
            self._whole[rows] = self._compute(rows)
            self._filled[b] = True
        return self._whole[rows]

    def _compute(self, rows: slice) -> Floats:
        if rows.stop - rows.start <= _TILE:
            return self._tiles(rows)
        out = np.empty((rows.stop - rows.start, self.shape[1]))
        for start in range(rows.start, rows.stop, _TILE):
            tile = slice(start, min(start + _TILE, rows.stop))
            out[tile.start - rows.start : tile.stop - rows.start] = self._tiles(tile)
        return out


def squared_distances(rows: Floats, columns: Floats) -> Floats:
    """The whole matrix at once, for a few rows."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(rows, columns, "sqeuclidean"))


def _few(columns: Floats) -> bool:
    return int(columns.shape[1]) <= _DIRECT_COLUMNS


def _direct(rows: Floats, columns: Floats) -> Callable[[slice], Floats]:
    return lambda tile: squared_distances(rows[tile], columns)


class _Products:
    """Tiles by matrix product, with the entries in which it cancels computed directly."""

    def __init__(self, rows: Floats, columns: Floats) -> None:
        # Far from the origin the product would cancel everywhere.
        centre = columns.mean(axis=0)
        self._columns = columns - centre
        self._rows = self._columns if rows is columns else rows - centre
        self._row_norms = np.einsum("ij,ij->i", self._rows, self._rows)
        self._column_norms = np.einsum("ij,ij->i", self._columns, self._columns)
        self._largest = self._column_norms.max()

    def __call__(self, tile: slice) -> Floats:
        rows, norms = self._rows[tile], self._row_norms[tile]
        # The last tile is filled up: the same shape means the same arithmetic.
        padded = np.zeros((_TILE, rows.shape[1]))
        np.multiply(rows, -2.0, out=padded[: len(rows)])
        out: Floats = (padded @ self._columns.T)[: len(rows)]
        out += self._column_norms
        out += norms[:, None]
        # A quick test against the largest norm first; what it lets through is exact already.
        i, j = np.nonzero(out < _CANCELLED * (norms[:, None] + self._largest))
        bad = out[i, j] < _CANCELLED * (norms[i] + self._column_norms[j])
        self._mend(out, rows, i[bad], j[bad])
        return out

    def _mend(
        self, out: Floats, rows: Floats, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp]
    ) -> None:
        if 4 * len(i) > out.size:
            out[:] = squared_distances(rows, self._columns)
            return
        step = max(1, out.size // rows.shape[1])  # the differences take no more than the tile
        for start in range(0, len(i), step):
            at = slice(start, start + step)
            gaps = rows[i[at]] - self._columns[j[at]]
            out[i[at], j[at]] = np.einsum("ij,ij->i", gaps, gaps)
