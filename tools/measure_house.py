"""Measures how the code is housed, as Markdown tables: ``python tools/measure_house.py [ROOT]``.

A file is visited by a walk when a function of it runs; bodies of modules and classes, and what an
import runs, do not count. Each walk is a process of its own: a command, or the worker that a button
starts; of an export only the bundle counts, of a key only what is saved before the page is redrawn.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

Graph = Mapping[str, set[str]]
PROJECT = "rows"
BUNDLE = str(Path("eap_core", "export", "")) + os.sep
CALLBACKS = "session_state.py:_call_callbacks"  # where Streamlit hears what a browser sent
OURSELVES = (sys.executable, "-P", str(Path(__file__).resolve()))


def imports(tree: ast.AST, typed: bool = True) -> Iterator[ast.Import | ast.ImportFrom]:
    """All import statements, those in functions too, those only for type checkers if ``typed``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif typed or not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from imports(node, typed)


def modules(folder: Path) -> dict[str, ast.Module]:
    """The modules below a folder by their dotted names."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def module_graph(trees: Mapping[str, ast.Module], typed: bool) -> dict[str, set[str]]:
    """Which module imports which; ``from a import b`` means a.b where that is a module."""
    graph = {}
    for name, tree in trees.items():
        met: set[str] = set()
        for node in imports(tree, typed):
            start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            met.update(start + alias.name for alias in node.names)
        known = {other if other in trees else other.rpartition(".")[0] for other in met}
        graph[name] = known & trees.keys() - {name}
    return graph


def reached(graph: Graph) -> dict[str, set[str]]:
    """All that each node leads to, in any number of steps."""
    found: dict[str, set[str]] = {}
    for start in graph:
        there, waiting = found.setdefault(start, set()), list(graph[start])
        while waiting:
            node = waiting.pop()
            if node not in there:
                there.add(node)
                waiting.extend(graph[node])
    return found


def in_cycles(graph: Graph, room: Callable[[str], str]) -> str:
    """How many rooms lead back to themselves through another one, and of how many."""
    between: dict[str, set[str]] = {}
    for name, met in graph.items():
        # The face and the entry point stand above all rooms, whatever folder they lie in.
        if name not in ("eap_core", "eap_core.__main__"):
            rooms = {room(other) for other in met - {"eap_core"}} - {room(name)}
            between.setdefault(room(name), set()).update(rooms)
    return f"{sum(node in there for node, there in reached(between).items())} of {len(between)}"


def depth(graph: Graph) -> int:
    """The longest chain of imports; modules in a circle are one link of it."""
    there = reached(graph)

    @cache
    def below(name: str) -> int:
        return 1 + max((below(o) for o in there[name] if name not in there[o]), default=0)

    return max(map(below, graph))


def house(root: Path) -> Iterator[tuple[str, object]]:
    """What can be read off the files."""
    for folder in ("eap_core", "ui"):
        trees = modules(root / folder)
        lines = sum(len(path.read_bytes().splitlines()) for path in root.glob(f"{folder}/**/*.py"))
        given = [node for tree in trees.values() for node in imports(tree)]
        importing = sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in given)
        yield f"`{folder}`: files", len(trees)
        yield f"`{folder}`: lines", f"{lines:,}"
        yield f"`{folder}`: mean lines of a file", round(lines / len(trees))
        yield f"`{folder}`: share of import lines", f"{importing / lines:.1%}"
    core = modules(root / "eap_core")
    packages = {name.rpartition(".")[0] for name in core}
    for typed, words in ((False, ""), (True, ", with imports for types")):
        graph = module_graph(core, typed)
        folders = in_cycles(graph, lambda n: n if n in packages else n.rpartition(".")[0])
        yield f"packages in import cycles, flat modules as one package{words}", folders
        children = in_cycles(graph, lambda n: n.split(".")[1])
        yield f"packages and flat modules in import cycles{words}", children
        yield f"longest chain of imports{words}", depth(graph)


@contextmanager
def counted(beneath: str = "") -> Iterator[None]:
    """Print how many files are visited in a block, beneath a place, and how many are imported."""
    core = str(Path.cwd() / "eap_core") + os.sep
    seen: set[CodeType] = set()

    def hear(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in seen or not code.co_filename.startswith(core):
            return
        places, above = "", frame if code.co_flags & inspect.CO_OPTIMIZED else None
        while above:
            places += f"\n{above.f_code.co_filename}:{above.f_code.co_name}"
            above = above.f_back
        if places and beneath in places and "importlib._bootstrap>:_find_and_load" not in places:
            seen.add(code)

    threading.setprofile(hear)
    sys.setprofile(hear)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    loaded = {file for file in files if file.startswith(core)}
    # A line of its own, the last: before it stands what a command itself writes.
    print(f"\n{json.dumps([len({code.co_filename for code in seen}), len(loaded)])}")


def run_module(beneath: str, module: str, *arguments: str) -> None:
    """Count a program that ``python -m`` would run."""
    sys.argv = [module, *arguments]
    with counted(beneath):
        try:
            runpy.run_module(module, run_name="__main__")
        except SystemExit as ended:
            if ended.code:
                raise


def opened() -> Any:
    """The app as a new visitor sees it."""
    from streamlit.testing.v1 import AppTest

    return AppTest.from_file(str(Path.cwd() / "app.py"), default_timeout=120).run()


def press(app: Any, label: str) -> list[str]:
    """Press a button; the module and arguments of the worker that it would start, if any."""
    next(button for button in app.button if button.label == label).click()
    with patch("subprocess.Popen") as popen:
        app.run()
    commands = [list(call.args[0]) for call in popen.call_args_list]
    return next((each[each.index("-m") + 1 :] for each in commands if "-m" in each), [])


def run_worker(command: list[str]) -> None:
    """Count a worker in a process of its own, which has not imported the app."""
    subprocess.run([*OURSELVES, "run_module", "", *command], check=True)


def press_key() -> None:
    """Count what becomes of an A in the review, sent as the browser's component sends it."""
    app = opened()
    press(app, PROJECT)
    app.switch_page("pages/review.py").run()
    stage = next(one.proto for one in app.main if one.type == "bidi_component")
    told = json.loads(stage.json)
    item = told["cards"][str(told["at"])]["id"]
    entry = {"uuid": "0", "item": item, "verdict": "accept", "seen": told["seq"]}
    sent = {"number": 1, "at": told["at"] + 1, "has": [], "entries": [entry]}
    states = app._tree.get_widget_states()  # AppTest has no public way to a component's state
    states.widgets.add(id=stage.id, json_value=json.dumps({"sent": json.dumps(sent)}))
    with counted(CALLBACKS):
        app._run(states)


def upload() -> None:
    """Count the worker that takes a ZIP of images into a new project."""
    from PIL import Image

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for shade, name in enumerate(("normal/a", "normal/b", "anomaly/dent/c", "generated/gan/d")):
            picture = io.BytesIO()
            Image.new("RGB", (64, 64), (40 * shade, 90, 40)).save(picture, "PNG")
            archive.writestr(f"{name}.png", picture.getvalue())
    app = opened()
    app.text_input[0].set_value("images")
    press(app, "Create")
    app.segmented_control[0].set_value("Everything in one ZIP").run()
    app.file_uploader[0].set_value([("all.zip", packed.getvalue(), "application/zip")])
    run_worker(press(app, "Add"))


def score_again() -> None:
    """Count the worker that scores the project."""
    app = opened()
    press(app, PROJECT)
    run_worker(press(app, "Score again"))


STEPS: dict[str, Callable[..., None]] = {
    step.__name__: step for step in (run_module, upload, press_key, score_again)
}


def walks(root: Path) -> Iterator[tuple[str, int, int]]:
    """How many files are visited and imported by what people do most."""
    with tempfile.TemporaryDirectory() as folder:
        train, made = f"{folder}/train.csv", f"{folder}/candidates.csv"
        here = {"EAP_HOME": f"{folder}/home", "EAP_STORE": "", "PYTHONPATH": str(root)}

        def output(*command: str) -> str:
            done = subprocess.run(
                command, cwd=root, env=os.environ | here, capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(f"{' '.join(command)}\n{done.stderr}")
            return done.stdout

        core = (sys.executable, "-m", "eap_core")
        output(*core, "demo", folder)
        output(*core, "create", PROJECT, "--data", train, "--candidates", made)
        score = ("score", "--train", train, "--candidates", made, "--out", f"{folder}/out.csv")
        for words, *walk in (
            ("`score` of a CSV", "run_module", "", "eap_core", *score),
            ("upload of a ZIP of images", "upload"),
            ("key A in the review", "press_key"),
            ("job that scores a project", "score_again"),
            ("export of a project", "run_module", BUNDLE, "eap_core", "export", PROJECT),
        ):
            visited, loaded = json.loads(output(*OURSELVES, *walk).splitlines()[-1])
            yield words, visited, loaded
        jobs = json.loads(output(*core, "jobs", "--json"))
        accepted = [one["accepted"] for one in json.loads(output(*core, "projects", "--json"))]
        if [job["status"] for job in jobs] != ["finished"] * 2 or sum(accepted) != 1:
            sys.exit(f"a walk did not arrive: {jobs}, accepted {accepted}")


def main(root: Path) -> None:
    print("| measure | |\n|---|---:|")
    for words, value in house(root):
        print(f"| {words} | {value} |")
    print("\n| walk | files visited | files imported |\n|---|---:|---:|")
    for words, visited, loaded in walks(root):
        print(f"| {words} | {visited} | {loaded} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in STEPS:
        STEPS[sys.argv[1]](*sys.argv[2:])
    else:
        main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[1]).resolve())
