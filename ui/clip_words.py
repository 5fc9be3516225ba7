"""What the core says of CLIP models in the words of a page, which has fields and no options."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

# Strict, for a finding may come with a backup from anywhere, and this is run by a person.
_WORD = r"""(?:\w[\w.\-/]*|--local-dir \w[\w.\-]*|--include "\*\.\w+")"""
FETCHED_BY = re.compile(rf"\brun (hf download(?: {_WORD})+) where there is a connection")


def on_screen(error: str, below: str = "") -> str:
    """What is wrong and what to do, where the core speaks of the command line's options.

    ``below`` tells where the steps are that bring a model by hand.
    """
    if FETCHED_BY.search(error):
        return error.partition(" — ")[0] + below
    said = error.replace("with --weights FILE", "as the model file")
    return said.replace("with --model", "as the CLIP model")


def command(*words: str) -> str:
    """What to type in the program's folder."""
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    else:
        python = Path(python.stem)  # a path elsewhere on the server is nobody's business
    return shlex.join([str(python), "-m", "eap_core", *words])
