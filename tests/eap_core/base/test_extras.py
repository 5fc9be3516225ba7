"""Whoever lacks an extra reads one sentence with the command that installs it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from eap_core.analysis.neighbours import place_by_umap
from eap_core.base.errors import Extra, MissingExtraError, require
from eap_core.base.prepare import problem_from_tables
from eap_core.cli import start_app
from eap_core.features import network
from eap_core.features.base import single_threaded_workers
from eap_core.features.clip_hub import ModelSpec, recipe_of
from eap_core.project.demos import demo_tables
from eap_core.store.store import postgresql_engine
from eap_core.study.run import on_cluster

ROOT = Path(__file__).parents[3]


def open_workers() -> None:
    with single_threaded_workers():
        pass


USES: dict[tuple[str, Extra], Callable[[], object]] = {
    ("streamlit", "app"): start_app,
    ("umap", "app"): lambda: place_by_umap(problem_from_tables(*demo_tables()), 0),
    ("torch", "images"): open_workers,
    ("efficientnet_lite_pytorch", "images"): network.load.__wrapped__,
    ("open_clip", "clip"): lambda: recipe_of(ModelSpec()),
    ("distributed", "study"): lambda: on_cluster("tcp://127.0.0.1:1"),
    ("psycopg", "postgres"): lambda: postgresql_engine("postgresql://somebody@nowhere/store"),
}


@pytest.mark.parametrize(("package", "extra"), USES)
def test_a_missing_package_is_one_sentence_with_the_command(
    package: str, extra: Extra, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(MissingExtraError) as caught:
        USES[package, extra]()
    assert f"{package} is not installed" in str(caught.value)
    assert str(caught.value).endswith(f'run pip install "eap-curator[{extra}]"')
    assert "\n" not in str(caught.value)


def test_what_is_installed_is_not_complained_about() -> None:
    require("numpy", "images")


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*get_args(Extra)} == {*project["optional-dependencies"]}
    heavy = ("torch", "streamlit", "transformers", "distributed", "umap", "open_clip", "psycopg")
    assert not [need for need in project["dependencies"] if need.startswith(heavy)]
