"""Which room may name which, that no modules lead round in a circle, and that a class has a name of its own.

A module names another by importing it, at its head or late, for types alone, or by writing its name in a string: for a
reader they are the same.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import jostle
import jostle.tasks

ROOT = Path(jostle.__file__).parent
TESTS = Path(__file__).parent

ROOMS: Mapping[str, str] = {
    "jostle.handed": "what rooms below hand over to above",
    "jostle.visible": "texts as they are shown on a screen",
    "jostle.progress": "how far long work is",
    "jostle.interrupts": "Ctrl-C, unheard for a while",
    "jostle.markup": "texts as parts of a web page",
    "jostle.errors": "mistakes, with why and what to do",
    "jostle.given": "what callers hand in, of the kind that is asked for",
    "jostle.privacy.amounts": "amounts of budget as they are written: they stand in a room that lies above",
    "jostle.files": "files of JSON and TOML, read by declared types",
    "jostle.parameters": "what an Option can be given as parameters",
    "jostle.tables": "rows, schemas, kernels: the only room that sees rows",
    "jostle.trace.records": "the records of a trace",
    "jostle.privacy": "the door: noise, mechanisms, ledgers, vaults, probes",
    "jostle.trace": "a trace as it is shown",
    "jostle.sites": "choice as an operation, and its handlers",
    "jostle.corpora": "public databases",
    "jostle.expressions": "private expressions, for users",
    "jostle.tasks": "what can be asked: questions, answers, judges, metafeatures, instances",
    "jostle.learned": "what was learned before, and where it is kept",
    "jostle.options": "the algorithms",
    "jostle.audit": "audits of what a mechanism or an Option loses",
    "jostle.choice.learning": "rehearsals, histories, learners",
    "jostle.choice.policies": "learning labelled choices",
    "jostle.choice.makers": "learning among Options: choice makers",
    "jostle.choice": "the trainer of both: what to rehearse, learn, judge and keep",
    "jostle.public": "public databases, for users",
    "jostle.lang": "the language",
    "jostle.trees": "trees that a program grows, for users",
    "jostle.programs": "what a program holds that can be trained",
    "jostle.advice": "losses to expect, before anything is spent",
    "jostle.figures": "figures of papers, made again",
    "jostle.sklearn": "estimators for scikit-learn",
    "jostle.owner": "the owner's process: rows are served to those whose code does not run beside them",
    "jostle.api": "the package's own functions",
    "jostle.cli": "the command line",
    "jostle.__main__": "the command line, by python -m",
}
"""The rooms from the lowest to the highest: each may name those before it, and none after it."""


def named(path: Path) -> str:
    """Return a file's module."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> Mapping[str, ast.Module]:
    """Return all modules of the package, parsed."""
    return {named(path): ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def known(name: str) -> str | None:
    """Return the module that a dotted name is of, or lies in; None where that is the package itself."""
    while name not in modules() and "." in name:
        name = name.rpartition(".")[0]
    return None if name == "jostle" else name


def names_in(text: str) -> Iterator[str]:
    """Yield the modules that a text names."""
    for dotted in re.findall(r"\bjostle(?:\.\w+)+", text):
        if (module := known(dotted)) is not None:
            yield module


@cache
def neighbours(module: str) -> Mapping[str, int]:
    """Return which modules a module names, each with a line where it does."""
    found: dict[str, int] = {}
    for node in ast.walk(modules()[module]):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}:{node.lineno} imports by dots"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            hidden = [name for name in names if node.module == "jostle" and name not in modules()]
            assert not hidden, f"{module}:{node.lineno} imports {hidden[0]}, not from where it stands"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A package that the module lies in is spoken of as a whole.
            names = [name for name in names_in(node.value) if not lies_in(module, name)]
        for name in names:
            if name.startswith("jostle") and (other := known(name)) is not None and other != module:
                found.setdefault(other, getattr(node, "lineno", 0))
    return found


def lies_in(module: str, room: str) -> bool:
    """Return whether a module is a room, or one of its modules."""
    return module == room or module.startswith(f"{room}.")


def room_of(module: str) -> str:
    """Return the innermost room that a module lies in."""
    rooms = [room for room in ROOMS if lies_in(module, room)]
    assert rooms, f"{module} lies in no room: say in ROOMS what it is, below all that names it"
    return max(rooms, key=len)


def in_room(room: str) -> list[str]:
    """Return the modules of a room."""
    found = [module for module in modules() if module != "jostle" and room_of(module) == room]
    assert found, f"there is no room {room}"
    return found


@cache
def graph() -> Mapping[str, Mapping[str, list[str]]]:
    """Return for each room which others it names, and where."""
    found: dict[str, dict[str, list[str]]] = {}
    for room in ROOMS:
        others: dict[str, list[str]] = defaultdict(list)
        for module in in_room(room):
            for other, line in neighbours(module).items():
                if room_of(other) != room:
                    others[room_of(other)].append(f"{module}:{line} names {other}")
        found[room] = others
    return found


def drawn() -> str:
    """Return the rooms as text, the highest first: how many modules each has, and what it is."""
    return "\n".join(
        f"{room.removeprefix('jostle.'):16} {len(in_room(room)):3}  {ROOMS[room]}" for room in reversed(list(ROOMS))
    )


def test_a_room_names_none_above_it() -> None:
    order = list(ROOMS)
    assert [
        place
        for room, others in graph().items()
        for other, places in others.items()
        if order.index(other) > order.index(room)
        for place in places
    ] == []


def circle(start: Iterable[str]) -> list[str]:
    """Return modules that lead round in a circle, if there are any."""
    try:
        TopologicalSorter({module: neighbours(module) for module in start}).prepare()
    except CycleError as found:
        return list(found.args[1])
    return []


def test_no_modules_lead_round_in_a_circle() -> None:
    assert circle(module for module in modules() if module != "jostle") == []


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for module, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_the_design_draws_every_room() -> None:
    """As `python tests/test_architecture.py` prints them; how many modules each has may have changed since."""
    text = (TESTS.parent / "docs" / "design.md").read_text("utf-8")
    (drawing,) = re.findall(r"^## The rooms\n\n```text\n(.*?)```", text, re.DOTALL | re.MULTILINE)

    def uncounted(graph: str) -> list[str]:
        return [re.sub(r"^(\S+) +\d+  ", r"\1 ", line) for line in graph.splitlines()]

    assert uncounted(drawing) == uncounted(drawn())


# The tests themselves


def test_late_imports_imports_for_types_and_names_in_strings_are_seen() -> None:
    text = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from jostle.programs import shipped_choice
def late():
    import jostle.cli
    return ("jostle.lang.running.Running", f"see jostle.sites.stack for {late}")
"""
    tree = dict(modules())
    tree["jostle.privacy.spy"] = ast.parse(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "modules", lambda: tree)
        neighbours.cache_clear()
        found = neighbours("jostle.privacy.spy")
    neighbours.cache_clear()
    assert set(found) == {"jostle.programs", "jostle.cli", "jostle.lang.running", "jostle.sites.stack"}


def test_a_circle_is_found() -> None:
    tree = {
        "jostle.a": ast.parse("from jostle.b import x"),
        "jostle.b": ast.parse("def f():\n    import jostle.c"),
        "jostle.c": ast.parse("HOME = 'jostle.a.x'"),
        "jostle.d": ast.parse("import jostle.a"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "modules", lambda: tree)
        neighbours.cache_clear()
        found = circle(tree)
    neighbours.cache_clear()
    assert set(found) == {"jostle.a", "jostle.b", "jostle.c"}


if __name__ == "__main__":
    sys.stdout.write(f"{drawn()}\n")
