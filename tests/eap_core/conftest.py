"""A store of its own for each test; worker processes find it by the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eap_core.store.opening import open_store
from eap_core.store.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "home"))
    opened = open_store()
    yield opened
    opened.close()
