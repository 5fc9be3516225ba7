"""A command that shows something loads nothing that only the work needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("scipy", "sklearn", "pandas", "pyarrow", "sqlalchemy", "joblib", "PIL", "matplotlib")
RUN = """
import runpy, sys
try:
    runpy.run_module("eap_core", run_name="__main__", alter_sys=True)
finally:
    print("loaded:", *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def names_loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout
    return set(done.stderr.partition("loaded: ")[2].split())


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("list",), ("list", "--json"), ("score", "--help"), ("app", "--help")],
)
def test_help_and_the_list_load_no_libraries_of_the_work(arguments: tuple[str, ...]) -> None:
    found = names_loaded_by(*arguments)
    assert "typer" in found
    assert not found & {*SLOW}
