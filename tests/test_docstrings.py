"""That docstrings say first what is given or done, and those of public names what is taken and refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

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
