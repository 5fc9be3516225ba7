"""A folder of small real data sets that the tests of the study share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.eap_core.study.sklearn_sets import write_sets


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sets(tmp_path_factory.mktemp("sets"))
