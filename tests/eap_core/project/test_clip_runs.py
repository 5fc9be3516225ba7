"""Runs by CLIP features: of a model that is there, and of one that cannot be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from eap_core.analysis import Plan
from eap_core.base.errors import DataError, EapError, SettingsError
from eap_core.cli import app
from eap_core.cli.output import error_words
from eap_core.export.bundle import make_bundle
from eap_core.export.request import ExportRequest
from eap_core.features.clip_hub import NoWeightsError
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.problem import prepare_problem
from eap_core.project.results import run_frame
from eap_core.project.run import complete_run, score_project
from eap_core.scoring.settings import AUTHORS
from eap_core.store import projects, runs
from eap_core.store.backup import backup
from eap_core.store.store import Store
from tests.eap_core.features import tiny_clip
from tests.eap_core.project.conftest import archive, picture

_REPOSITORY = Path(__file__).parents[3]
_SUBSETS = replace(AUTHORS, subsets=3)


def tree(folder: Path) -> Path:
    members = {f"train/good/{i:02d}.png": picture(i) for i in range(12)}
    members |= {f"test/scratch/{i}.png": picture(100 + i) for i in range(2)}
    members |= {f"candidates/{i}.png": picture(200 + i) for i in range(5)}
    return archive(folder / "parts.zip", members)


@pytest.fixture
def project(store: Store, tmp_path: Path) -> str:
    made = projects.create(store, "parts", "images").id
    take(store, made, [InputFile.at(tree(tmp_path))], None)
    return made


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    wanted = tiny_clip.saved(tmp_path)
    return Plan(
        settings=_SUBSETS,
        features="clip",
        clip_model=wanted.model,
        weights=str(wanted.weights),
    )


def test_a_run_records_the_model_and_can_be_completed(
    store: Store, project: str, plan: Plan
) -> None:
    run = score_project(store, project, plan)
    assert run.settings["features"] == "clip"
    assert run.settings["clip_model"] == "tiny-clip"
    model = "image features by the CLIP model tiny-clip, weights 'tiny-clip-0.safetensors'"
    assert model in run.settings["notes"]
    assert "open_clip_torch" in run.versions
    assert np.isfinite(run_frame(store, run.id)["eap"]).all()
    complete_run(store, run.id, evaluators=("rarity",))
    assert "rarity" in runs.score_names(store, run.id)


def test_columns_are_standardised_as_those_of_tables(
    store: Store, project: str, plan: Plan
) -> None:
    found = prepare_problem(store, project, plan).problem
    assert found.x_train.shape == (14, 16)
    np.testing.assert_allclose(found.x_train.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found.x_train.std(axis=0, ddof=1), 1, atol=1e-9)


def test_other_weights_are_other_data(
    store: Store, project: str, plan: Plan, tmp_path: Path
) -> None:
    other = replace(plan, weights=str(tiny_clip.saved(tmp_path, seed=1).weights))
    fingerprints = {
        prepare_problem(store, project, one).problem.fingerprint for one in (plan, other)
    }
    assert len(fingerprints) == 2


def test_without_weights_the_usual_features_are_used_and_that_is_said(
    store: Store, project: str, plan: Plan
) -> None:
    run = score_project(store, project, replace(plan, weights=None))
    assert run.status == "finished"
    assert run.settings["features"] == "full"
    (said,) = [note for note in run.settings["notes"] if "CLIP" in note]
    assert said == (
        "the usual image features are used instead of CLIP: nobody has published weights of the "
        "model 'tiny-clip' — give a file of weights"
    )
    (finding,) = [each for each in run.findings if each["code"] == "other-features"]
    assert (finding["severity"], finding["what"]) == ("warning", said)
    usual = score_project(store, project, Plan(settings=_SUBSETS))
    assert run.fingerprint == usual.fingerprint
    complete_run(store, run.id, evaluators=("rarity",))
    assert "rarity" in runs.score_names(store, run.id)


def test_a_bad_file_that_was_named_is_an_error(store: Store, project: str, plan: Plan) -> None:
    Path(str(plan.weights)).write_bytes(b"torn")
    with pytest.raises(DataError, match=r"'tiny-clip-0.safetensors' are damaged"):
        score_project(store, project, plan)
    with pytest.raises(DataError, match="cannot be read"):
        score_project(store, project, replace(plan, weights="/nowhere/at.all"))
    with pytest.raises(SettingsError, match=r"there is no model 'tiny-clap'.*'tiny-clip'"):
        score_project(store, project, replace(plan, clip_model="tiny-clap"))
    assert runs.runs_of(store, project) == []


def test_a_run_whose_weights_are_gone_is_not_completed_with_others(
    store: Store, project: str, plan: Plan
) -> None:
    run = score_project(store, project, plan)
    Path(str(plan.weights)).unlink()
    with pytest.raises(DataError, match="cannot be read") as caught:
        complete_run(store, run.id, evaluators=("rarity",))
    assert not isinstance(caught.value, NoWeightsError)
    assert "rarity" not in runs.score_names(store, run.id)


def test_the_record_of_an_older_run_is_a_plan() -> None:
    record = {**Plan(features="fast").record}
    del record["clip_model"], record["weights"]
    assert Plan.from_record(record) == Plan(features="fast")
    given = Plan(features="clip", clip_model="ViT-B-32:openai", weights="/a/b.safetensors")
    assert Plan.from_record(json.loads(json.dumps(given.record))) == given
    assert given.wanted.pretrained == "openai"


def test_nothing_that_is_handed_on_tells_where_the_weights_lay(
    store: Store, project: str, plan: Plan, tmp_path: Path
) -> None:
    score_project(store, project, plan)
    made = make_bundle(store, project, ExportRequest(format="csv", top=50.0))
    with zipfile.ZipFile(made.path) as packed:
        settings = json.loads(packed.read("manifest.json"))["run"]["settings"]
    assert settings["weights"] == "tiny-clip-0.safetensors"
    assert settings["features"] == "clip"
    with zipfile.ZipFile(backup(store, project, tmp_path / "b.zip").file) as packed:
        assert b'"weights": "tiny-clip-0.safetensors"' in packed.read("rows/runs.jsonl")


@pytest.mark.usefixtures("store")
def test_from_the_command_line(tmp_path: Path) -> None:
    wanted = tiny_clip.saved(tmp_path)
    named = ("--model", wanted.model, "--weights", str(wanted.weights), "--subsets", "3")
    made = CliRunner().invoke(app, ["create", "parts", "--data", str(tree(tmp_path)), *named])
    assert made.exit_code == 0, made.output
    assert "note: image features by the CLIP model tiny-clip" in made.output
    again = CliRunner().invoke(app, ["run", "parts", "--model", "tiny-clip", "--subsets", "3"])
    assert again.output.count("usual image features are used instead of CLIP") == 1
    for words, said in (
        (("--features", "fast", *named), "not 'fast'"),
        (("--features", "none"), "choose from full, fast, clip"),
        (("--weights", str(tmp_path / "no")), "--weights FILE"),
    ):
        error = CliRunner().invoke(app, ["run", "parts", *words]).exception
        assert isinstance(error, EapError)
        assert said in error_words(error)


def test_offline_the_papers_model_is_missed_in_one_sentence(tmp_path: Path) -> None:
    """As a person meets it: a process of its own, no hub, nothing kept."""
    done = subprocess.run(
        [sys.executable, "-m", "eap_core", "create", "parts", "--data", str(tree(tmp_path)),
         "--features", "clip", "--subsets", "3"],
        capture_output=True,
        text=True,
        cwd=_REPOSITORY,
        env={**os.environ, "EAP_HOME": str(tmp_path / "home"), "HF_HOME": str(tmp_path / "hub"),
             "HF_HUB_OFFLINE": "1"},
        check=True,
    )  # fmt: skip
    said = " ".join(done.stderr.split())
    assert said.count("the usual image features are used instead of CLIP") == 1
    assert 'run hf download timm/ViT-B-16-SigLIP --include "*.json" --include' in said
    assert "give --weights ViT-B-16-SigLIP/open_clip_model.safetensors" in said
    assert "Traceback" not in said
    assert "5 candidates scored" in done.stdout


def test_a_run_in_8_bits_says_that_it_kept_the_ranking(
    store: Store, project: str, plan: Plan
) -> None:
    whole = run_frame(store, score_project(store, project, plan).id)
    run = score_project(store, project, replace(plan, int8=True))
    assert run.settings["int8"] is True
    (said,) = (note for note in run.settings["notes"] if "bits" in note)
    assert said.startswith("looked at in 8 bits, which keep the ranking: on 12 normals")
    eight = run_frame(store, run.id)
    assert set(eight["item"]) == set(whole["item"])
    assert not np.array_equal(eight["eap"], whole["eap"])


def test_8_bits_are_for_clip_only() -> None:
    told = CliRunner().invoke(app, ["run", "parts", "--features", "fast", "--int8"])
    assert told.exit_code != 0
    assert "--int8 are for the features clip, not 'fast'" in str(told.exception)


def test_the_time_left_counts_on_every_image_that_clip_has_not_seen(
    store: Store, project: str, plan: Plan
) -> None:
    """Features of another kind are kept by then, which do not help."""
    score_project(store, project, replace(plan, features="fast"))
    shares: dict[str, float] = {}

    def told(share: float, step: str) -> None:
        shares.setdefault(step, share)

    score_project(store, project, plan, told)
    looking = [share for step, share in shares.items() if step.startswith("looking at image")]
    assert max(looking) > 0.5  # most of the time is theirs
    shares.clear()
    score_project(store, project, plan, told)
    assert shares["finding what is known already"] < 0.1
    assert not any(step.startswith("looking at image") for step in shares)


def test_what_people_call_as_we_do_is_not_taken_for_ours(
    store: Store, project: str, plan: Plan, tmp_path: Path
) -> None:
    named = "file_name,rarity,sum\n" + "".join(f"{i}.png,often,{i}\n" for i in range(20, 23))
    members = {f"{i}.png": picture(i) for i in range(20, 23)} | {"metadata.csv": named.encode()}
    take(store, project, [InputFile.at(archive(tmp_path / "more.zip", members))], "candidate")
    run = score_project(store, project, replace(plan, features="fast"))
    frame = run_frame(store, run.id)
    assert {"rarity (given)", "sum (given)"} <= set(frame)
    assert not {"rarity", "sum"} & set(frame)
