"""What came with Jostle learned from databases of the role for that, and from no others."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from jostle.advice.kept import kept_expectations
from jostle.choice.makers.shipped import ADVISED, SHIPPED, rehearsals_of, shipped_history, shipped_maker
from jostle.corpora.roles import BEGINNING, known
from jostle.learned.places import shipped_folder
from jostle.options import get
from jostle.options.fitted import kept_apart, marks_of
from jostle.options.registry import built_in
from jostle.tasks import CLASSIFICATION, PUBLISHING, RANGES, SELECTION, Task


def test_databases_that_share_people_or_a_source_have_one_role() -> None:
    roles = defaultdict(set)
    for each in known().values():
        roles[each.group].add(each.role)
    assert {role for found in roles.values() for role in found} == {"tune", "learn", "judge"}
    assert all(len(found) == 1 for found in roles.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_shipped_maker_learned_from_is_there_to_be_learned_from(name: str) -> None:
    history = rehearsals_of(name)
    databases = {instance.database for instance in history.instances.values()}
    assert len(databases) >= 20
    assert {known()[digest].role for digest in databases} == {"learn"}


@pytest.mark.parametrize("task", [CLASSIFICATION, PUBLISHING, RANGES, SELECTION], ids=str)
def test_nothing_that_ships_was_rehearsed_on_what_is_judged_by(task: Task[Any]) -> None:
    shipped = shipped_history(task)
    roles = {known()[digest].role for digest in shipped.databases if digest in known()}
    assert {"learn"} <= roles <= {"tune", "learn"}
    judged_by = {each.name for each in known().values() if each.role == "judge"}
    assert not judged_by & {database.name for database in shipped.databases.values()}


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


@pytest.mark.parametrize("name", SHIPPED)
def test_no_maker_learned_from_what_its_options_were_fitted_on(name: str) -> None:
    trained, among = shipped_maker(name), [get(each) for each in SHIPPED[name].among]
    assert {_role_of(digest) for digest in trained.digests} == {"learn"}
    history = rehearsals_of(name)
    apart = kept_apart(among, history.databases.values())
    assert not {digest[:BEGINNING] for digest in apart} & set(trained.digests)


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
    histories = {f"{task.name}.jsonl.gz" for task in (CLASSIFICATION, PUBLISHING, RANGES, SELECTION)}
    assert {path.name for path in shipped_folder().iterdir()} == held | histories
