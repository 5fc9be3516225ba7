"""A store of its own for each test, which worker processes find by the environment; real rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eap_core.store.store import Store, open_store
from tests.eap_core.study.sklearn_sets import write_sets


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "home"))
    opened = open_store()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small real data sets, which no test changes."""
    return write_sets(tmp_path_factory.mktemp("sets"))
