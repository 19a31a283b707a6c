"""The walks through the code go where they say, and what the pages on adding something name is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ONBOARDING = (DOCS / "onboarding.md").read_text("utf-8")
PAGES = sorted((DOCS / "extending").glob("*.md"))
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\d+\. `(\S+)` `(\S+)`", re.MULTILINE)
LIMIT = 300
ENTERED = """
import json, os, sys
import jostle

root = os.path.dirname(os.path.dirname(jostle.__file__))
entered = {}

def look(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_filename.startswith(root):
        entered.setdefault(f"{os.path.relpath(code.co_filename, root)} {code.co_qualname}", len(entered))

sys.setprofile(look)
try:
    %s
finally:
    sys.setprofile(None)
    with open("entered.json", "w") as file:
        json.dump(entered, file)
"""
SCHEMA = """label = "smokes"

[columns.age]
kind = "numeric"
low = 0
high = 120
bins = 8

[columns.smokes]
kind = "categorical"
values = ["no", "yes"]
"""


def ran(folder: Path, *words: str) -> str:
    """Return what a Python of its own prints, with the package in a folder before any other."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "error", "JOSTLE_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def walked(walk: str, folder: Path, body: str) -> tuple[list[str], list[str]]:
    """Return where a walk says that it goes, and the same places in the order in which it comes by."""
    listed = [f"{path} {function}" for path, function in LINE.findall(walk)]
    (folder / "walk_here.py").write_text(ENTERED % body, "utf-8")
    ran(folder, "walk_here.py")
    entered = json.loads((folder / "entered.json").read_text("utf-8"))
    assert [place for place in listed if place not in entered] == []
    return listed, sorted(listed, key=entered.__getitem__)


def walks() -> list[str]:
    """Return the parts of the text that are about a walk each."""
    return ONBOARDING.split("\n## ")[1:3]


@pytest.mark.slow
def test_the_walk_of_a_run_comes_by_in_the_order_that_is_told(tmp_path: Path) -> None:
    walk = walks()[0]
    rows = "".join(f"{20 + number % 60},{'no' if number % 3 else 'yes'}\n" for number in range(300))
    (tmp_path / "people.csv").write_text(f"age,smokes\n{rows}", "utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, "utf-8")
    ((_, name, program),) = BLOCK.findall(walk)
    (tmp_path / name).write_text(program, "utf-8")
    (command,) = re.findall(r"^`(jostle run .*)`$", walk, re.MULTILINE)
    listed, taken = walked(walk, tmp_path, f"sys.argv = {command.split()}; from jostle.cli import main; main()")
    assert len(listed) > 20
    assert listed == taken


@pytest.mark.slow
def test_the_walk_of_a_grid_comes_by_in_the_order_that_is_told(tmp_path: Path) -> None:
    walk = walks()[1]
    ((_, name, text),) = BLOCK.findall(walk)
    (tmp_path / name).write_text(text, "utf-8")
    listed, taken = walked(walk, tmp_path, "import walk")
    assert len(listed) > 12
    assert listed == taken


def test_every_page_is_in_the_list_and_has_all_kinds_of_things_to_add() -> None:
    listed = re.findall(r"\(extending/(\w+)\.md\)", ONBOARDING)
    assert sorted(listed) == [page.stem for page in PAGES]
    assert {"option", "metafeature", "task", "kernel", "mechanism", "builtin", "command"} <= set(listed)


@pytest.mark.parametrize("page", [DOCS / "onboarding.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    written = {name for _, name, _ in BLOCK.findall(text)}
    named = set(re.findall(r"`((?:jostle|tests|docs|programs|\.ci)/[\w/.]*)`", text)) - written
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
