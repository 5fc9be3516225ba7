"""Every test of the store runs on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eap_core.store import projects
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import Store, open_store
from tests.eap_core.store.postgres import Server, new_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = new_server(fsync=False)
    yield running
    running.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """The address of an empty database; None is the file in the home folder."""
    if request.param == "sqlite":
        return None
    running: Server = request.getfixturevalue("server")
    return running.new_database()


@pytest.fixture
def store(url: str | None, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "home", url)
    yield opened
    opened.close()


@pytest.fixture
def project(store: Store) -> str:
    return projects.create(store, "steel", "images").id


@pytest.fixture
def items(store: Store, project: str) -> list[Item]:
    """Ten candidates and two normals."""
    new = [NewItem(i, "candidate", f"c{i}") for i in range(10)]
    new += [NewItem(10 + i, "normal", f"n{i}") for i in range(2)]
    add_upload(store, project, NewUpload("all.csv", "csv"), new)
    return items_of(store, project)
