"""What turns images into rows of numbers: one protocol for every model behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, EapError, escape_controls, quote, require
from eap_core.base.files import FeatureCache
from eap_core.base.progress import Cancelled, Progress, silent
from eap_core.base.table import Bools, Floats

if TYPE_CHECKING:
    from PIL import Image

Heat = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ImageSource:
    """An image that is opened when it is needed: upright, in RGB, the same for the same sha256."""

    sha256: str
    open: Callable[[], Image.Image]


@dataclass(frozen=True, eq=False)
class Embedding:
    """One row of numbers per image, and where each image differs from the normals.

    ``heat[i]`` is a coarse map of image i, larger where it is unlike every normal; None where the
    model has no such map. ``notes`` say what was chosen or is weak. Columns that are not
    ``standardised`` are as the model gives them, each with a scale of its own.
    """

    values: Floats
    heat: Heat | None
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    standardised: bool = True

    def __post_init__(self) -> None:
        if not np.isfinite(self.values).all():
            raise FloatingPointError("image features that are not finite")
        for array in (self.values, self.heat):
            if array is not None:
                array.setflags(write=False)


class Embedder(Protocol):
    """A model and its recipe; one that needs no examples of normal images ignores ``normal``.

    ``title`` is its name on screen, ``summary`` what it looks at, ``seconds`` what an image takes,
    roughly, on two cores.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    def embed(
        self,
        images: Sequence[ImageSource],
        normal: Bools,
        cache: FeatureCache,
        progress: Progress = silent,
    ) -> Embedding:
        """A row for each image; ``normal`` marks the training images known to be normal."""
        ...


def check_images(images: Sequence[ImageSource], normal: Bools) -> None:
    """Refuse marks that do not fit, and images among which none is known to be normal."""
    if len(normal) != len(images):
        raise DataError(
            f"there are {len(normal):,} marks for {len(images):,} images",
            advice="one each",
        )
    if not np.any(normal):
        raise DataError(
            f"none of the {len(images):,} images is known to be normal",
            advice="mark some as normal",
        )


# One image per thread, each computed by a single thread, so that the number of cores changes
# the time and no bit of the result.

_MOST = 8  # each holds some hundred megabytes while it computes
_AHEAD = 2  # images opened before a thread is free

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """Threads that compute while the caller's own thread opens the next images."""

    pool: ThreadPoolExecutor
    count: int

    def in_order(self, items: Iterable[Item], work: Callable[[Item], Result]) -> Iterator[Result]:
        """``work(item)`` for each, in order; items are drawn only a few ahead of need."""
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self.pool.submit(work, item))
            if len(waiting) >= self.count + _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def single_threaded_workers() -> Iterator[Workers]:
    """As many threads as cores, in each of which torch uses one; its own setting is restored."""
    require("torch", "images")
    import joblib
    import torch
    from threadpoolctl import threadpool_limits

    count = min(_MOST, joblib.cpu_count())
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))
    try:
        with threadpool_limits(1, user_api="blas"):
            yield Workers(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)


# How far a run over many images is, in words a person can follow.

_LOOKING = 0.98  # of the time; the rest is arithmetic


@dataclass
class Tally:
    """Counts images as they are done and tells the progress function."""

    progress: Progress
    total: int
    done: int = 0

    def begin(self) -> None:
        if self.total:
            self._tell(f"looking at image 1 of {self.total:,}")

    def one_more(self) -> None:
        self.done += 1
        self.total = max(self.total, self.done)
        self._tell(f"looking at image {min(self.done + 1, self.total):,} of {self.total:,}")

    def meanwhile(self, step: str) -> None:
        """Work between two images."""
        self._tell(step)

    def _tell(self, step: str) -> None:
        self.progress(_LOOKING * self.done / self.total if self.total else _LOOKING, step)


# An image as the network sees it: squashed to a square, and grey where it carries no colour.

_TINT = 6  # grey levels by which JPEG lets the channels of a grey image differ
_REASON = 200  # characters of a foreign message


@dataclass(frozen=True, eq=False)
class Square:
    """``pixels[y, x, channel]`` of an image, and whether the image itself was grey."""

    pixels: npt.NDArray[np.uint8]
    grey: bool


def square(source: ImageSource, side: int, without_colour: bool) -> Square:
    """Open an image and squash it; one that is grey by itself is made exactly so."""
    from PIL import Image

    small = open_picture(source).convert("RGB").resize((side, side), Image.Resampling.BICUBIC)
    grey = bool(np.ptp(np.asarray(small), axis=2).max() <= _TINT)
    if grey or without_colour:
        small = small.convert("L").convert("RGB")
    return Square(np.array(small), grey)


def open_picture(source: ImageSource) -> Image.Image:
    """The whole picture, or a DataError that says why there is none."""
    try:
        image = source.open()
        image.load()  # a lazy file fails here, with its name, and not later without
    except Cancelled:
        raise
    except Exception as error:
        raise _explain_unopened(source, error) from error
    return image


def _explain_unopened(source: ImageSource, error: Exception) -> DataError:
    what = f"the image with sha256 {quote(source.sha256)} cannot be opened"
    if isinstance(error, EapError):
        reason = str(error.with_advice(""))
        return DataError(f"{what} — {reason}", advice=error.advice, code=error.code)
    message = escape_controls(str(error)[:_REASON]) or type(error).__name__
    return DataError(f"{what} — {message}", advice="check the file, or leave it out")
