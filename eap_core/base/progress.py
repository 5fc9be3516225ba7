"""How long work reports on itself: a function that is told the share done.

Whoever starts the work passes the function; raising :class:`Cancelled` inside it stops the work
between two steps. The core itself prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


class Cancelled(Exception):  # noqa: N818 -- a request that was granted, not an error
    """Raised by a progress function to stop the work it watches."""


def silent(share: float, step: str) -> None:
    """Report to nobody."""


def part_of(progress: Progress, start: float, stop: float) -> Progress:
    """A progress function for the stretch of a longer piece of work from start to stop."""

    def report(share: float, step: str) -> None:
        progress(start + (stop - start) * share, step)

    return report


def equal_parts(progress: Progress, count: int) -> list[Progress]:
    """A progress function for each of several equally long stretches."""
    return [part_of(progress, i / count, (i + 1) / count) for i in range(count)]
