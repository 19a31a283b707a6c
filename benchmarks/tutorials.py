"""Run the tutorials, and write down what they gave: into their pages, and as executed notebooks.

    python benchmarks/tutorials.py [docs/tutorials]

A page is text with blocks of Python or of a shell, run one after the other in an empty folder; below each is put what
it printed and what its last line gave. NAME.ipynb beside it is the same as a notebook.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from attrs import evolve, frozen

DOCS = Path(__file__).parent.parent / "docs" / "tutorials"
CODE = re.compile(r"^```python\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
HERE = "/srv/day"
"""What the folder is called on pages, since it is another each time."""
GIVEN = re.compile(r"\n<!-- gives -->\n.*?<!-- end -->\n", re.DOTALL)


@frozen
class Cell:
    """A part of a page: text, or code with what it gave."""

    text: str
    code: bool
    shell: bool = False
    printed: str = ""
    value: Any = None
    number: int = 0

    @property
    def source(self) -> str:
        """Its text in a notebook, whose kernel is Python; a command that is refused does not end the notebook."""
        text = self.text.strip("\n")
        return f"%%bash --no-raise-error\n{text}" if self.shell else text

    def page(self, picture: str) -> str:
        """It on a page; *picture* is the file that a figure is in."""
        if not self.code:
            return self.text
        shown = f"```text\n{self.printed}```\n" if self.printed else ""
        if hasattr(self.value, "savefig"):
            shown += f"![what it drew]({picture})\n"
        elif self.value is not None:
            shown += _markup(self.value) or f"```text\n{self.value!r}\n```\n"
        gives = f"\n<!-- gives -->\n{shown}<!-- end -->\n" if shown else ""
        return f"```{'sh' if self.shell else 'python'}\n{self.text}```\n{gives}"

    def notebook(self) -> dict[str, Any]:
        """It in a notebook."""
        lines = self.source.splitlines(keepends=True)
        if not self.code:
            return {"cell_type": "markdown", "id": f"text-{self.number}", "metadata": {}, "source": lines}
        outputs: list[dict[str, Any]] = []
        if self.printed:
            outputs.append({"output_type": "stream", "name": "stdout", "text": self.printed.splitlines(keepends=True)})
        if self.value is not None:
            data = {"text/plain": [repr(self.value)]}
            if hasattr(self.value, "savefig"):
                data = {"image/png": [base64.b64encode(picture_of(self.value)).decode()], "text/plain": ["<Figure>"]}
            elif _markup(self.value):
                data["text/html"] = [_markup(self.value)]
            facts = {"output_type": "execute_result", "execution_count": self.number, "metadata": {}}
            outputs.append({**facts, "data": data})
        return {
            "cell_type": "code",
            "execution_count": self.number,
            "id": f"code-{self.number}",
            "metadata": {},
            "outputs": outputs,
            "source": lines,
        }


def _markup(value: Any) -> str:
    made = getattr(value, "_repr_html_", None)
    return f"<div>{made()}</div>\n" if made is not None else ""


def picture_of(figure: Any) -> bytes:
    """A figure of matplotlib as a PNG."""
    held = io.BytesIO()
    figure.savefig(held, dpi=80, metadata={"Software": None})
    return held.getvalue()


def parts_of(page: str) -> Iterator[Cell]:
    """Yield a page's parts, not run yet, without what they gave before."""
    text, end = GIVEN.sub("", page), 0
    for found in BLOCK.finditer(text):
        if said := text[end : found.start()].strip("\n"):
            yield Cell(f"{said}\n", code=False)
        yield Cell(found[2], code=True, shell=found[1] == "sh")
        end = found.end()
    if said := text[end:].strip("\n"):
        yield Cell(f"{said}\n", code=False)


def ran(page: str, name: str) -> list[Cell]:
    """A page's parts, run one after the other in a folder that is there meanwhile.

    What is learned is kept in another such folder: what an earlier run learned is not shown.
    """
    names: dict[str, Any] = {"__name__": name}
    done: list[Cell] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as kept,
        patch.dict(os.environ, {"JOSTLE_HOME": kept}),
        contextlib.chdir(folder),
    ):
        for number, cell in enumerate(parts_of(page), start=1):
            printed, value = "", None
            if cell.shell:
                printed = _said(cell.text).replace(folder, HERE)
            elif cell.code:
                printed, value = _gave(cell.text, name, names)
            done.append(evolve(cell, printed=printed, value=value, number=number))
    return done


def _gave(text: str, name: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What Python prints, and the value of its last line if that is an expression; *names* are kept by blocks."""
    tree = ast.parse(text)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)  # noqa: S102 - it is what this is for
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307 - as above
    return printed.getvalue(), value


def _said(text: str) -> str:
    """What a shell shows of some commands, with the `jostle` of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    facts = {**os.environ, "PATH": path, "COLUMNS": "120", "PYTHONUTF8": "1"}
    done = subprocess.run(
        ["/usr/bin/env", "bash", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=facts,
        text=True,
        check=False,
    )
    return done.stdout


def write(page: Path, cells: list[Cell], folder: Path) -> None:
    """Write a page with what its parts gave, the pictures, and the notebook."""
    shown = []
    for cell in cells:
        picture = f"{page.stem}_{cell.number}.png"
        if hasattr(cell.value, "savefig"):
            (folder / picture).write_bytes(picture_of(cell.value))
        shown.append(cell.page(picture))
    (folder / page.name).write_text("\n".join(shown), encoding="utf-8")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": [cell.notebook() for cell in cells],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(book, indent=1, ensure_ascii=False)
    (folder / f"{page.stem}.ipynb").write_text(f"{text}\n", encoding="utf-8")


def main() -> int:
    """Run all tutorials."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    for page in sorted(folder.glob("*.md")):
        write(page, ran(page.read_text("utf-8"), page.stem), folder)
        print(f"{page}: done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
