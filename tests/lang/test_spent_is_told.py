"""What programs spend is at least what their releases tell of any record, at most the promise, and in the vault."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from random_asks import asking, noted
from small_tables import ROWS, schema_under, table_of_rows

import jostle
from jostle.errors import JostleError, Source
from jostle.lang.check import check
from jostle.lang.price import prices
from jostle.lang.program import Program
from jostle.privacy.opening import Registry
from jostle.privacy.probe import Probe
from jostle.privacy.vault import FileVault
from jostle.tables.schema import Neighbours
from jostle.trace.records import Charged, Trace


def run_on_vault(seed: int, neighbours: Neighbours, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run two programs one after the other on one vault; return how the first ended."""
    schema, ended = schema_under(neighbours), []
    table = table_of_rows(ROWS, schema)
    with noted(monkeypatch) as releases:
        for each in (seed, seed + 500_000):
            text = asking(Random(each))
            checked = check(Source("p.jst", text), schema)
            assert {mistake.code for mistake in checked.diagnostics} <= {"J301"}, (text, checked.diagnostics)
            monkeypatch.setattr("jostle.privacy.opening._registry", fresh())
            trace = Trace()
            try:
                db = jostle.protect(table, epsilon=1, vault=folder / f"{seed}.vault", trace=trace)
            except JostleError:
                ended.append("all spent before")
                continue
            before = FileVault(folder / f"{seed}.vault").account().spent
            try:
                Program(checked.source, checked.module).run("answer", db, epsilon=db.promise)
                ended.append("answered")
            except JostleError as mistake:
                ended.append(type(mistake).__name__)
            account = FileVault(folder / f"{seed}.vault").account()
            assert account.spent - before == db.spent, text
            assert account.spent <= 1, text
            assert releases.loss(schema) <= account.spent, text
            charged = [record for record in trace.records if isinstance(record, Charged)]
            assert bool(charged) == bool(db.spent), text
            priced = prices(checked.module, schema)["answer"].amount.at(db.promise or Fraction(0))
            assert priced is None or db.spent <= priced, text
    return ended[0]


def fresh() -> Registry:
    """Return a registry such as another process has."""
    return Registry()


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_what_is_spent_covers_what_is_told(
    neighbours: Neighbours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = [run_on_vault(seed, neighbours, tmp_path, monkeypatch) for seed in range(10)]
    assert {"answered", "RefusedProgramError"} <= {*ended}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("seed", range(6))
def test_refined_answers_of_parts_allotments_and_reservations_are_covered(
    neighbours: Neighbours, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is refined by whoever holds it, once or again, in its part or after that was settled."""
    chance, schema = Random(seed), schema_under(neighbours)
    db = jostle.protect(table_of_rows(ROWS, schema), epsilon=1, vault=tmp_path / "v")
    rooms: list[Probe] = [db]
    answers: list[Any] = []

    def amount() -> str:
        return chance.choice(("1/7", "0.1", "1/40", "1/3", "0.02", "1/2"))

    steps: tuple[Callable[[Probe], object], ...] = (
        lambda room: rooms.append(room.where("region", chance.choice(("north", "east")))),
        lambda room: rooms.extend(room.parts("region")),
        lambda room: rooms.append(room.where("label", "yes")),
        lambda room: rooms.append(room.only("age", "region")),
        lambda room: rooms.append(room.allot(amount())),
        lambda room: rooms.append(room.reserve(amount())),
        lambda room: room.settle(),
        lambda room: answers.append(room.histogram("age", epsilon=amount())),
        lambda room: answers.append(room.count(epsilon=amount())),
        lambda room: room.count(epsilon=amount()),
        lambda room: answers.append(chance.choice(answers).refine(epsilon=amount())),
        lambda room: answers.append(chance.choice(answers[-2:]).refine(epsilon=amount())),
    )
    refined = 0
    with noted(monkeypatch) as releases:
        for _ in range(60):
            try:
                chance.choice(steps)(chance.choice(rooms[-6:]))
            except (JostleError, IndexError):
                continue
            account = FileVault(tmp_path / "v").account()
            assert account.spent == db.spent <= 1
            assert releases.loss(schema) <= account.spent
            refined = len(releases.drawn)
    assert refined
