"""What stays the same when modules are merged or renamed: answers, prices, traces, choices, files, public names.

Each kind is frozen in a file beside this one, an entry a line; JOSTLE_REWRITE=1 writes these anew, to be reviewed.
Answers are frozen as digests, with floats rounded, so that they are those of every Python and numpy. What programs
with mistakes are told, and how programs are printed, stands in `tests/cases` already.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from attrs import fields
from public_names import PUBLIC
from run_here import ran
from small import EPSILONS, METAFEATURES, grid, options
from small import tables as small_tables
from tables_of_labels import correlated, table_of
from test_every_option import EVERYONE, RELATIONS, tables

import jostle
from jostle import Table
from jostle.choice.learning.history import History, read_history
from jostle.choice.learning.rehearse import Plan, rehearse_all
from jostle.choice.makers.making import MkChoiceMaker
from jostle.cli.app import COMMANDS, Commands
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.options import get
from jostle.privacy.events import price
from jostle.trace.records import Charged, Chosen, Record, Released, Trace

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE.parents[1] / "programs").glob("*.jst"))
SHIPPED = (
    "classification",
    "classification-balanced-error",
    "classification-log-loss",
    "classification-auc",
    "publishing",
    "selection",
    "selection-auc",
    "ranges",
)
SEED = 11


def rounded(value: Any) -> Any:
    """Return plain data that is equal where a value is, but for the last digits of floats."""
    match value:
        case float():
            return float(f"{value:.7g}") + 0.0
        case np.ndarray():
            return [list(value.shape), rounded(value.tolist())]
        case dict():
            return {str(name): rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
    return value if isinstance(value, int | str | None) else str(value)


def digest(value: Any) -> str:
    """Return a short digest of plain data."""
    text = value if isinstance(value, str) else json.dumps(rounded(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def answered(answer: Any) -> Any:
    """Return an answer as plain data."""
    if hasattr(answer, "to_json"):
        return json.loads(answer.to_json())
    if hasattr(answer, "data"):
        return answer.data()
    if hasattr(answer, "cells"):
        return [answer.cells]
    return [answer.keys, answer.values] if hasattr(answer, "keys") else str(answer)


def told(record: Record) -> str:
    """Return a record's kind with what it is about; numbers are in the digest of all records."""
    match record:
        case Charged(site=site, mechanism=mechanism, epsilon=epsilon):
            return f"charged {site} {mechanism} {epsilon}"
        case Chosen(label=label, taken=taken):
            return f"chosen {label} {dict(taken)}"
    return type(record).__name__.lower()


def lines_of(trace: Trace) -> list[Any]:
    """Return the records of a trace as plain data."""
    return [[type(each).__name__, *(getattr(each, one.name) for one in fields(type(each)))] for each in trace.records]


def shortened(trace: Trace) -> str:
    """Return what a trace tells, with releases left out, and a digest of all of it."""
    lines = [told(each) for each in trace.records if not isinstance(each, Released)]
    return " | ".join([*lines[:12], *(f"and {len(lines) - 12}" for _ in lines[12:13]), digest(lines_of(trace))])


# What is frozen


def options_answers() -> Iterator[tuple[str, Any]]:
    """Yield what every Option answers, costs and leaves in the trace."""
    for name in EVERYONE:
        option: Any = get(name)
        for relation in RELATIONS:
            for place, table in enumerate(tables(option, relation)):
                trace = Trace()
                answer = option(jostle.rehearse(table, seed=SEED, trace=trace), epsilon=4)
                prices = [str(price(option.cost(table.schema, Fraction(each)), relation)) for each in ("1/3", "4")]
                yield f"{name} {relation} {place}", [prices, digest(answered(answer)), shortened(trace)]


def makers_choices() -> Iterator[tuple[str, Any]]:
    """Yield what the makers that came with Jostle choose, and what they expect of each of their Options."""
    for name in SHIPPED:
        maker: Any = jostle.pretrained(name)
        for place, table in enumerate(asked_of(name)):
            for epsilon in ("1/20", "1", "8"):
                trace = Trace()
                maker(jostle.rehearse(table, seed=SEED, trace=trace), epsilon=epsilon)
                chosen = [
                    [
                        each.label,
                        dict(each.taken),
                        [[what, *map("{:.5g}".format, both)] for what, *both in each.predicted],
                    ]
                    for each in trace.records
                    if isinstance(each, Chosen)
                ]
                yield f"{name} {place} {epsilon}", [chosen[:3], shortened(trace)]


def asked_of(maker: str) -> list[Table]:
    """Return public tables that a maker is asked about."""
    if maker == "ranges":
        line, square = (np.arange(256) * 37 % 101) ** 2 // 50, np.outer(np.arange(16), np.arange(16)) % 7
        return [Table.from_grid(line), Table.from_grid(square, neighbours="replace_one", rows=int(square.sum()))]
    return [
        table_of(data, schema)
        for schema, data in (correlated(120), correlated(1500, classes=2, neighbours="replace_one", rows=1500))
    ]


def programs_prices(told_by: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield what is said of the programs that came with Jostle, and what their functions cost."""
    for path in PROGRAMS:
        done = told_by("check", path)
        yield path.name, [done.status, *(line.rpartition("/")[2] for line in done.out.splitlines()), done.err]


def files_written(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield what is in saved files of every kind."""
    schema, rows = correlated(300, neighbours="replace_one", rows=300)
    schema.write(folder / "schema.toml")
    yield "schema", (folder / "schema.toml").read_text("utf-8").splitlines()
    for name in ("Majority", "NaiveBayes", "PooledTree", "BayesTree", "PooledBayes"):
        option: Any = get(name)
        option(jostle.rehearse(table_of(rows, schema), seed=SEED), epsilon=5).save(folder / "model.json")
        facts = json.loads((folder / "model.json").read_text("utf-8"))
        yield f"model {name}", [sorted(facts), digest(facts)]
    trace = Trace(folder / "trace.jsonl")
    maker: Any = jostle.pretrained("selection")
    maker(jostle.rehearse(table_of(rows, schema), seed=SEED, trace=trace), epsilon=1)
    written = [json.loads(line) for line in (folder / "trace.jsonl").read_text("utf-8").splitlines()]
    yield "trace", [[each["kind"], *sorted(each)] for each in written]
    yield "numbers of the trace", digest(written)
    plan = Plan(options=options(), epsilons=EPSILONS, repeats=2, metafeatures=METAFEATURES)
    history = History.open(folder / "history.jsonl")
    rehearse_all([(each, TableSpec()) for each in small_tables(4)], plan, history, engine="threads")
    on_grids = Plan(options=options("Identity"), epsilons=("1",), repeats=1)
    rehearse_all([(grid(0), GridSpec(records=1000))], on_grids, history, engine="threads")
    kinds: dict[str, Any] = {}
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text("utf-8").splitlines()]
    for line in lines:
        line.pop("seconds", None)
        kinds.setdefault(" ".join(sorted(line)), []).append(json.dumps(rounded(line), sort_keys=True))
    for names, held in sorted(kinds.items()):
        yield f"history {names}", [len(held), digest(sorted(held))]
    learned = MkChoiceMaker(
        among=options(), informed_by=METAFEATURES, trained_on=read_history(folder / "history.jsonl")
    )
    facts = json.loads(learned.trained.to_json())
    yield "maker", [sorted(facts), digest({name: facts[name] for name in facts.keys() - {"learners", "figures"}})]
    probe = jostle.protect(table_of(rows, schema), epsilon=3, vault=folder / "rows.vault")
    probe.count("1/2")
    with closing(sqlite3.connect(folder / "rows.vault")) as vault:
        for kind, name, text in sorted(vault.execute("select type, name, sql from sqlite_master")):
            yield f"vault {kind} {name}", text and " ".join(text.split())


def names_public() -> Iterator[tuple[str, Any]]:
    """Yield the public names with what they are called with, of commands and of each package."""
    for name, thing in PUBLIC.items():
        try:
            yield name, [f"{each.kind.name[0]} {each.name}" for each in inspect.signature(thing).parameters.values()]
        except ValueError:
            yield name, None
    for package in pkgutil.walk_packages(jostle.__path__, "jostle."):
        names = getattr(importlib.import_module(package.name), "__all__", ()) if package.ispkg else ()
        if names:
            yield f"package {package.name}", sorted(names)
    group = Commands(name="jostle")
    for name in COMMANDS:
        yield from commands_of(name, group.get_command(None, name))


def commands_of(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield a command with all it can be called with, and those below it."""
    yield f"command {name}", sorted(" ".join([*each.opts, *each.secondary_opts]) for each in command.params)
    for below, each in getattr(command, "commands", {}).items():
        yield from commands_of(f"{name} {below}", each)


def programs_runs() -> Iterator[tuple[str, Any]]:
    """Yield what programs answer on public rows, by policies that were not learned."""
    schema, rows = correlated(300)
    grid_of = Table.from_grid((np.arange(64) * 37 % 29) ** 2)
    for name, entry, table in (
        ("publish", "publish", table_of(rows, schema)),
        ("tree", "FriedmanSchuster", table_of(rows, schema)),
        ("jostled_tree", "JostledTree", table_of(rows, schema)),
        ("dawa_class", "Partitioning", grid_of),
        ("histogram", "Flat", grid_of),
    ):
        program = jostle.load(HERE.parents[1] / "programs" / f"{name}.jst")
        trace = Trace()
        answer = program.run(entry, jostle.rehearse(table, seed=SEED, trace=trace), epsilon=Fraction(2))
        yield f"{name} {entry}", [digest(answered(answer)), shortened(trace)]


# Whether it is as it was


def same_as_frozen(name: str, entries: Iterator[tuple[str, Any]]) -> None:
    """Compare entries with those in a file, or write them."""
    path = HERE / f"{name}.json"
    lines = [f"{json.dumps(each)}: {json.dumps(held)}" for each, held in entries]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if "JOSTLE_REWRITE" in os.environ:
        path.write_text(text, "utf-8")
    found, frozen = json.loads(text), json.loads(path.read_text("utf-8"))
    assert len(found) == len(lines), "two entries have one name"
    assert {each: held for each, held in found.items() if frozen.get(each) != held} == {}
    assert frozen.keys() - found.keys() == set()


def test_every_option_answers_costs_and_tells_the_same() -> None:
    assert len(get_args(Record)) == 9
    same_as_frozen("options", options_answers())


def test_makers_choose_the_same() -> None:
    same_as_frozen("makers", makers_choices())


def test_programs_cost_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    same_as_frozen("programs", programs_prices(lambda *words: ran(monkeypatch, capsys, *words)))


@pytest.mark.slow
def test_programs_answer_and_tell_the_same() -> None:
    same_as_frozen("runs", programs_runs())


def test_files_hold_the_same(tmp_path: Path) -> None:
    same_as_frozen("files", files_written(tmp_path))


def test_public_names_are_the_same() -> None:
    same_as_frozen("names", names_public())
