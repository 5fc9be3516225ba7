"""The program's own ``main`` in this process: a process of its own would import everything anew."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from eap_core.cli import main


@dataclass(frozen=True)
class Ended:
    """What is left of a command, as of a process that ended."""

    returncode: int
    stdout: str
    stderr: str


def command(*words: str) -> Ended:
    """Both streams are files, not terminals, as those of a process that a test starts."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    code: object = 0
    with (
        mock.patch.object(sys, "argv", ["eap_core", *words]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    assert code is None or isinstance(code, int)
    return Ended(code or 0, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
