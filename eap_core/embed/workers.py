"""One image per thread, each computed by a single thread, so that the number of cores changes
the time and no bit of the result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import joblib
from threadpoolctl import threadpool_limits

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
    import torch

    count = min(_MOST, joblib.cpu_count())
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))
    try:
        with threadpool_limits(1, user_api="blas"):
            yield Workers(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)
