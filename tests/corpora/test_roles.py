"""What came with Jostle learned from databases of the role for that, and from no others."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from jostle.choice.makers.shipped import SHIPPED, rehearsals_of, shipped_history
from jostle.corpora.roles import known
from jostle.tasks import CLASSIFICATION, RANGES, Task


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


@pytest.mark.parametrize("task", [CLASSIFICATION, RANGES], ids=str)
def test_nothing_that_ships_was_rehearsed_on_what_is_judged_by(task: Task[Any]) -> None:
    shipped = shipped_history(task)
    roles = {known()[digest].role for digest in shipped.databases if digest in known()}
    assert roles == {"tune", "learn"}
    judged_by = {each.name for each in known().values() if each.role == "judge"}
    assert not judged_by & {database.name for database in shipped.databases.values()}
