"""What came with Jostle learned from databases of the role for that, and from no others."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict
from fitted_bands import expectations
from roles import LINE, MAP, database_of, listed

import jostle
from jostle.advice.expected import kept_expectations
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import KnownDatabase, Runs
from jostle.choice.makers.shipped import ADVISED, SHIPPED, rehearsals_of, shipped_history, shipped_maker
from jostle.choice.makers.trained import learn
from jostle.corpora.corpus import BEGINNING, known
from jostle.corpora.databases import PublicGrid
from jostle.corpora.folders import points_grid
from jostle.corpora.generators import GeneratedGrid
from jostle.learned.files import shipped_folder
from jostle.options import get
from jostle.options.fitted import kept_apart, marks_of
from jostle.options.ranges import reading
from jostle.options.ranges.reading import SPLITS
from jostle.options.registry import built_in
from jostle.tables.readers import header
from jostle.tasks import CLASSIFICATION, PUBLISHING, RANGES, SELECTION, Task

REHEARSED = (CLASSIFICATION, PUBLISHING, RANGES, SELECTION)
GENERATED = re.compile(r"(\S+) (\S+) records=(\d+) strength=(\S+) seed=(\d+)")
FINE = (256, 256)
"""Cells of older maps."""


def test_databases_that_share_people_or_a_source_have_one_role() -> None:
    roles = defaultdict(set)
    for each in known().values():
        roles[each.group].add(each.role)
    assert {role for found in roles.values() for role in found} == {"tune", "learn", "judge"}
    assert all(len(found) == 1 for found in roles.values())


@pytest.mark.representative
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_maker_learned_from_what_is_there_for_that_and_its_options_were_not_fitted_on(name: str) -> None:
    trained, among = shipped_maker(name), [get(each) for each in SHIPPED[name].among]
    assert {_role_of(digest) for digest in trained.digests} == {"learn"}
    history = rehearsals_of(name)
    databases = {instance.database for instance in history.instances.values()}
    assert len(databases) >= 20
    assert {known()[digest].role for digest in databases} == {"learn"}
    apart = kept_apart(among, history.databases.values())
    assert not {digest[:BEGINNING] for digest in apart} & set(trained.digests)


@pytest.mark.parametrize("task", REHEARSED, ids=str)
def test_nothing_that_ships_was_rehearsed_on_what_is_judged_by(task: Task[Any]) -> None:
    shipped = shipped_history(task)
    roles = {known()[digest].role for digest in shipped.databases if digest in known()}
    assert {"learn"} <= roles <= {"tune", "learn"}
    assert [said for database in shipped.databases.values() if (said := _doubt(database))] == []
    # And what ships is of the databases that it names.
    assert all(key.split()[0] == instance.database for key, instance in shipped.instances.items())
    assert {line.instance for line in shipped.lines() if isinstance(line, Runs)} == set(shipped.instances)


def _doubt(database: KnownDatabase) -> str:
    """Why it may be one to be judged by after all, under another name or cut in another way; nothing if it is not."""
    if database.digest in known():
        assigned = known()[database.digest]
        return "" if assigned.name == database.name else f"{database.name} is {assigned.name}"
    if database.artificial:
        return "" if _generated(database.name).digest == database.digest else f"{database.name} comes out otherwise"
    of = database.name.partition(": ")[0]
    roles = {each.role for each in known().values() if each.name == of}
    return "" if roles == {"tune"} else f"{database.name} has no role"


def _generated(name: str) -> PublicGrid:
    """The grid that a generator makes of what its name says."""
    found = GENERATED.fullmatch(name)
    assert found is not None, f"{name} is nothing that was generated"
    kind, shape, records, strength, seed = found.groups()
    made = GeneratedGrid(kind, tuple(map(int, shape.split("x"))), int(records), float(strength), int(seed))
    return PublicGrid(made.name, made, artificial=True)


@pytest.mark.parametrize(
    ("name", "artificial", "said"),
    [
        ("zipf 64 records=100 strength=1 seed=3", True, "zipf 64 records=100 strength=1 seed=3 comes out otherwise"),
        ("anything", False, "anything has no role"),
        ("adult: age", False, ""),
    ],
)
def test_a_database_under_another_name_is_found(name: str, artificial: bool, said: str) -> None:
    (digest, judged_by) = next((digest, each) for digest, each in known().items() if each.role == "judge")
    assert _doubt(KnownDatabase(digest, "anything", "g", "grid")) == f"anything is {judged_by.name}"
    assert _doubt(KnownDatabase("0" * 32, judged_by.name, "g", "grid")) == f"{judged_by.name} has no role"
    assert _doubt(KnownDatabase("0" * 32, f"{judged_by.name}: x", "g", "grid")) == f"{judged_by.name}: x has no role"
    assert _doubt(KnownDatabase("0" * 32, name, "g", "grid", artificial)) == said


@pytest.mark.slow
def test_what_has_no_role_is_made_of_what_constants_were_set_on(shared: Path) -> None:
    """Columns of tables, and points in cells of other sizes, made again: their digests are those that ship."""
    made = [
        each
        for each in shipped_history(RANGES).databases.values()
        if each.digest not in known() and not each.artificial
    ]
    assert made
    for database in made:
        of, _, columns = database.name.partition(": ")
        path = shared / ("tabular" if columns else "points") / f"{of}.csv.gz"
        taken = tuple(columns.split(" by ")) if columns else header(path)[:2]
        shapes = [LINE] if len(taken) == 1 else [MAP, FINE]
        digests = {points_grid(path, shape, columns=taken).digest for shape in shapes}
        assert database.digest in digests, database.name


def test_rehearsals_have_the_columns_of_the_tables_that_they_are_said_to_be_of(shared: Path) -> None:
    for task in (CLASSIFICATION, PUBLISHING, SELECTION):
        for instance in shipped_history(task).instances.values():
            columns = {name for name, _, _ in instance.sketch.columns}
            name = known()[instance.database].name
            assert columns <= set(header(shared / "tabular" / f"{name}.csv.gz")), name


def test_the_roles_that_ship_are_those_that_were_given(shared: Path) -> None:
    given = {(each.name, each.group, each.role) for each in listed(shared) if each.folder != "text"}
    assert {(each.name, each.group, each.role) for each in known().values()} == given


@pytest.mark.slow
def test_databases_that_are_learned_from_say_what_their_digests_say(shared: Path) -> None:
    """What is under the name of one is that one, in one of its sizes; those to be judged by are not opened for it."""
    digests: dict[str, set[str]] = {}
    for digest, assigned in known().items():
        digests.setdefault(assigned.name, set()).add(digest)
    for each in listed(shared, role="learn"):
        assert database_of(shared / each.folder, each.name).digest in digests[each.name], each.name


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_maker_is_what_is_learned_from_shipped_rehearsals(name: str) -> None:
    """So it learned from them, and not only says so."""
    shipped = SHIPPED[name]
    options = [get(each) for each in shipped.among]
    cases = cases_of(rehearsals_of(name), options, judge=shipped.judge)
    learned = learn(cases, options, shipped.informed_by)
    _same(json.loads(learned.to_json()), json.loads(shipped_maker(name).to_json()))


@pytest.mark.representative
@pytest.mark.parametrize("name", ADVISED)
def test_shipped_advice_is_what_is_learned_from_shipped_rehearsals(name: str) -> None:
    _same(asdict(expectations(name)), asdict(kept_expectations()[name]))


def _same(learned: Any, kept: Any) -> None:
    """Refuse what differs by more than the last digits, which hang on the machine."""
    (names, found), (kept_names, known) = (zip(*_parts(each), strict=True) for each in (learned, kept))
    assert names == kept_names
    for name, value, other in zip(names, found, known, strict=True):
        number = isinstance(value, float) or isinstance(other, float)
        assert value == (pytest.approx(other, rel=1e-3, abs=1e-3, nan_ok=True) if number else other), name


def _parts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the texts and numbers of nested dictionaries and lists, each with where it stands."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _parts(part, f"{name}/{key}")
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from _parts(part, f"{name}/{place}")
    else:
        yield name, value


def test_models_that_ship_were_fitted_on_databases_for_that_alone() -> None:
    """Whatever a built-in Option carries that was fitted."""
    fitted = {kind.__name__: marks_of(kind().fitted_on) for kind in built_in()}
    assert {name for name, marks in fitted.items() if marks} >= {
        "AHP",
        "DAWA",
        "JostledTree",
        "RefinedTree",
        "ShrunkTree",
    }
    for name, marks in fitted.items():
        assert {_role_of(mark) for mark in marks} <= {"tune"}, name


def used_by(kind: type) -> Iterator[Any]:
    """Yield what a class uses of its module, by name, and what that uses."""
    home, seen = vars(sys.modules[kind.__module__]), {kind.__name__}
    is_preset = f"class {kind.__name__}(" not in inspect.getsource(sys.modules[kind.__module__])
    waiting: list[Any] = [kind.__base__ if is_preset else kind]
    while waiting:
        for name in (set(re.findall(r"\w+", inspect.getsource(waiting.pop()))) & home.keys()) - seen:
            seen.add(name)
            yield home[name]
            if getattr(home[name], "__module__", "") == kind.__module__:
                waiting.append(home[name])


def test_whatever_reads_by_the_model_of_splits_says_what_that_was_fitted_on() -> None:
    readers = {
        kind.__name__: marks_of(kind().fitted_on)
        for kind in built_in()
        if any(getattr(each, "__module__", "") == reading.__name__ for each in used_by(kind))
    }
    assert len(readers) >= 4
    assert [name for name, marks in readers.items() if not marks >= set(SPLITS.fitted_on)] == []


@pytest.mark.parametrize("name", ADVISED)
def test_advice_that_ships_was_learned_from_databases_for_that_alone(name: str) -> None:
    known_of = kept_expectations()[name]
    assert len(known_of.digests) == known_of.databases
    assert {_role_of(digest) for digest in known_of.digests} == {"learn"}


def _role_of(mark: str) -> str:
    """The role of the database whose digest begins so."""
    (found,) = {each.role for digest, each in known().items() if digest.startswith(mark)}
    return found


def test_intervals_that_ship_were_fitted_on_databases_for_that_alone() -> None:
    groups = json.loads((shipped_folder() / "intervals.json").read_text("utf-8"))["fitted_on"]
    assert {each.role for each in known().values() if each.group in groups} == {"learn"}


def test_no_file_ships_of_which_no_role_is_known() -> None:
    """Whoever adds one says above what it was learned from."""
    held = {"advice.json", "intervals.json", "jostled_tree.json", *(f"{name}.json" for name in SHIPPED)}
    histories = {f"{task.name}.jsonl.gz" for task in REHEARSED}
    assert {path.name for path in shipped_folder().iterdir()} == held | histories
    package = Path(jostle.__file__).parent
    others = {path.relative_to(package) for path in package.rglob("*") if path.is_file()}
    elsewhere = {
        str(path) for path in others if path.suffix not in {".py", ".pyc", ".txt"} and "shipped" not in path.parts
    }
    assert elsewhere == {
        "corpora/questions.json",
        "corpora/roles.json",
        "lang/explanations/example.toml",
        "lang/jostle.lark",
        "lang/options.json",
        "lang/tables.json",
        "py.typed",
    }, "what is no list of roles, names or grammar was learned from something"
