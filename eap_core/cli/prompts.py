"""The command that chooses a pair of prompts with the help of a project's candidates."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eap_core.base.errors import DataError, escape_controls, quote
from eap_core.base.files import check_target, csv_text, explain_unwritable, whole_file
from eap_core.cli import output
from eap_core.features.clip_hub import PAPERS
from eap_core.prompts import MOST_BYTES, SHIPPED, Template, check_object_name, read_templates

if TYPE_CHECKING:
    from eap_core.project.prompts import PromptReport

app = typer.Typer()
_SHOWN_PAIRS = 10


@app.command()
def prompts(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")],
    thing: Annotated[
        str, typer.Option("--object", metavar="NAME", help="What the images show: bottle.")
    ],
    templates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Own pairs as CSV with the columns normal,anomalous, {} for the object's name; "
            "the paper's 27 if not given.",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(metavar="MODEL", help="The model, or MODEL:TRAINING, by open_clip's names."),
    ] = PAPERS,
    weights: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The model's weights as a local file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write: .csv or .json.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Choose the pair of prompts by which CLIP tells anomalies best.

    Each selection of candidates chooses the pair with the best AUC of the training normals against
    it; where there is a test set, the AUC there tells how good the choice was. Equal pairs: the one
    with the larger mean gap, then the first of the file.

    \b
    python -m eap_core prompts bottle --object bottle
    python -m eap_core prompts bottle --object "glass bottle" --templates own.csv --out pairs.csv
    python -m eap_core prompts bottle --object cup --model ViT-B-32:openai --weights b.safetensors
    """
    from eap_core.project.prompts import (
        PromptPlan,
        accepted_items,
        check_images,
        read_prompts,
        report_prompts,
        run_prompts,
    )
    from eap_core.project.results import run_frame
    from eap_core.store import projects, runs
    from eap_core.store.decisions import Ledger
    from eap_core.store.store import open_current_store

    if out is not None:
        check_target(out, templates, weights, endings=(".csv", ".json"))
    file = weights.expanduser().absolute() if weights else None  # a worker may be elsewhere
    plan = PromptPlan(check_object_name(thing), _templates(templates), model, file)
    with open_current_store() as store:
        found = projects.find(store, project)
        check_images(store, found.id)
        run = found.current_run
        if run is None:
            raise DataError(
                f"{quote(found.name)} has no scores yet",
                advice="use the command run first",
            )
        with output.progress_bar(quiet=json) as progress:
            run_prompts(store, found.id, plan, progress)
        seen = read_prompts(store, found.id)
        assert seen is not None  # it was kept just now
        made = report_prompts(
            seen,
            run_frame(store, run),
            accepted_items(Ledger(store, found.id).now().states),
            runs.by_id(store, run).settings["seed"],
        )
    output.say(*made.notes)
    if out is not None:
        _write(made, out)
        pairs = "pair" if len(plan.templates) == 1 else "pairs"
        output.say(f"{len(plan.templates):,} {pairs} ranked → {out.name}")
    if json:
        output.write_json(made.record)
    else:
        _show(made)


def _templates(path: Path | None) -> tuple[Template, ...]:
    if path is None:
        return SHIPPED
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is a folder, or no file")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(
            f"{quote(path.name)} cannot be read ({error.strerror})",
            advice="check its name",
        ) from error
    return read_templates(data, path.name)


def _write(made: PromptReport, out: Path) -> None:

    if out.suffix.lower() == ".csv":
        text = csv_text(made.frame())
    else:
        text = json_format.dumps(made.record, ensure_ascii=False, indent=1) + "\n"
    try:
        with whole_file(out) as file:
            file.write(text.encode())
    except OSError as error:
        raise explain_unwritable(out, error) from error


def _show(made: PromptReport) -> None:
    templates = made.prompted.plan.templates
    output.write_table(
        f"What each selection chooses for {escape_controls(made.prompted.plan.object)}",
        ["selection", "images", "normal", "anomalous", "AUC", "test AUC"],
        [
            [
                _label(choice.selection.name),
                len(choice.selection.rows),
                *templates[choice.best.pair],
                _auc(choice.best.selection_auc),
                _auc(choice.best.test_auc),
            ]
            for choice in made.choices
        ],
    )
    first = made.choices[0]
    shown_pairs = first.ranking[:_SHOWN_PAIRS]
    output.write_table(
        f"The best {len(shown_pairs)} of {len(templates)} pairs: {_label(first.selection.name)}",
        ["normal", "anomalous", "AUC", "test AUC"],
        [
            [*templates[one.pair], _auc(one.selection_auc), _auc(one.test_auc)]
            for one in shown_pairs
        ],
    )


def _label(name: str) -> str:
    """A selection in words."""
    from eap_core.evaluators import EVALUATORS
    from eap_core.project.prompts import OTHERS

    return OTHERS[name] if name in OTHERS else f"best third by {EVALUATORS[name].label}"


def _auc(value: float | None) -> str:
    """Rounded as the page rounds it: 0.8975 is nearer to neither side."""
    return "–" if value is None else f"{round(100 * value, 1) / 100:.3f}"
