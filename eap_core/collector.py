"""Python's search for garbage, paused while a great many objects are made that all stay.

It would look at all of them again and again and find nothing, which doubles the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pausing = 0


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause it, also from several threads at once; the last one to leave lets it go on."""
    global _pausing
    with _lock:
        _pausing += 1
        was_on = gc.isenabled() or _pausing > 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing and was_on:
                gc.enable()
