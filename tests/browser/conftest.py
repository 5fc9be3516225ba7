"""A real Chromium and a real server for what only a browser shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, expect, sync_playwright

from eap_core.store.store import Store, open_store
from tests.browser.app_server import AppServer
from tests.browser.scored import scored_table
from tests.browser.tabs import WAIT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
expect.set_options(timeout=WAIT)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=found, args=QUIET, timeout=WAIT)
        except Error:
            pytest.skip("no Chromium is installed, and none could be had")
        yield started
        started.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Without tabs at first; those of a test that failed must not go on asking the server."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app, which a test may also look at from behind: its store is in ``running.home``."""
    started = AppServer(tmp_path_factory.mktemp("home"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def server(running: AppServer) -> str:
    """The address of the app."""
    return running.address


@pytest.fixture
def behind(running: AppServer) -> Iterator[Store]:
    """The server's own store, seen from behind."""
    opened = open_store(running.home)
    yield opened
    opened.close()


@pytest.fixture
def project(behind: Store, tmp_path: Path) -> str:
    """A scored table of its own for each test."""
    return scored_table(behind, tmp_path)
