"""Writes docs/cli.md from the commands' own help, so that the two never differ."""

from __future__ import annotations

from pathlib import Path

import typer.main

from eap_core.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
INTRODUCTION = """# Command line

Every command is `python -m eap_core NAME`; on a terminal long work shows a bar with the time left,
in a pipe it is quiet. A mistake in the input is one sentence on standard error and exit code 2.
This page is made by `make docs` from the commands' own help.
"""


def page() -> str:
    group = typer.main.get_command(app)
    parts = [INTRODUCTION]
    with group.make_context("python -m eap_core", [], resilient_parsing=True) as context:
        context.terminal_width = context.max_content_width = 88
        for name in sorted(group.commands):  # type: ignore[attr-defined]
            command = group.commands[name]  # type: ignore[attr-defined]
            with command.make_context(name, [], parent=context, resilient_parsing=True) as inner:
                parts.append(f"## {name}\n\n```text\n{inner.get_help()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
