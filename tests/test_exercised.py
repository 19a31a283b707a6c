"""What is covered is not a number of tests: each member of each closed list, and each extra, is exercised by some test.

Further lists are held where their cases stand: error codes in `lang/test_wrong_programs.py`, what a probe is asked in
`privacy/test_what_an_asker_sees.py`, kinds of records and commands in `cli/test_hostile_texts.py`, public names in
`test_wrong_arguments.py`. Lines are counted by .ci/slow.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from contracts import LISTS
from extreme_cases import CASES
from making import PLAUSIBLE
from test_every_option import EVERYONE
from test_hostile_texts import CASES as COMMANDS
from test_hostile_texts import commands

from jostle.options import built_in
from jostle.tables.closed import KERNELS
from jostle.tables.persons import PersonBands, PersonCount

TESTS = Path(__file__).parent
PROJECT = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))["project"]
TOOLS = {"docs", "test", "dev"}
"""Extras of those who work on the project."""


@cache
def imported() -> set[str]:
    """Return what the tests and the package import, or ask for by a name in quotes."""
    found = set()
    for path in [*TESTS.rglob("*.py"), *(TESTS.parent / "jostle").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value.partition(".")[0])
    return found


def test_every_member_of_the_closed_lists_is_built_and_held_to_what_it_claims() -> None:
    kinds = {kind for known in LISTS.values() for kind in known.kinds}
    assert {kind for kind in kinds if not hasattr(kind, "task")} == set(PLAUSIBLE)
    assert set(KERNELS) == {*CASES, PersonBands, PersonCount}  # whose cases are those of persons


def test_every_option_is_in_the_suite_of_all() -> None:
    assert {name.partition("(")[0] for name in EVERYONE} >= {kind.__name__ for kind in built_in()}


def test_every_command_is_given_something() -> None:
    assert set(COMMANDS) == set(commands())


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - TOOLS))
def test_every_extra_is_imported(extra: str) -> None:
    packages = {re.split(r"[\[>]", each)[0].lower() for each in PROJECT["optional-dependencies"][extra]}
    assert {each.replace("-", "_").replace("pyjwt", "jwt") for each in packages} & imported()
