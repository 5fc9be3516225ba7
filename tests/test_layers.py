"""The core is usable without the app, and light to import."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["eap_core", "eap_core.scoring", "eap_core.cli"])
def test_the_core_loads_neither_streamlit_nor_torch(module: str) -> None:
    code = f"import sys, {module}; print({{'streamlit', 'torch'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
