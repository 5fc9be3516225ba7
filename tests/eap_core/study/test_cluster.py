"""A study on a real dask cluster of two workers, one of which is killed on the way."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from eap_core.base.errors import SettingsError
from eap_core.study.plan import plan_study
from eap_core.study.report import frame_of
from eap_core.study.run import on_cluster, on_this_machine, run_cells
from tests.browser.app_server import ROOT

WORKER = ["worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]


def started(*given: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *given],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def address() -> Iterator[str]:
    port = free_port()
    scheduler = started("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    try:
        yield f"tcp://127.0.0.1:{port}"
    finally:
        scheduler.kill()
        scheduler.wait()


def test_a_lost_worker_costs_no_cell(sets: Path, tmp_path: Path, address: str) -> None:
    names = ["ones", "threes"]
    plan = plan_study(sets, tmp_path, names, ("eap", "rarity", "random"), seeds=3, points=4)
    cells = plan.cells()
    here = run_cells(cells, tmp_path / "here", on_this_machine(2))
    folder = str(tmp_path)
    workers = [started(*WORKER, address, "--local-directory", folder) for _ in range(2)]
    killed: list[float] = []

    def kill_one(share: float, _step: str) -> None:
        if 0 < share < 1 and not killed:  # the first cell is there, others are at work
            workers[0].kill()
            workers[0].wait()
            killed.append(share)

    try:
        there = run_cells(cells, tmp_path / "there", on_cluster(address), progress=kill_one)
        assert killed == [1 / 6]
        assert workers[1].poll() is None
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert there.failed == here.failed == ()
    pd.testing.assert_frame_equal(frame_of(there.results), frame_of(here.results), check_exact=True)


def test_no_scheduler_is_said_with_the_command_that_starts_one(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eap_core.study.run._PATIENCE", 1)
    cells = plan_study(sets, tmp_path, ["ones"], ("eap",), 1, 2).cells()
    began = time.monotonic()
    with pytest.raises(SettingsError, match=r"no scheduler answers at.*`dask scheduler`"):
        run_cells(cells, tmp_path, on_cluster(f"tcp://127.0.0.1:{free_port()}"))
    assert time.monotonic() - began < 60
