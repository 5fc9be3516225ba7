"""From real images and a model of their own to the chosen pair, by command and by job."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import conformal_clip_data  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner, Result

from eap_core import jobs
from eap_core.analysis import Plan
from eap_core.base.errors import EapError
from eap_core.base.progress import Cancelled
from eap_core.cli import app
from eap_core.features.clip_hub import ModelSpec
from eap_core.project import InputFile, Target
from eap_core.project.intake import take
from eap_core.project.problem import state_of
from eap_core.project.prompts import PromptPlan, read_prompts, run_prompts
from eap_core.project.results import run_frame
from eap_core.project.run import score_project
from eap_core.prompts import SHIPPED, Template
from eap_core.review import Decision
from eap_core.scoring.settings import Settings
from eap_core.store import decisions, projects
from eap_core.store import jobs as rows
from eap_core.store.items import remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store, open_store
from tests.eap_core.features import tiny_clip
from tests.eap_core.project.conftest import table_text

TEXTILE = Path(conformal_clip_data.__file__).parent / "data" / "textile_images" / "simulated"
OBJECT = 'woven "textile" {0} für {}'


def pictures(kind: str, start: int, count: int) -> list[Path]:
    return sorted((TEXTILE / kind).glob("*.jpg"))[start : start + count]


FILES: dict[Target, list[Path]] = {
    "normal": pictures("nominal", 0, 12),
    "anomaly": pictures("local", 0, 2),
    "candidate": [*pictures("local", 9, 4), *pictures("global", 9, 4), *pictures("nominal", 50, 4)],
    "test_normal": pictures("nominal", 90, 5),
    "test_anomaly": [*pictures("local", 90, 3), *pictures("global", 90, 2)],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    return tiny_clip.saved(tmp_path_factory.mktemp("model"), "tiny-clip-of-prompts")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("textile")
    store = open_store(folder / "home")
    project = projects.create(store, "textile", "images")
    for role, paths in FILES.items():
        with zipfile.ZipFile(folder / f"{role}.zip", "w") as made:
            for path in paths:
                made.write(path, f"{path.parent.name}-{path.name}")
        take(store, project.id, [InputFile.at(folder / f"{role}.zip")], role)
    score_project(store, project.id, Plan(("rarity",), Settings(subsets=2), features="fast"))
    store.close()
    return folder / "home"


@pytest.fixture
def store(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    opened = open_store()
    yield opened
    opened.close()


@pytest.fixture
def project(store: Store) -> Project:
    return projects.find(store, "textile")


def asked(model: ModelSpec, *words: str) -> Result:
    given = ("--object", OBJECT, "--model", model.model, "--weights", str(model.weights), *words)
    return CliRunner().invoke(app, ["prompts", "textile", *given])


def vectors(model: ModelSpec, texts: list[str], paths: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    """The same by open_clip itself, without any of our code."""
    import open_clip
    import torch
    from safetensors.torch import load_file

    network, _, prepare = open_clip.create_model_and_transforms(model.model)
    network.load_state_dict(load_file(str(model.weights)))
    network.eval()
    with torch.inference_mode():
        batch = torch.stack([prepare(Image.open(path).convert("RGB")) for path in paths])
        seen = network.encode_image(batch, normalize=True)
        said = network.encode_text(open_clip.get_tokenizer(model.model)(texts), normalize=True)
    return seen.numpy(), said.numpy()


def test_the_chosen_pairs_are_what_open_clip_itself_says(
    model: ModelSpec, store: Store, project: Project
) -> None:
    told = asked(model, "--json")
    assert told.exit_code == 0, told.output
    record = json.loads(told.stdout)
    assert record["object"] == OBJECT
    found = {one["selection"]: one for one in record["selections"]}
    assert list(found) == ["eap", "rarity", "random", "known", "oracle"]
    assert [found[name]["images"] for name in found] == [4, 4, 4, 2, 7]
    assert all(len(one["pairs"]) == 27 for one in found.values())
    assert project.current_run is not None
    best = run_frame(store, project.current_run)["id"][:4]
    chosen = [p for p in FILES["candidate"] if f"{p.parent.name}-{p.name}" in set(best)]
    train, test = [*FILES["normal"], *chosen], [*FILES["test_normal"], *FILES["test_anomaly"]]
    for pair in (found["eap"]["pairs"][0], found["eap"]["pairs"][-1]):
        texts = [pair[side].replace("{}", OBJECT) for side in ("normal", "anomalous")]
        for paths, normals, ours in ((train, 12, "selection_auc"), (test, 5, "test_auc")):
            seen, said = vectors(model, texts, paths)
            scores = (seen @ (said[1] - said[0])).astype(float)
            labels = np.arange(len(paths)) >= normals
            assert pair[ours] == pytest.approx(roc_auc_score(labels, scores), abs=0.02)
    aucs = [pair["selection_auc"] for pair in found["eap"]["pairs"]]
    assert aucs == sorted(aucs, reverse=True)


@pytest.mark.usefixtures("store")
def test_tables_for_people_and_files_for_machines(model: ModelSpec) -> None:
    Path("own.csv").write_text("normal,anomalous\n=good {},-bad {}\nfine {},torn {}\n")
    words = ("--templates", "own.csv")
    told = asked(model, *words, "--out", "pairs.csv")
    assert told.exit_code == 0, told.output
    assert "best third by EAP" in told.stdout
    assert "no candidate of this run is accepted" in told.stderr
    frame = pd.read_csv("pairs.csv")
    assert set(frame["normal"]) == {"'=good {}", "fine {}"}  # no formula for a spreadsheet
    assert asked(model, *words, "--out", "pairs.json").exit_code == 0
    record = json.loads(Path("pairs.json").read_text())
    assert record["selections"][0]["pairs"][0]["selection_auc"] == frame["selection_auc"][0]
    assert {pair["normal"] for pair in record["selections"][0]["pairs"]} == {"=good {}", "fine {}"}


def test_the_accepted_set_is_one_of_the_selections(
    model: ModelSpec, store: Store, project: Project
) -> None:
    assert project.current_run is not None
    item = run_frame(store, project.current_run)["item"].iloc[-1]
    (ack,) = decisions.append(store, project.id, [Decision("u1", item, "accept", "Ada")])
    record = json.loads(asked(model, "--json").stdout)
    assert record["selections"][1]["selection"] == "accepted"
    assert record["selections"][1]["images"] == 1
    undo = Decision("u2", item, "undo", "Ada", undo_of="u1", seen=ack.seq)
    decisions.append(store, project.id, [undo])


def test_a_job_does_the_same_and_goes_on_where_it_was_stopped(
    model: ModelSpec, store: Store, project: Project
) -> None:
    assert project.current_run is not None
    own = (Template("neat {}", "ripped {}"), Template("neat {}, " + "a b " * 45 + "c", "torn {}"))
    plan = PromptPlan("cloth", (*SHIPPED[:2], *own), model.model, model.weights)
    shares: list[float] = []

    def stopping(share: float, step: str) -> None:
        shares.append(share)
        if step.startswith("reading prompt 2 of"):
            raise Cancelled

    before = read_prompts(store, project.id)
    with pytest.raises(Cancelled):
        run_prompts(store, project.id, plan, stopping)
    after = read_prompts(store, project.id)
    assert (before is None and after is None) or (
        before is not None and after is not None and before.plan == after.plan
    )  # a cancelled look changes nothing
    assert shares == sorted(shares)
    job = rows.create(store, "prompts", plan.record, project.id)
    jobs.work_on(store, job.id)
    done = rows.by_id(store, job.id)
    assert (done.status, done.error) == ("finished", None)
    seen = read_prompts(store, project.id)
    assert seen is not None
    assert (seen.plan, seen.cut) == (plan, 1)
    assert seen.views.differences.shape == (4, sum(map(len, FILES.values())))
    run_prompts(store, project.id, plan)  # everything is known by now
    again = read_prompts(store, project.id)
    assert again is not None
    np.testing.assert_array_equal(again.views.differences, seen.views.differences)


def test_without_weights_there_is_one_sentence_and_the_way_out(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    words = ["prompts", "textile", "--object", "cloth", "--model", "ViT-B-32"]
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, EapError)
    assert "cannot be fetched" in str(error)
    assert str(error).endswith("openai/open_clip_model.safetensors")
    plan = PromptPlan("cloth", model="ViT-B-32")
    job = rows.create(store, "prompts", plan.record, project.id)
    jobs.work_on(store, job.id)
    assert rows.by_id(store, job.id).error == str(error)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--templates", "none.csv"), "'none.csv' cannot be read"),
        (("--templates", "bad.csv"), "line 2 has no"),
        (("--out", "pairs.xlsx"), "must end in .csv or .json"),
        (("--out", "nowhere/pairs.csv"), "no such folder"),
        (("--object", " "), "the object has no name"),
    ],
)
@pytest.mark.usefixtures("store")
def test_mistakes_are_told_before_the_work(
    model: ModelSpec, words: tuple[str, ...], said: str
) -> None:
    Path("bad.csv").write_text("normal,anomalous\ngood,bad\n")
    error = asked(model, *words).exception
    assert isinstance(error, EapError)
    assert said in str(error)


def test_projects_that_have_nothing_to_choose_by(store: Store) -> None:
    Path("rows.csv").write_text(table_text(10, 1))
    table = projects.create(store, "rows", "table")
    take(store, table.id, [InputFile.at(Path("rows.csv"))], "normal")
    projects.create(store, "empty", "images")
    for name, said in (("rows", "is a table"), ("empty", "no scores yet")):
        error = CliRunner().invoke(app, ["prompts", name, "--object", "x"]).exception
        assert isinstance(error, EapError)
        assert said in str(error)


def test_without_a_test_set_that_is_said(model: ModelSpec, store: Store, project: Project) -> None:
    uploads = [u for u in uploads_of(store, project.id) if u.name.startswith("test_")]
    for upload in uploads:  # the last test of this file: the others need them
        remove_upload(store, project.id, upload.id)
    told = asked(model)
    assert told.exit_code == 0, told.output
    assert "only the AUC on the selection is known" in told.stderr
    assert "–" in told.stdout


@pytest.mark.usefixtures("store")
def test_the_objects_name_is_no_markup(model: ModelSpec) -> None:
    given = ("--model", model.model, "--weights", str(model.weights))
    told = CliRunner().invoke(app, ["prompts", "textile", "--object", "[/bold] [red]x", *given])
    assert told.exit_code == 0, told.output
    assert "[/bold] [red]x" in told.stdout


@pytest.mark.usefixtures("store")
def test_what_cannot_be_written_or_read_is_told_before_the_work(
    model: ModelSpec, tmp_path: Path
) -> None:
    own = tmp_path / "own.csv"
    own.write_text("normal,anomalous\nfine {},torn {}\n")
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for words, said in (
        (("--templates", str(own), "--out", str(own)), "'own.csv' is one of the inputs"),
        (("--out", str(tmp_path / "folder.csv")), "'folder.csv' cannot be written"),
        (("--out", "pairs.txt"), "must end in .csv or .json"),
        (
            ("--templates", str(tmp_path / "pipe.csv")),
            "'pipe.csv' cannot be read (it is a folder, or no file)",
        ),
    ):
        error = asked(model, *words).exception
        assert isinstance(error, EapError)
        assert said in str(error)
    assert own.read_text().endswith("torn {}\n")


def test_a_file_of_weights_is_kept_by_its_whole_path(
    model: ModelSpec, store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(str(model.weights))
    monkeypatch.chdir(file.parent)
    assert asked(ModelSpec(model.model, weights=Path(file.name))).exit_code == 0
    seen = read_prompts(store, project.id)
    assert seen is not None
    assert seen.plan.weights == file


def test_a_plan_that_could_not_be_read_back_is_refused_before_the_work(
    model: ModelSpec, store: Store, project: Project
) -> None:
    assert project.current_run is not None
    before = read_prompts(store, project.id)
    with pytest.raises(EapError, match="81 characters"):
        run_prompts(store, project.id, PromptPlan("x" * 81, SHIPPED, model.model, model.weights))
    after = read_prompts(store, project.id)
    assert (before and before.plan) == (after and after.plan)


def test_what_is_added_while_it_looks_makes_another_state(
    model: ModelSpec, store: Store, project: Project, tmp_path: Path
) -> None:
    before = state_of(store, project.id)

    def adding(_: float, step: str) -> None:
        if step.startswith("reading prompt 1 of") and state_of(store, project.id) == before:
            with zipfile.ZipFile(tmp_path / "late.zip", "w") as made:
                made.write(pictures("nominal", 200, 1)[0], "late.jpg")
            take(store, project.id, [InputFile.at(tmp_path / "late.zip")], "normal")

    run_prompts(
        store, project.id, PromptPlan("cloth", SHIPPED[:1], model.model, model.weights), adding
    )
    seen = read_prompts(store, project.id)
    assert seen is not None
    assert seen.state == before != state_of(store, project.id)
    (late,) = [each for each in uploads_of(store, project.id) if each.name == "late.zip"]
    remove_upload(store, project.id, late.id)
