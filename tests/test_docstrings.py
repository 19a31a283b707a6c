"""That docstrings say first what is given or done, and those of public names what is taken and refused."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from public_names import FOR_OPTIONS, MADE_ELSEWHERE, PUBLIC

import jostle

ROOT = Path(jostle.__file__).parent

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def first_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first line of each docstring of a file, and where it stands."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)) is not None:
            yield node.body[0].lineno, text.partition("\n")[0]


def test_a_first_line_says_what_is_given_not_that_it_is_returned() -> None:
    """In a list of names the first word is what is looked for: "Number of rows, or None.", "Refuse ..."."""
    lines = [(path, number, line) for path in sorted(ROOT.rglob("*.py")) for number, line in first_lines(path)]
    assert len(lines) > 4000
    wrong = [f"{path}:{number} {line}" for path, number, line in lines if line.lower().startswith("return")]
    assert wrong == []


# Public names

REFUSES_NOTHING = {
    "jostle.JostleError",
    "jostle.Trace.add",
    "jostle.Trace.markup",
    "jostle.Trace.text",
    "jostle.options.Option.hopeless",
    "jostle.options.Option.refuses",
    "jostle.sklearn.PrivateFeatureSelector.get_feature_names_out",
    "jostle.sklearn.PrivateFolds.get_n_splits",
    "jostle.trees.Leaf",
}
"""Public names that raise no `JostleError`; what they are given wrong, Python refuses."""
ERRORS = {kind.__name__ for kind in vars(jostle.errors).values() if isinstance(kind, type)}
ENTRY = re.compile(r"^    (\*{0,2}\w+): \S", re.MULTILINE)


def parameters(thing: Any) -> list[str]:
    """Return the parameters of what is called, as Args names them."""
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(each.kind, "") + each.name
        for each in inspect.signature(thing).parameters.values()
        if each.name not in {"self", "cls"}
    ]


def section(text: str, head: str) -> list[str]:
    """Return what a section of a docstring names."""
    _, _, rest = text.partition(f"{head}:\n")
    return ENTRY.findall(rest.partition("\n\n")[0])


def said_by_fields(thing: Any) -> list[str]:
    """Return the fields of a class below which it stands what they are."""
    if not inspect.isclass(thing):
        return []
    body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(body, ast.ClassDef)
    return [
        above.target.id
        for above, below in pairwise(body.body)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    ]


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - MADE_ELSEWHERE.keys() - FOR_OPTIONS))
def test_a_public_name_says_what_it_takes(name: str) -> None:
    thing = PUBLIC[name]
    named = section(inspect.getdoc(thing) or "", "Args")
    if named or not inspect.isclass(thing):
        assert named == parameters(thing)
    else:
        assert [each for each in parameters(thing) if each not in said_by_fields(thing)] == []


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - MADE_ELSEWHERE.keys() - FOR_OPTIONS - REFUSES_NOTHING))
def test_a_public_name_says_what_it_refuses(name: str) -> None:
    thing = PUBLIC[name]
    text = inspect.getdoc(jostle.Probe if name.startswith("jostle.Probe.") else thing) or ""
    raised = section(text, "Raises")
    assert raised or not parameters(thing), "Raises, or a place in REFUSES_NOTHING"
    assert set(raised) <= ERRORS


def test_the_lists_name_what_is_there() -> None:
    assert PUBLIC.keys() >= MADE_ELSEWHERE.keys() | FOR_OPTIONS | REFUSES_NOTHING
    assert len(PUBLIC) > 110
