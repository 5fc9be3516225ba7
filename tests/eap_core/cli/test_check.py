"""Every bad file of the collection through ``check``, as its manifest says."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from eap_core.base.errors import EapError
from eap_core.cli import app
from tests.bad_files import bad_file, cases

OPTIONS = {"normal": "--normals", "labelled": "--train", "images": "--images"}
EXIT_CODES = {"accept": {0, 1}, "warn": {1}, "reject": {2}}
# Two of the manifest's warnings leave the choice between a warning and a refusal that says why.
EITHER = {"csv_two_rows.csv": {1, 2}, "csv_thousands.csv": {1, 2}, "img_animated.gif": {1, 2}}
# Of a slip the good member loads, and the bad one is refused by its name.
SLIPS = ("zip_slip_dotdot.zip", "zip_slip_absolute.zip", "zip_slip_backslash.zip")


@pytest.mark.parametrize("case", cases())
def test_each_bad_file_behaves_as_expected(case: dict[str, str]) -> None:
    words = ["check", OPTIONS.get(case["role"], "--candidates"), str(bad_file(case["file"]))]
    beside_normals = case["file"].startswith(("val_columns", "val_candidates"))
    if beside_normals:
        words += ["--normals", str(bad_file("ok_normal.csv"))]
    done = CliRunner().invoke(app, words)
    code = 2 if isinstance(done.exception, EapError) else done.exit_code
    if case["file"] in SLIPS:
        assert code == 1
        assert "1 candidates" in done.stdout
        assert "warning: " in done.stderr
        return
    assert code in EITHER.get(case["file"], EXIT_CODES[case["expected"]]), done.output
    if code == 2:
        message = str(done.exception)
        assert case["file"] in message or case["role"] in ("normal", "labelled"), message
        assert "\n" not in message
        assert "Traceback" not in message
