"""Where the server may be reached, and which images it gives out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from eap_core.store.store import open_store
from tests.eap_core.project.conftest import picture
from ui import files

ROOT = Path(__file__).parents[2]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "home"))
    st.cache_resource.clear()
    return TestClient(Starlette(routes=files.picture_routes()))


def test_an_image_is_encoded_anew_and_may_be_kept_for_ever(
    client: TestClient, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "home")
    sha256 = store.blobs.put(picture(1, 60))
    store.close()
    for size, kind in (("small", "image/webp"), ("large", "image/jpeg")):
        found = client.get(files.picture_address(sha256, size))
        assert found.status_code == 200
        assert found.headers["content-type"] == kind
        assert "immutable" in found.headers["cache-control"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.content != picture(1, 60)
    # a lost thumbnail was made again, and kept
    store = open_store(tmp_path / "home")
    assert store.blobs.thumbnail_path(sha256).read_bytes().startswith(b"RIFF")
    store.close()


@pytest.mark.parametrize(
    "path",
    [
        "/picture/small/" + "0" * 64,
        "/picture/large/" + "0" * 64,
        "/picture/small/..%2f..%2fstore.db",
        "/picture/original/" + "0" * 64,
        "/picture/small/" + "A" * 64,
    ],
)
def test_what_is_no_image_of_the_store_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_stored_file_that_is_no_image_is_not_given_out(
    client: TestClient, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "home")
    sha256 = store.blobs.put(b"<script>alert(1)</script>")
    store.close()
    for size in ("small", "large"):
        assert client.get(files.picture_address(sha256, size)).status_code == 404


def test_it_does_not_start_where_strangers_reach_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    done = subprocess.run(
        [*command, "--server.port", "1", "--server.address", "0.0.0.0"],
        cwd=ROOT,
        env={**os.environ, "EAP_HOME": str(tmp_path), "EAP_OPEN": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "open to everybody who reaches 0.0.0.0" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
