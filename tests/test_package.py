"""What is built is what people install: it works from anywhere, without the repository."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import eap_core

ROOT = Path(__file__).parents[1]
EXTRAS = ("torch", "streamlit", "plotly", "transformers", "open_clip", "umap", "dask",
          "distributed", "psycopg", "safetensors", "huggingface_hub")  # fmt: skip
BARE = f"""
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *how: None if name in {EXTRAS!r} else find(name, *how)
from eap_core.cli import main
main()
"""


@dataclass(frozen=True)
class Installed:
    wheel: Path
    place: Path

    @property
    def eap(self) -> list[str]:
        return [sys.executable, str(self.place / "bin" / "eap")]

    def environment(self, home: Path) -> dict[str, str]:
        mine = {k: v for k, v in os.environ.items() if not k.startswith(("EAP_", "STREAMLIT_"))}
        return {**mine, "PYTHONPATH": str(self.place), "EAP_HOME": str(home)}

    def run(self, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        environment = self.environment(folder / "home")
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    pip += ["--no-compile", "--disable-pip-version-check", "--target", str(folder / "site")]
    subprocess.run([*pip, str(wheel)], cwd=folder, check=True, capture_output=True)
    return Installed(wheel, folder / "site")


def test_the_wheel_holds_the_library_and_the_application_and_nothing_else(
    installed: Installed,
) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    dist = f"eap_curator-{eap_core.__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"eap_core", dist}
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name]
    for kind in ("py.typed", "study/report.css", "prompts/templates.csv", "study/paper_tables.csv"):
        assert f"eap_core/{kind}" in names
    for folder in ("pages", "ui", "assets"):
        here = {p.name for p in (ROOT / folder).iterdir() if p.is_file()}
        assert here == {n.rpartition("/")[2] for n in names if f"_app/{folder}/" in n}
    assert {"eap_core/_app/app.py", "eap_core/_app/.streamlit/config.toml"} <= {*names}


def test_the_library_is_imported_and_the_list_printed(installed: Installed, tmp_path: Path) -> None:
    code = "import eap_core; print(eap_core.__version__, eap_core.__file__)"
    found = installed.run([sys.executable, "-c", code], tmp_path).stdout.split()
    assert found == [eap_core.__version__, str(installed.place / "eap_core" / "__init__.py")]
    told = installed.run([*installed.eap, "list", "--json"], tmp_path)
    assert [row["name"] for row in json.loads(told.stdout)][:2] == ["eap", "rarity"]


def test_a_table_is_scored_without_any_extra(installed: Installed, tmp_path: Path) -> None:
    bare = [sys.executable, "-c", BARE]
    assert installed.run([*bare, "demo", "demo"], tmp_path).returncode == 0
    files = ["--train", "demo/train.csv", "--candidates", "demo/candidates.csv"]
    scored = installed.run([*bare, "score", *files, "--subsets", "0", "--json"], tmp_path)
    assert len(json.loads(scored.stdout)) == 160, scored.stderr


def test_a_project_without_the_extra_of_the_map_is_scored_and_says_so(
    installed: Installed, tmp_path: Path
) -> None:
    bare = [sys.executable, "-c", BARE]
    installed.run([*bare, "demo", "demo"], tmp_path)
    files = ["--data", "demo/train.csv", "--candidates", "demo/candidates.csv"]
    made = installed.run([*bare, "create", "tumours", *files, "--subsets", "0"], tmp_path)
    assert made.returncode == 0, made.stderr
    told = installed.run([*bare, "health", "tumours"], tmp_path)
    assert 'pip install "eap-curator[app]"' in told.stderr
    assert "Traceback" not in made.stderr + told.stderr


def test_the_app_without_its_extra_is_one_sentence(installed: Installed, tmp_path: Path) -> None:
    told = installed.run([sys.executable, "-c", BARE, "app"], tmp_path)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == (
        'error: streamlit is not installed, which this needs — run pip install "eap-curator[app]"\n'
    )


def test_a_worker_finds_the_package_where_it_is_installed(
    installed: Installed, tmp_path: Path
) -> None:
    code = f"""
import sys, time
sys.path.insert(0, {str(installed.place)!r})  # which a worker does not inherit
from eap_core import jobs
from eap_core.store import jobs as rows, projects
from eap_core.store.store import open_store
from pathlib import Path
store = open_store(Path("home"))
project = projects.create(store, "empty", "table")
job = jobs.launch(store, jobs.HealthJob(), project.id)
while rows.by_id(store, job.id).status in ("waiting", "queued", "running"):
    time.sleep(0.1)
print(rows.by_id(store, job.id).status)
store.close()
"""
    environment = installed.environment(tmp_path / "home")
    del environment["PYTHONPATH"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=environment, timeout=120,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() in ("finished", "failed"), done.stderr
    assert [log.read_text() for log in (tmp_path / "home" / "logs").iterdir()] == [""]


def test_the_app_answers_from_any_folder_on_this_machine_alone(
    installed: Installed, tmp_path: Path
) -> None:
    # What lies in the folder is not the program's, and must not open it to others.
    (tmp_path / "ui.py").write_text("raise SystemExit('another ui')")
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\n')
    port = free_port()
    command = [*installed.eap, "app", "--port", str(port)]
    environment = {**installed.environment(tmp_path / "home"), "STREAMLIT_SERVER_HEADLESS": "true"}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        assert ask(f"http://127.0.0.1:{port}/_stcore/health", server) == "ok"
        assert "URL: http://127.0.0.1" in (tmp_path / "log").read_text()
    finally:
        server.terminate()
        server.wait(30)


def test_the_app_refuses_other_addresses(installed: Installed, tmp_path: Path) -> None:
    command = [*installed.eap, "app", "--port", str(free_port()), "--address", "0.0.0.0"]
    told = installed.run(command, tmp_path)
    assert told.returncode == 1
    assert "would be open to everybody who reaches 0.0.0.0" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_lock_has_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    locked = {line.partition("==")[0] for line in lines}
    names = {
        need.partition(">")[0].partition("=")[0].partition("[")[0]
        for group in groups
        for need in group
    }
    plain = {name.lower().replace("_", "-") for name in names} - {"eap-curator"}
    assert plain <= locked


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def ask(address: str, server: subprocess.Popen[bytes], patience: float = 60.0) -> str:
    """What it answers, as soon as it does."""
    until = time.monotonic() + patience
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.2)
    return "nothing"
