"""The core speaks of neither options nor pages; the command line and the pages each of their own.

Read from the sources, so that a sentence counts that no other test provokes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from eap_core.cli import app, output
from ui import text

ROOT = Path(__file__).parents[1]
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_OF_A_PAGE = re.compile(r"\b(?:reload|click|buttons?|(?:the|this) page|browser)\b", re.IGNORECASE)
# Of other programs, which a person runs: hf and dask.
_FOREIGN = {"--include", "--local-dir", "--force-download", "--nthreads"}
# Where pages build a command that a person runs on the server.
_COMMANDS = {"list_options", "by_command", "show_form"}


def literals(path: Path) -> Iterator[tuple[str, str]]:
    """Each text in the file that is no docstring, with the function around it."""
    yield from _within(ast.parse(path.read_text(encoding="utf-8")), "")


def _within(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef):
        function = node.name
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield function, child.value
        yield from _within(child, function)


def options_in(words: str) -> set[str]:
    return set(_OPTION.findall(words)) - _FOREIGN


def core_files() -> list[Path]:
    cli = ROOT / "eap_core" / "cli"
    return [path for path in sorted(ROOT.glob("eap_core/**/*.py")) if cli not in path.parents]


def page_files() -> list[Path]:
    return [ROOT / "app.py", *sorted(ROOT.glob("ui/*.py")), *sorted(ROOT.glob("pages/*.py"))]


def codes_of_the_core() -> set[str]:
    """Every code that an error is given, by name or in place."""
    found: set[str] = set()
    for path in core_files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)
            for target in [node.target]
            if isinstance(target, ast.Name) and isinstance(node.value.value, str)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "code":
                if isinstance(node.value, ast.Constant):
                    found.add(str(node.value.value))
                elif isinstance(node.value, ast.Name) and node.value.id in names:
                    found.add(names[node.value.id])
    return found


def test_what_is_looked_for_would_be_found() -> None:
    assert options_in("give it with --weights FILE, by hf download --include x") == {"--weights"}
    assert options_in("var(--ink), a--b, 3 -- 4") == {"--ink"}
    assert _OF_A_PAGE.search("there is no job 'x' — reload the page")
    assert list(_within(ast.parse('def f():\n    "--doc"\n    raise E(f"no {x} --a")'), "")) == [
        ("f", "no "),
        ("f", " --a"),
    ]


@pytest.mark.parametrize("path", core_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_names_no_option_and_no_page(path: Path) -> None:
    for _, words in literals(path):
        if path.name != "svg.py":  # style sheets have names like options
            assert not options_in(words), words
        assert not _OF_A_PAGE.search(words), words


def test_the_command_line_names_no_page() -> None:
    for path in sorted((ROOT / "eap_core" / "cli").glob("*.py")):
        for _, words in literals(path):
            assert not _OF_A_PAGE.search(words), words


@pytest.mark.parametrize("path", page_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_options_only_in_commands(path: Path) -> None:
    for function, words in literals(path):
        if function not in _COMMANDS:
            assert not options_in(words), words
            assert "python -m" not in words, words
        else:  # an option by itself, a word of a command, and no sentence about it
            assert not options_in(words) or words in options_in(words), words


def test_advice_is_for_codes_that_there_are() -> None:
    codes = codes_of_the_core()
    assert {"stale", "weights-lost", "weights-wanted"} <= codes
    assert set(output._ADVICE) | set(text._ADVICE) <= codes
    fetched = {"weights-lost", "words-lost"}  # on a page these are steps, not a sentence
    assert codes <= set(output._ADVICE) | set(text._ADVICE) | fetched


def test_the_command_line_advises_options_that_it_has() -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {}).values()
    known = {option for each in commands for one in each.params for option in one.opts}
    assert known
    for words in output._ADVICE.values():
        assert options_in(words) <= known, words
    assert not any(options_in(words) for words in text._ADVICE.values())
