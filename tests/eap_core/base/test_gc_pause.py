from __future__ import annotations

import gc
import threading

import pytest

from eap_core.base.files import pause_gc


def test_it_goes_on_after_the_last_of_several_left() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with pause_gc():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with pause_gc():
        thread.start()
        inside.wait(10)
    assert not gc.isenabled()  # the other one is still inside
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_it_goes_on_after_an_error_and_stays_off_if_it_was() -> None:
    with pytest.raises(ValueError, match="x"), pause_gc():
        raise ValueError("x")
    assert gc.isenabled()
    gc.disable()
    try:
        with pause_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
