"""The app on a store of its own, and a project to look at."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from eap_core import jobs
from eap_core.project.demos import NAMES, make_demo
from eap_core.store import projects
from eap_core.store.projects import Project
from eap_core.store.store import Store, open_store

APP = str(Path(__file__).parents[2] / "app.py")


@pytest.fixture(scope="session")
def scored_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the table demo, made once: each test that needs it gets a copy."""
    home = tmp_path_factory.mktemp("scored") / "home"
    opened = open_store(home)
    make_demo(opened, "table")
    opened.close()
    return home


@pytest.fixture
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Where the store will be; tests of one page may have one of their own."""
    if "demo" in request.fixturenames:
        shutil.copytree(request.getfixturevalue("scored_home"), tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(home))
    st.cache_resource.clear()
    opened = open_store()
    yield opened
    opened.close()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A page's work is done before the press of its button returns, without a process that would
    import everything anew; a test that is about the worker asks for ``real_worker``."""
    if "real_worker" not in request.fixturenames:
        monkeypatch.setattr(jobs, "_spawn", jobs.work_on)


@pytest.fixture
def real_worker() -> None:
    """Work in processes of their own, as people have it."""


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No hub to fetch from, and nothing fetched before."""
    # The client reads its variables when it is imported, which another test may have done.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def demo(store: Store) -> Project:
    return projects.find(store, NAMES["table"])


def visit(page: str = "", project: str | None = None, **linked: str) -> AppTest:
    """The app as a browser sees it that opens this page by a link."""
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in {"project": project, **linked}.items():
        if value:
            app.query_params[name] = value
    app.run()
    return app.switch_page(page).run() if page else app


def links(app: AppTest) -> dict[str, str | None]:
    """What can be downloaded from the page, and where from."""
    found = [one.proto for one in app.main if one.type == "bidi_component"]
    told = [json.loads(one.json) for one in found if one.component_name == "download"]
    return {one["label"]: one["address"] for one in told}


def until(app: AppTest, happened: Callable[[AppTest], bool], seconds: float = 90.0) -> AppTest:
    """Reload, as the page does by itself, until this is true of it."""
    end = time.monotonic() + seconds
    while not happened(app):
        if time.monotonic() > end:
            told = (*app.exception, *app.error, *app.markdown)
            pytest.fail(f"still waiting: {[each.value for each in told]}")
        time.sleep(0.3)
        app.run()
    return app
