"""Studies that are interrupted, killed or given bad data finish, with the same figures."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from eap_core.base.errors import EapError
from eap_core.study.plan import StudyPlan, plan_study
from eap_core.study.report import frame_of
from eap_core.study.run import (
    Cell,
    Compute,
    FailedCell,
    Finished,
    outcome_of,
    read_result,
    run,
    run_cells,
    run_locally,
)
from tests.browser.app_server import ROOT
from tests.eap_core.command import command

FAST = ("eap", "rarity", "random")


def plan(folder: Path, out: Path, seeds: int = 2, points: int = 2) -> StudyPlan:
    return plan_study(folder, out / "features", ["ones", "threes"], FAST, seeds, points)


def here(cells: Sequence[Cell]) -> Iterator[Finished]:
    """In this process, one after another."""
    for cell in cells:
        yield cell, outcome_of(cell, partial(run, cell))


def figures(folder: Path, out: Path, compute: Compute) -> pd.DataFrame:
    outcome = run_cells(plan(folder, out).cells(), out / "cells", compute)
    assert outcome.failed == ()
    return frame_of(outcome.results)


@pytest.fixture(scope="module")
def expected(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return figures(sets, tmp_path_factory.mktemp("expected"), here)


def test_processes_compute_what_one_would(
    sets: Path, tmp_path: Path, expected: pd.DataFrame
) -> None:
    pd.testing.assert_frame_equal(
        figures(sets, tmp_path, partial(run_locally, 2)), expected, check_exact=True
    )


def test_what_is_there_is_not_computed_again(sets: Path, tmp_path: Path) -> None:
    cells = plan(sets, tmp_path).cells()
    seen: list[str] = []

    def watched(left: Sequence[Cell]) -> Iterator[Finished]:
        for finished in here(left):
            seen.append(finished[0].name)
            yield finished
            if len(seen) == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path, watched)
    done, said = list(seen), []
    seen.clear()
    run_cells(cells, tmp_path, watched, progress=lambda _share, step: said.append(step))
    assert len(done) == 3
    assert seen == [cell.name for cell in cells if cell.name not in done]
    assert said[0] == "3 of 4"
    seen.clear()
    run_cells(cells[:2], tmp_path, watched, resume=False)
    assert len(seen) == 2


def test_other_settings_and_damaged_files_are_computed_anew(sets: Path, tmp_path: Path) -> None:
    [cell, *_] = plan(sets, tmp_path).cells()
    run_cells([cell], tmp_path, here)
    assert read_result(cell, tmp_path) is not None
    [other, *_] = plan(sets, tmp_path, points=3).cells()
    assert other.key != cell.key
    assert read_result(other, tmp_path) is None
    [file] = tmp_path.glob("*.json")
    good = file.read_text()
    file.write_text(good.replace(cell.key, other.key))  # another's result in its place
    assert read_result(cell, tmp_path) is None
    file.write_text(good[:-9])
    assert read_result(cell, tmp_path) is None
    assert run_cells([cell], tmp_path, here).results


def test_a_killed_process_costs_no_cell(sets: Path, tmp_path: Path, expected: pd.DataFrame) -> None:
    killed: list[int] = []
    finished = threading.Event()

    def kill_one() -> None:
        """The first of the processes that has started to compute."""
        while not killed and not finished.wait(0.05):
            for child in psutil.Process().children():
                with suppress(psutil.Error):  # it may end at any moment
                    if "spawn_main" in " ".join(child.cmdline()) and child.cpu_times().user > 1:
                        child.kill()
                        killed.append(child.pid)
                        break

    thread = threading.Thread(target=kill_one)
    thread.start()
    try:
        found = figures(sets, tmp_path, partial(run_locally, 2))
    finally:
        finished.set()
        thread.join()
    assert len(killed) == 1
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_a_cell_that_kills_its_process_is_reported_alone(sets: Path, tmp_path: Path) -> None:
    cells = plan(sets, tmp_path).cells()
    bad = _Deadly(**{name: getattr(cells[0], name) for name in cells[0].__dataclass_fields__})
    outcome = run_cells([bad, *cells[1:]], tmp_path, partial(run_locally, 2))
    assert [one.cell.name for one in outcome.failed] == [bad.name]
    assert "ended from outside" in outcome.failed[0].reason
    assert len(outcome.results) == 3


class _Deadly(Cell):
    """Ends the process that unpacks it."""

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (9,)


def test_bad_data_fail_with_their_sentence_and_others_go_on(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for file in (sets / "CV_by_pixels").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "nameless.csv").write_text("a,b\n1,2\n3,4\n")
    cells = plan_study(folder, tmp_path, ["ones", "nameless"], FAST, 1, 2).cells()
    outcome = run_cells(cells, tmp_path / "cells", partial(run_locally, 2))
    assert [one.cell.data.name for one in outcome.failed] == ["nameless"]
    assert "nameless.csv has no label column" in outcome.failed[0].reason
    assert outcome.failed[0].details == ""
    assert len(outcome.results) == 1


def test_a_mistake_of_the_program_is_told_with_its_place(sets: Path, tmp_path: Path) -> None:
    [cell, *_] = plan(sets, tmp_path).cells()
    found = outcome_of(cell, lambda: {"a": 1}["b"])  # type: ignore[arg-type,return-value]
    assert isinstance(found, FailedCell)
    assert found.reason.startswith("KeyError")
    assert "test_running.py" in found.details


def test_a_folder_that_cannot_be_written_to_is_said(sets: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EapError, match="cannot be written"):
        run_cells(plan(sets, tmp_path).cells(), tmp_path / "file" / "cells", here)


PROGRAM = [sys.executable, "-m", "eap_core"]


def words(folder: Path, out: Path) -> list[str]:
    given = f"study --data {folder} --out {out} --datasets ones,threes --seeds 2 --curve-points 2"
    return [*given.split(), "--evaluators", ",".join(FAST)]


def test_a_killed_study_goes_on_to_the_same_bytes(
    sets: Path, tmp_path: Path, expected: pd.DataFrame
) -> None:
    out = tmp_path / "out"
    given = [*PROGRAM, *words(sets, out)]
    first = subprocess.Popen(given, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert first.stderr is not None
    for line in first.stderr:
        if line.startswith("1 of 4"):
            break
    children = psutil.Process(first.pid).children(recursive=True)
    first.kill()
    for child in children:
        child.kill()
    first.wait()
    first.stderr.close()
    assert not (out / "report.html").exists()
    again = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "0 of 4" not in again.stderr
    whole = tmp_path / "whole"
    assert command(*words(sets, whole)).returncode == 0
    for name in ("cells.parquet", "table.csv", "sweep.csv", "comparison.csv", "report.html"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    read = pd.read_parquet(out / "cells.parquet")
    for name in ("AUC_qlt", "AULC_g", "ACC_g", "AULC_p"):
        np.testing.assert_array_equal(read[name], expected[name])


def test_the_command_line_reports_failed_cells(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "ones.npz").write_bytes((sets / "CV_by_pixels" / "ones.npz").read_bytes())
    (folder / "torn.npz").write_bytes(b"PK\x03\x04 torn")
    given = ["--datasets", "ones,torn", "--seeds", "1", "--curve-points", "2"]
    ended = command(*words(folder, tmp_path / "out")[:5], *given, "--evaluators", "eap")
    assert ended.returncode == 1
    assert "failed: torn, seed 0: torn.npz" in ended.stderr
    assert "torn.npz" in (tmp_path / "out" / "failed.txt").read_text()
    assert "torn.npz" in (tmp_path / "out" / "report.html").read_text()
    assert set(pd.read_parquet(tmp_path / "out" / "cells.parquet")["dataset"]) == {"ones"}
