"""Run the pages of the documentation, and write down what they gave.

    python benchmarks/pages.py [PAGE ...]

A page is run from top to bottom, in an empty folder and by a process of its own:

- `python` is run, and keeps its names for the blocks below it; `sh` is run, and has to end with 0
- `jst` is a program that has no mistakes, and is run; `jst wrong J202` has that mistake
- `python FILE`, `jst FILE`, `toml FILE` are files in the folder; `diff FILE` is put into a copy of the package there
- `toml` is a schema, `json` is JSON, `text` is for reading alone
- `<!-- given ... -->` is Python that is run and not shown: what a page takes as given
- *Not run by the tests: REASON.* stands above a block that cannot be run, for everybody to read

What stands between `<!-- gives -->` and `<!-- end -->` below a block is what it printed, and what its last line gave;
in `<!-- gives about -->` numbers are others each time. A tutorial NAME.md has a notebook NAME.ipynb beside it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
MEASURED = ROOT / "docs" / "benchmarks"
"""Pages that a command wrote, which stands on them."""
HERE = "/srv/day"
"""What the folder is called on pages, since it is another each time."""
LIMIT = 900
"""Seconds."""
INSTALLED = "python -m pip install --quiet . && "
"""What `.ci/run` does in a clean environment, and is done already where pages are run."""
PROGRESS = re.compile(r"^.*: (\d+%, )?\d+ s( in all)?\n", re.MULTILINE)
"""A line that says how far long work is: there are as many as a machine is slow."""
PART = re.compile(
    r"<!-- given\n(?P<given>.*?)^-->$\n?"
    r"|(?:^\*Not run by the tests: (?P<why>[^\n]+)\.\*\n\n|<!-- ci: (?P<ci>\w+) -->\n)?"
    r"^```(?P<language>\w*) ?(?P<said>[^\n]*)\n(?P<code>.*?)^```$\n?"
    r"(?:\n<!-- gives(?P<about> about)? -->\n(?P<gave>.*?)<!-- end -->\n?)?",
    re.MULTILINE | re.DOTALL,
)


@frozen
class Part:
    """A part of a page: text, or a block with what it gave."""

    shown: str
    """As it stands on the page, without what it gave."""
    kind: str = ""
    """The language of a block, or `given`; of text, nothing."""
    said: str = ""
    code: str = ""
    why: str | None = None
    """Why it is not run."""
    ci: str | None = None
    about: bool = False
    gave: str | None = None
    """What the page says that it gave."""
    printed: str = ""
    value: str = ""
    """What the last line gave, as text, as markup, and as a picture."""
    html: str = ""
    picture: str = ""

    @property
    def runs(self) -> bool:
        """Whether it is code that a reader would run, in Python or in a shell."""
        return self.kind in {"python", "sh"} and not self.said and self.why is None

    def given(self, picture: str) -> str:
        """What it gave, as a page shows that; *picture* is the file that a figure is in."""
        shown = f"```text\n{self.printed}```\n" if self.printed else ""
        if self.picture:
            shown += f"![what it drew]({picture})\n"
        elif self.html:
            shown += f"<div>{self.html}</div>\n"
        elif self.value:
            shown += f"```text\n{self.value}\n```\n"
        return shown


def parts_of(page: str) -> Iterator[Part]:
    """Yield a page's parts, not run yet."""
    end = 0
    for found in PART.finditer(page):
        if found.start() > end:
            yield Part(page[end : found.start()])
        whole = found[0]
        if found["given"] is not None:
            yield Part(whole, "given", code=found["given"])
        else:
            if found["gave"] is not None:
                whole = whole[: whole.index("\n<!-- gives")]
            yield Part(
                whole,
                found["language"] or "nothing",
                found["said"],
                found["code"],
                found["why"],
                found["ci"],
                bool(found["about"]),
                found["gave"],
            )
        end = found.end()
    if end < len(page):
        yield Part(page[end:])


def ran(page: Path) -> list[Part]:
    """Return a page's parts, run one after the other by a process of their own in a folder that is there meanwhile."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, results = Path(scratch) / "page", Path(scratch) / "results.json"
        folder.mkdir()
        facts = {
            "JOSTLE_HOME": str(Path(scratch) / "home"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "PYTHONWARNINGS": "error::DeprecationWarning,error::FutureWarning",
            "PYTHONUTF8": "1",
            "COLUMNS": "120",
            "MPLBACKEND": "agg",
        }
        words = [sys.executable, str(Path(__file__)), "--in", str(folder), str(page), str(results)]
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, **facts},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{page}\n{done.stdout}{done.stderr}")
        return [Part(**each) for each in json.loads(results.read_text("utf-8"))]


def run_here(page: Path, folder: Path) -> list[Part]:
    """Run a page in a folder, which the process is in and imports from first."""
    parts = list(parts_of(page.read_text("utf-8")))
    if any(part.kind == "diff" or part.said.startswith("jostle/") for part in parts):
        package = importlib.util.find_spec("jostle")
        shutil.copytree(Path(str(package and package.origin)).parent, folder / "jostle")
        importlib.invalidate_caches()
    names: dict[str, Any] = {"__name__": page.stem}
    done: list[Part] = []
    for part in parts:
        try:
            made = part if not part.kind or part.why else _made(part, folder, names)
        except BaseException as error:
            error.add_note(f"in this block of {page.name}:\n{part.code}")
            raise
        done.append(evolve(made, printed=PROGRESS.sub("", made.printed).replace(str(folder), HERE)))
    return done


def _made(part: Part, folder: Path, names: dict[str, Any]) -> Part:
    match part.kind, part.said:
        case "sh", "":
            return part if part.ci == "test" else evolve(part, printed=_said(part.code))
        case (("python" | "given"), ""):
            return _gave(part, names)
        case "jst", "":
            _program(part.code, folder, names)
        case "jst", said if said.startswith("wrong "):
            _same(_codes(part.code), said.split()[1:])
        case "diff", name:
            put_in(folder / name, part.code)
        case (("python" | "jst" | "toml"), name) if name:
            (folder / name).write_text(part.code, "utf-8")
            importlib.invalidate_caches()
        case _:
            _read(part)
    return part


def _read(part: Part) -> None:
    match part.kind:
        case "toml" if "columns" in tomllib.loads(part.code):
            from jostle import Schema  # noqa: PLC0415 - of the folder, once its copy is changed

            Schema.from_toml(part.code)
        case "json":
            json.loads(part.code)
        case "toml" | "text":
            pass
        case _:
            raise ValueError(f"a block of {part.kind} that nobody looks at")


def _same(made: object, said: object) -> None:
    if made != said:
        raise ValueError(f"{made}\nwhere the page has\n{said}")


def _codes(text: str) -> list[str]:
    from jostle.errors import Source  # noqa: PLC0415 - of the folder, once its copy is changed
    from jostle.lang.check import check  # noqa: PLC0415

    return [each.code for each in check(Source("program.jst", text)).diagnostics]


def _program(text: str, folder: Path, names: dict[str, Any]) -> None:
    """Check a program, that it stands in its canonical form, and run it: on the page's table, or on its example."""
    from jostle.errors import Source  # noqa: PLC0415 - of the folder, once its copy is changed
    from jostle.lang.check import check  # noqa: PLC0415
    from jostle.lang.printer import show  # noqa: PLC0415
    from jostle.lang.program import load_source  # noqa: PLC0415

    _same(_codes(text), [])
    _same(show(check(Source("program.jst", text)).module), text)
    if "def answer(db):" in text and "import" not in text:
        load_source(Source("program.jst", text)).run("answer", names["db"], epsilon=Fraction(1))
    elif "def answer(" in text:
        (folder / "program.jst").write_text(text, "utf-8")
        _said("jostle run --train program.jst")


def _gave(part: Part, names: dict[str, Any]) -> Part:
    """A block of Python with what it printed, and the value of its last line if that is an expression."""
    tree = ast.parse(part.code)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    printed = io.StringIO()
    value: Any = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "page", "exec"), names)  # noqa: S102 - it is what this is for
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "page", "eval"), names)  # noqa: S307 - as above
    picture = html = ""
    if hasattr(value, "savefig"):
        held = io.BytesIO()
        value.savefig(held, dpi=80, metadata={"Software": None})
        picture = base64.b64encode(held.getvalue()).decode()
    elif hasattr(value, "_repr_html_"):
        html = value._repr_html_()
    text = "" if value is None else "<Figure>" if picture else repr(value)
    return evolve(part, printed=printed.getvalue(), value=text, html=html, picture=picture)


def _said(text: str) -> str:
    """What a shell shows of some commands, each of which has to end with 0."""
    script = f"cd {ROOT}\n{text.removeprefix(INSTALLED)}" if text.startswith(INSTALLED) else text
    done = subprocess.run(
        ["/usr/bin/env", "bash", "-e", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode or "Traceback" in done.stdout:
        raise RuntimeError(done.stdout)
    return done.stdout


def put_in(path: Path, change: str) -> None:
    """Change a file: lines that stand together in it, once, without those with a plus, for those without a minus."""
    lines = [(line[:1] or " ", line[1:]) for line in change.splitlines()]
    before = "".join(f"{line}\n" for sign, line in lines if sign != "+")
    after = "".join(f"{line}\n" for sign, line in lines if sign != "-")
    text = "\n" + path.read_text("utf-8")
    if text.count(f"\n{before}") != 1:
        raise ValueError(f"{path} does not have once:\n{before}")
    path.write_text(text.replace(f"\n{before}", f"\n{after}").removeprefix("\n"), "utf-8")


def write(page: Path, parts: list[Part]) -> None:
    """Write a page with what its parts gave, the pictures, and a tutorial's notebook."""
    tutorial = page.parent == TUTORIALS
    shown = []
    for number, part in enumerate(parts, start=1):
        picture = f"{page.stem}_{number}.png"
        given = part.given(picture) if part.gave is not None or (tutorial and part.runs) else ""
        if given and part.picture:
            (page.parent / picture).write_bytes(base64.b64decode(part.picture))
        shown.append(part.shown)
        if given:
            shown.append(f"\n<!-- gives{' about' * part.about} -->\n{given}<!-- end -->\n")
    page.write_text("".join(shown), encoding="utf-8")
    if tutorial:
        page.with_suffix(".ipynb").write_text(_notebook(parts), encoding="utf-8")


def _notebook(parts: list[Part]) -> str:
    cells = [_cell(number, part) for number, part in enumerate(parts, start=1) if part.shown.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    facts = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": cells, "metadata": facts, "nbformat": 4, "nbformat_minor": 5}
    return f"{json.dumps(book, indent=1, ensure_ascii=False)}\n"


def _cell(number: int, part: Part) -> dict[str, Any]:
    if not part.runs:
        return {
            "cell_type": "markdown",
            "id": f"text-{number}",
            "metadata": {},
            "source": part.shown.strip("\n").splitlines(keepends=True),
        }
    outputs: list[dict[str, Any]] = []
    if part.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": part.printed.splitlines(keepends=True)})
    if part.value:
        data: dict[str, Any] = {"text/plain": [part.value]}
        if part.picture:
            data["image/png"] = part.picture
        if part.html:
            data["text/html"] = [f"<div>{part.html}</div>"]
        facts = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        outputs.append({**facts, "data": data})
    return {
        "cell_type": "code",
        "execution_count": number,
        "id": f"code-{number}",
        "metadata": {},
        "outputs": outputs,
        "source": source_of(part).splitlines(keepends=True),
    }


def source_of(part: Part) -> str:
    """A block's text in a notebook, whose kernel is Python."""
    text = part.code.strip("\n")
    return f"%%bash\n{text}" if part.kind == "sh" else text


def all_pages() -> list[Path]:
    """Every page that has code to run: all but those that a command wrote."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if page.parent != MEASURED]


def main() -> int:
    """Run pages, those that are named or all, and write what they gave."""
    if sys.argv[1:2] == ["--in"]:
        folder, page, results = map(Path, sys.argv[2:])
        sys.path[0] = str(folder)  # where Python has this file's own folder
        warnings.filterwarnings("error")
        warnings.filterwarnings("default", category=UserWarning)
        results.write_text(json.dumps([asdict(part) for part in run_here(page, folder)]), "utf-8")
        return 0
    for page in [Path(each).resolve() for each in sys.argv[1:]] or all_pages():
        write(page, ran(page))
        print(f"{page}: done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
