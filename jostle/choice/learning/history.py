"""Histories: what rehearsals on public databases have shown, in one file that is only ever appended to.

A file is JSON lines, gzipped where its name ends in .gz, of three kinds: a database, an instance of one (a subsample,
say) with what its schema looks like and what was read off it, and the runs of one Option on an instance. Runs are keyed
by content: the instance, the Option's name and version, epsilon, and the repeat. So what is there already is never run
again, whoever ran it; and a file cut short by a crash is still good up to its last whole line.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, frozen
from numpy.typing import NDArray

from jostle.errors import AmountError, ChoiceError
from jostle.files.kinds import FileKind, writing
from jostle.learned.files import here, shortened
from jostle.privacy.amounts import exact
from jostle.tables.columns import Categorical, Numeric
from jostle.tables.schema import MOST_ROWS, Schema
from jostle.tasks import Task


@frozen
class Store:
    """A file of lines, gzipped where its name ends in .gz: what is added at once is a member of its own then.

    So what was interrupted is gone on with: a file cut short by a crash is good up to its last whole line.
    """

    path: Path
    kind: FileKind
    """How it is read, and called."""
    keeps: str
    """What is kept in it, in a sentence."""
    begins: bytes = b""
    """What each line begins with."""

    @property
    def _is_packed(self) -> bool:
        return self.path.suffix == ".gz"

    def lines(self) -> tuple[str, ...]:
        """The whole lines."""
        file = self.kind.at(self.path)
        data = file.data()
        return tuple(file.decoded(file.unpacked(data)[0] if self._is_packed else data).split("\n")[:-1])

    def add(self, lines: Iterable[str]) -> None:
        """Append lines; each is on disk, whole, when this returns."""
        text = "".join(f"{line}\n" for line in lines).encode()
        if not text:
            return
        packed = gzip.compress(text) if self._is_packed else text
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                written = os.write(file, packed)
            finally:
                os.close(file)
        except OSError as mistake:
            raise self._unwritten(mistake.strerror or "it was lost") from None
        if written < len(packed):
            raise self._unwritten("there is no room left")

    def mend(self) -> None:
        """Cut off a last line that a crash left incomplete, so that the next one begins on a line of its own.

        One that no crash can have left is refused: the file is another one, and what is in it is not ours to take away.
        """
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            data = file.read()
            whole = self.kind.at(self.path).unpacked(data)[1] if self._is_packed else data.rfind(b"\n") + 1
            if not self._is_packed and not data[whole:].startswith(self.begins[: len(data) - whole]):
                raise self.kind.at(self.path).damaged("ends in the middle of a line, and that is none of it")
            if whole < len(data):
                file.truncate(whole)

    def save(self, lines: Iterable[str]) -> None:
        """Write all lines anew. No time is in the file: the same lines make the same file."""
        text = "".join(f"{line}\n" for line in lines).encode()
        with writing(self.path, ChoiceError, f"the {self.kind.name}"):
            self.path.write_bytes(gzip.compress(text, mtime=0) if self._is_packed else text)

    def _unwritten(self, reason: str) -> ChoiceError:
        return ChoiceError(
            f"cannot write {self.kind.at(self.path).subject}: {reason}",
            why=self.keeps,
            fix="make room, and run the same command again: it goes on where it stopped",
        )


AFTER, JUDGED = " after ", " judged by "


@frozen
class Beforehand:
    """What was bought before an Option was run: what a metafeature buys, with a share of the budget.

    Losses by a programmer's own judge are another instance's; and so are losses of Options that knew something before
    they bought anything, since it was bought before them.
    """

    metafeature: str
    version: str
    share: Fraction = field(converter=Fraction)

    def key(self, instance: str) -> str:
        """What an instance is called where Options knew this."""
        return f"{instance}{AFTER}{self.share} {self.version} {self.metafeature}"


def judged_key(instance: str, judge: str) -> str:
    """What an instance is called where a programmer's judge said how bad answers are."""
    return f"{instance}{JUDGED}{judge}"


def judge_in(key: str) -> str | None:
    """Name of the programmer's judge in an instance's key; None where the task's own judge."""
    _, marked, name = key.partition(JUDGED)
    return name if marked else None


def apart(key: str) -> tuple[str, Beforehand | None]:
    """An instance's key, and what was bought there before Options were run, if anything.

    >>> key = Beforehand("log_records", "ab12", "1/20").key("0f v1")
    >>> apart(key) == ("0f v1", Beforehand("log_records", "ab12", "1/20")), apart("0f v1")
    (True, ('0f v1', None))
    """
    named, judged, judge = key.partition(JUDGED)
    instance, found, said = named.partition(AFTER)
    if not found:
        return key, None
    share, _, look = said.partition(" ")
    version, _, metafeature = look.partition(" ")
    try:
        return instance + judged + judge, Beforehand(metafeature, version, Fraction(share))
    except (ValueError, ZeroDivisionError):
        raise ChoiceError("a history has an instance that was looked at with a share that is no number") from None


VERSION = 1
HISTORY = FileKind(
    "history",
    ChoiceError,
    "put a copy in its place, or begin a new file",
    version=VERSION,
    version_entry="version_",
    most_bytes=1 << 28,
)
MOST_CATEGORIES, MOST_CODES, MOST_REPEATS = 100_000, 2**30, 10_000
"""Of a sketch in all, of one of its columns, and of runs: what is learned from makes room for each."""
DIGITS, DIGITS_READ = 5, 9
"""Significant digits that are kept of losses, and of what metafeatures bought."""
LEAST_AMOUNT, MOST_AMOUNT = Fraction(1, 10**100), Fraction(10**100)


def _sketched(columns: Iterable[Iterable[Any]]) -> tuple[tuple[str, int, bool], ...]:
    return tuple((str(name), int(size), bool(numeric)) for name, size, numeric in columns)


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _numbers(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, values))


def _losses(values: Iterable[float | None]) -> tuple[float | None, ...]:
    return tuple(None if value is None else float(value) for value in values)


def _by_judge(given: Mapping[str, Iterable[float | None]]) -> Mapping[str, tuple[float | None, ...]]:
    return {name: _losses(values) for name, values in given.items()}


def _read(given: Mapping[str, Iterable[float]]) -> Mapping[str, tuple[float, ...]]:
    return {name: _numbers(values) for name, values in given.items()}


@frozen
class Sketch:
    """What a schema looks like: names, how many codes each column has, which are numbers, which is the label."""

    columns: tuple[tuple[str, int, bool], ...] = field(converter=_sketched)
    label: str | None = None
    declared: bool = False
    """Whether the number of rows is declared, under replace_one."""

    def __attrs_post_init__(self) -> None:
        """Refuse what no schema looks like."""
        names = {name for name, _, _ in self.columns}
        if len(names) < len(self.columns) or not all(1 <= size <= MOST_CODES for _, size, _ in self.columns):
            raise ChoiceError("a sketch has two columns of one name, or one without values")
        categories = {name: size for name, size, numeric in self.columns if not numeric}
        if self.label is not None and self.label not in categories:
            raise ChoiceError("the label of a sketch is no column of classes")
        if sum(categories.values()) > MOST_CATEGORIES:
            raise ChoiceError(f"a sketch has more than {MOST_CATEGORIES:,} values in all")

    @classmethod
    def of(cls, schema: Schema) -> Sketch:
        """A schema's sketch."""
        columns = [(name, column.size, isinstance(column, Numeric)) for name, column in schema.columns]
        return cls(columns, schema.label, schema.rows is not None)

    def schema(self, rows: int) -> Schema:
        """A schema that looks like this one, with numbers for values; of a table with so many rows."""
        return Schema(
            {
                name: Numeric(0, size, bins=size) if numeric else Categorical([str(code) for code in range(size)])
                for name, size, numeric in self.columns
            },
            label=self.label,
            neighbours="replace_one" if self.declared else "add_remove",
            rows=rows if self.declared else None,
        )


def _sketch(given: Sketch | Mapping[str, Any]) -> Sketch:
    return given if isinstance(given, Sketch) else Sketch(**given)


@frozen
class KnownDatabase:
    """A public database that was rehearsed on."""

    digest: str
    name: str
    group: str
    """Databases that share people have one group, and stay on one side of every split."""
    task: str
    """The task that it was first rehearsed for."""
    artificial: bool = False
    """Whether a generator made it."""


@frozen
class KnownInstance:
    """What Options were run on: a database, or some rows or columns of it."""

    key: str
    database: str
    rows: int
    sketch: Sketch = field(converter=_sketch)
    read: Mapping[str, tuple[float, ...]] = field(factory=dict, converter=_read)
    """What metafeatures bought there, without noise, by the name of what was bought (public data only)."""
    asks: str | None = None
    """What was asked there, as a text that its task reads; None for what is asked where nobody says."""

    def __attrs_post_init__(self) -> None:
        """Refuse a number of rows that no table has."""
        if not 0 <= self.rows < MOST_ROWS:
            raise ChoiceError("an instance of a history has a number of rows that no table has")

    @property
    def schema(self) -> Schema:
        """A schema that looks like the instance's."""
        return self.sketch.schema(self.rows)


@frozen
class Runs:
    """One Option on one instance, once for each of several budgets."""

    instance: str
    option: str
    version: int
    repeat: int
    epsilons: tuple[str, ...] = field(converter=_texts)
    losses: tuple[float | None, ...] = field(converter=_losses)
    """None where a run failed."""
    seconds: tuple[float, ...] = field(converter=_numbers)
    failures: tuple[str, ...] = field(default=(), converter=_texts)
    """Why runs failed: each reason once, for the losses that are None."""
    others: Mapping[str, tuple[float | None, ...]] = field(factory=dict, converter=_by_judge)
    """What the task's other judges say, by their names: one answer is judged by all of them at once."""

    def __attrs_post_init__(self) -> None:
        """Refuse lists of different lengths, and what is no budget or repeat."""
        lengths = {len(self.epsilons), len(self.losses), len(self.seconds), *map(len, self.others.values())}
        if len(lengths) > 1:
            raise ChoiceError("the runs of a history have lists of different lengths")
        if not all(map(_is_amount, self.epsilons)) or not 0 <= self.repeat < MOST_REPEATS:
            raise ChoiceError("the runs of a history have a budget or a repeat that cannot be")


@lru_cache(maxsize=4096)
def _is_amount(text: str) -> bool:
    try:
        return LEAST_AMOUNT <= exact(text, "epsilon") <= MOST_AMOUNT
    except AmountError:
        return False


Line = KnownDatabase | KnownInstance | Runs
Ran = tuple[str, str, int]
"""An instance, an Option and its version."""
Losses = dict[tuple[str, int], float | None]
"""By epsilon and repeat."""
KINDS: dict[str, type[Line]] = {"database": KnownDatabase, "instance": KnownInstance, "runs": Runs}
NAMES = {kind: name for name, kind in KINDS.items()}


class History:
    """Databases, instances and runs, in memory and, where a file is named, on disk line by line as they come."""

    def __init__(self, lines: Iterable[Line] = (), *, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.databases: dict[str, KnownDatabase] = {}
        self.instances: dict[str, KnownInstance] = {}
        self._losses: dict[Ran, Losses] = defaultdict(dict)
        self._others: dict[Ran, dict[str, Losses]] = {}
        self._seconds: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        self.failures: dict[tuple[str, str, int], tuple[str, ...]] = {}
        for line in lines:
            self._take(line)

    @classmethod
    def open(cls, path: str | Path) -> History:
        """The history in a file, to be gone on with; an empty one if there is no file yet."""
        there = Path(path)
        history = cls(read_lines(there) if there.exists() else (), path=there)
        store_at(there).mend()
        return history

    def add(self, *lines: Line) -> None:
        """Append lines; each is on disk, whole, when this returns."""
        if self.path is not None:
            store_at(self.path).add(map(to_json, lines))
        for line in lines:
            self._take(line)

    def _take(self, line: Line) -> None:
        if isinstance(line, KnownDatabase):
            self.databases[line.digest] = line
        elif isinstance(line, KnownInstance):
            if line.database not in self.databases:
                raise ChoiceError("an instance is of a database that the history does not have")
            known = self.instances.get(line.key)
            read = {**known.read, **line.read} if known else line.read
            self.instances[line.key] = evolve(line, read=read)
        else:
            key = (line.instance, line.option, line.version)
            losses = self._losses[key]
            for epsilon, loss in zip(line.epsilons, line.losses, strict=True):
                losses[epsilon, line.repeat] = loss
            for judge, said in line.others.items():
                others = self._others.setdefault(key, {}).setdefault(judge, {})
                others.update({(epsilon, line.repeat): loss for epsilon, loss in zip(line.epsilons, said, strict=True)})
            self._seconds[key].extend(line.seconds)
            if line.failures:
                self.failures[key] = tuple(dict.fromkeys((*self.failures.get(key, ()), *line.failures)))

    def missing(  # noqa: PLR0917 - what a run is known by
        self,
        instance: str,
        option: str,
        version: int,
        epsilons: Iterable[str],
        repeat: int,
        judge: str | None = None,
    ) -> tuple[str, ...]:
        """Budgets at which an Option was not run yet for this repeat, or was not judged by a judge of its task."""
        done = self.losses(instance, option, version, judge)
        return tuple(epsilon for epsilon in epsilons if (epsilon, repeat) not in done)

    def losses(self, instance: str, option: str, version: int, judge: str | None = None) -> Losses:
        """Losses of an Option on an instance, by epsilon and repeat: those of its task's own judge, or of another."""
        key = (instance, option, version)
        return self._losses.get(key, {}) if judge is None else self._others.get(key, {}).get(judge, {})

    def seconds(self, instance: str, option: str, version: int) -> float | None:
        """The median time of an Option's runs on an instance."""
        times = self._seconds.get((instance, option, version))
        return float(np.median(times)) if times else None

    def group(self, instance: str) -> str:
        """The group that an instance's database is of."""
        return self.databases[self.instances[instance].database].group

    def __len__(self) -> int:
        """The number of runs."""
        return sum(map(len, self._losses.values()))

    def __or__(self, other: History) -> History:
        """The history of both."""
        return History([*self.lines(), *other.lines()])

    def of(self, keys: Iterable[str]) -> History:
        """The history of some instances, in the order in which they are named: lines come as workers are ready."""
        instances = {key: self.instances[key] for key in keys if key in self.instances}
        databases = dict.fromkeys(instance.database for instance in instances.values())
        return History([*map(self.databases.__getitem__, databases), *instances.values(), *self._runs(instances)])

    def lines(self) -> Iterator[Line]:
        """Yield the history again, in as few lines as there can be; of the times, only the median."""
        yield from self.databases.values()
        yield from self.instances.values()
        yield from self._runs()

    def _runs(self, instances: Collection[str] | None = None) -> Iterator[Runs]:
        """Yield the runs on some instances; on all, those included that it does not have."""
        for (instance, option, version), losses in self._losses.items():
            if instances is not None and instance not in instances:
                continue
            median = round(self.seconds(instance, option, version) or 0.0, 5)
            failures = self.failures.get((instance, option, version), ())
            others = self._others.get((instance, option, version), {})
            # What the same judges judged goes into one line.
            together: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
            for epsilon, repeat in losses:
                judged_by = tuple(sorted(judge for judge, said in others.items() if (epsilon, repeat) in said))
                together[repeat, judged_by].append(epsilon)
            for (repeat, judges), unordered in sorted(together.items()):
                epsilons = sorted(unordered, key=Fraction)
                yield Runs(
                    instance,
                    option,
                    version,
                    repeat,
                    epsilons,
                    shortened([losses[epsilon, repeat] for epsilon in epsilons], DIGITS),
                    [median] * len(epsilons),
                    failures,
                    {
                        judge: shortened([others[judge][epsilon, repeat] for epsilon in epsilons], DIGITS)
                        for judge in judges
                    },
                )

    def save(self, path: str | Path) -> None:
        """Write the whole history to a file."""
        store_at(path).save(map(to_json, self.lines()))

    def array(self, instance: str, option: str, version: int, epsilons: Iterable[str]) -> NDArray[np.float64] | None:
        """The losses as an array of epsilons by repeats, NaN for failed runs; None if any is missing."""
        losses, wanted = self.losses(instance, option, version), tuple(epsilons)
        repeats = min((sum(each == epsilon for each, _ in losses) for epsilon in wanted), default=0)
        if not repeats:
            return None
        numbers = [[losses.get((epsilon, repeat)) for repeat in range(repeats)] for epsilon in wanted]
        return np.array(numbers, dtype=np.float64)


BEGINS = f'{{"version_":{VERSION},"kind":"'.encode()
"""How each line is written."""


def histories_of(task: Task[Any]) -> Path:
    """File of the rehearsals of a task that are run on this machine."""
    return here("histories", f"{task.name}.jsonl")


def store_at(path: str | Path) -> Store:
    """The file of a history."""
    return Store(Path(path), HISTORY, "what was rehearsed until now is kept in it", BEGINS)


def to_json(line: Line) -> str:
    """A line of a history as JSON."""
    facts = asdict(line)
    if not facts.get("others", True):
        del facts["others"]
    if isinstance(line, KnownInstance):
        facts["read"] = shortened(facts["read"], DIGITS_READ)
        if not line.sketch.declared:
            del facts["sketch"]["declared"]
        if line.asks is None:
            del facts["asks"]
    return json.dumps({"version_": VERSION, "kind": NAMES[type(line)], **facts}, separators=(",", ":"))


def from_json(text: str) -> Line:
    """The line that a text of JSON stands for."""
    return HISTORY.line(KINDS, text)


def read_lines(path: str | Path) -> Iterator[Line]:
    """Yield the lines of a history's file; a last one that a crash cut short is left out."""
    for number, line in enumerate(store_at(path).lines(), start=1):
        try:
            yield from_json(line)
        except ChoiceError as mistake:
            raise ChoiceError(
                f"line {number} of {path} is not of a history",
                why=mistake.title,
                fix="take that line out, or begin a new file",
            ) from None


def read_history(path: str | Path) -> History:
    """The history in a file."""
    return History(read_lines(path))
