"""The work of learning labelled choices: public situations, runs of the program in them, and notes of what is done.

A part is a value that can be sent to another process, and gives the same wherever it is done: its seeds are a function
of what it is. So work that was interrupted can be gone on with.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from attrs import define, field, frozen

from jostle.choice.learning.history import Store
from jostle.choice.learning.learners import Lesson
from jostle.choice.learning.rehearse import Run, judged_run
from jostle.choice.learning.workers import check_engine, performed
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.parts import Spec
from jostle.errors import ChoiceError, DamageError, JostleError, PrivateDataError
from jostle.files.kinds import FileKind, json_parsed
from jostle.files.structure import structured
from jostle.learned.policies import nothing_learned
from jostle.privacy.opening import rehearse
from jostle.progress import stage
from jostle.sites import Policy, Taken, explore, follow, record
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks import Instance, Judge, Task, task_of

MOST_CELLS = 600
"""Combinations of values of the four widest attributes."""
MOST_SAME = 0.8
"""Of tables, the share of the commonest class. There are many where it is larger, which teach to do nothing."""
MOST_DATABASES = 24
"""Of those that come with Jostle and other packages."""
EVERY, ENOUGH = 3, 9
"""One group of databases in three is left out of learning, for what was learned to be tried on, if there are enough."""


@frozen
class PublicSituation:
    """An instance of a public database, made where it is needed.

    A program that grows trees comes to as many nodes as its attributes have combinations of values, and it is run many
    times. So tables are taken with few attributes, and numbers in few bins; those that are still too wide are left out.
    """

    task: Task[Any] = field(eq=False)
    database: PublicDatabase = field(eq=False)
    spec: Spec = field(eq=False)
    key: str
    judge: Judge | None = field(default=None, eq=False)
    """None for the task's own loss."""

    @classmethod
    def of(cls, task: Task[Any], database: PublicDatabase, spec: Spec, judge: Judge | None = None) -> PublicSituation:
        """The situation."""
        key = database.key(spec) + ("" if judge is None else f" judged by {judge.name}")
        return cls(task, database, spec, key, judge)

    @property
    def group(self) -> str:
        """Its database's group."""
        return self.database.group

    @property
    def instance(self) -> Instance:
        """The instance."""
        return _made(self)

    @property
    def table(self) -> Table:
        """The rows to learn from."""
        return self.instance.table

    @property
    def questions(self) -> tuple[Any, ...]:
        """The questions asked of a grid."""
        return self.instance.questions

    def loss(self, answer: Any, /) -> float:
        """How bad an answer is, as the task's judge or another one says; refuse what is no answer."""
        if self.judge is not None:
            return float(self.judge.loss(self.instance, answer))
        return float(self.instance.loss(answer))


@lru_cache(maxsize=8)
def _made(situation: PublicSituation) -> Instance:
    return situation.task.rehearsal.instance(situation.database, situation.spec)


def situations_of(
    corpus: Corpus,
    task: str | Task[Any],
    *,
    most: int | None = None,
    judge: Judge | None = None,
    apart: Mapping[str, str] | None = None,
) -> tuple[tuple[PublicSituation, ...], tuple[str, ...]]:
    """A situation of each database of the task that is small enough, and what is said of the others.

    With *most*, of so many databases, in an order that has nothing to do with them; then those are left out as well
    where nearly all rows are of one class. *apart* has the digests of databases to be left out, with sentences why.
    """
    asked, left_out = task_of(task), apart or {}
    found: list[PublicSituation] = []
    problems = [*map(str, corpus.problems), *left_out.values()]
    databases = [
        database
        for database in corpus
        if asked.rehearsal.takes(database) and not (left_out and database.digest in left_out)
    ]
    for number, database in enumerate(sorted(databases, key=_order) if most is not None else databases):
        if most is not None and len(found) >= most:
            break
        try:
            situation = PublicSituation.of(asked, database, database.small(number), judge)
            wide = _too_wide(situation.instance.schema)
            dull = most is not None and situation.instance.sameness > MOST_SAME
        except PrivateDataError:
            raise
        except JostleError as mistake:
            problems.append(str(mistake))
            continue
        if not wide and not dull:
            found.append(situation)
        elif wide and most is None:
            problems.append(f"{database.name} is left out: its attributes have more than {MOST_CELLS:,} combinations")
    if not found:
        raise ChoiceError(
            f"there is no public database of the task {asked.name!r} to learn from",
            fix="--corpus a folder of tables (*.csv.gz with a last column label) or of grids (*.npy)",
        )
    return tuple(found), tuple(problems)


def halves(
    situations: Sequence[PublicSituation],
) -> tuple[tuple[PublicSituation, ...], tuple[PublicSituation, ...]]:
    """Situations to learn in, and others to try what was learned in; the same ones where there are few.

    Databases that share people are on one side.
    """
    groups = sorted({situation.group for situation in situations}, key=_digest)
    if len(groups) < ENOUGH:
        return tuple(situations), tuple(situations)
    tried = set(groups[::EVERY])
    return (
        tuple(situation for situation in situations if situation.group not in tried),
        tuple(situation for situation in situations if situation.group in tried),
    )


def _too_wide(schema: Schema) -> bool:
    if schema.label is None:
        return False
    sizes: Iterable[int] = sorted((schema[name].size for name in schema.attributes), reverse=True)
    return prod(list(sizes)[:4]) > MOST_CELLS


def _order(database: PublicDatabase) -> bytes:
    return _digest(database.name)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


REFUSED = 2.0
"""What is refused ends as badly as so many times the worst that ended there."""
FIRST = 5
"""Visits of a label in one run that are all learned from."""


class Situation(Protocol):
    """A public instance: what `make_instance` gives, or anything like it."""

    @property
    def key(self) -> str:
        """A name that no other instance has."""

    @property
    def table(self) -> Table:
        """The rows to learn from."""

    def loss(self, answer: Any, /) -> float:
        """How bad an answer is: from 0, the less the better."""


def group_of(situation: Situation) -> str:
    """Which people are in it: situations of one group are one observation. One that says nothing is by itself."""
    return str(getattr(situation, "group", situation.key))


Program = Callable[..., Any]
"""A program with choices: it gives an answer for a probe, a budget, and what the situation asks besides."""


@frozen(eq=False)
class Taught:
    """What a part of a round taught."""

    lessons: tuple[Lesson, ...]
    failure: str | None = None
    """Why a run came to no end, the first that did not."""


@frozen(eq=False, kw_only=True)
class RunPart:
    """A part of the work: runs of a program in one situation at one budget, by some policies."""

    program: Program
    situation: Situation
    epsilon: Fraction
    policies: Mapping[str, Policy]
    seed: tuple[int, ...]
    mark: str = ""
    """Of the policies."""


@frozen(eq=False, kw_only=True)
class Teach(RunPart):
    """What one round teaches there."""

    runs: int
    rate: Fraction
    floor: float

    @property
    def key(self) -> str:
        """A name that no other part has."""
        return f"teach {self.seed} {self.situation.key} {self.epsilon} {self.runs} {self.rate} {self.mark}"

    def __call__(self) -> Taught:
        """Run the program, and return its lessons."""
        recorded: list[tuple[Taken, ...]] = []
        losses: list[float | None] = []
        failure: str | None = None
        for number in range(self.runs):
            chance = _seed(*self.seed, self.situation.key, self.epsilon, number)
            # The recorder stands inside, where it sees every decision, whoever makes it.
            with explore(chance, self.rate, self.policies), record() as kept:
                run = _run(self.program, self.situation, self.epsilon, chance + 1)
            recorded.append(kept.lines)
            losses.append(run.loss)
            failure = failure or run.failure
        known = [loss for loss in losses if loss is not None]
        if not known:
            return Taught((), failure)
        ended = np.array([REFUSED * max(known) if loss is None else loss for loss in losses])
        relative = (ended + self.floor) / (ended.mean() + self.floor)
        lines = [
            (line, loss)
            for run, (each, loss) in enumerate(zip(recorded, relative.tolist(), strict=True))
            for line in _thinned(each, run)
        ]
        return Taught(tuple(lesson for line, loss in lines for lesson in _lessons(line, loss)), failure)


@frozen(eq=False, kw_only=True)
class Try(RunPart):
    """How some policies do there."""

    trials: int

    @property
    def key(self) -> str:
        """A name that no other part has."""
        return f"try {self.seed} {self.situation.key} {self.epsilon} {self.trials} {self.mark}"

    def __call__(self) -> float | None:
        """The mean loss; None where a run was refused."""
        seeds = [_seed(*self.seed, self.situation.key, self.epsilon, trial) for trial in range(self.trials)]
        with follow(self.policies):
            losses = [_run(self.program, self.situation, self.epsilon, seed).loss for seed in seeds]
        known = [loss for loss in losses if loss is not None]
        return float(np.mean(known)) if len(known) == len(losses) else None


def _run(program: Program, situation: Situation, epsilon: Fraction, seed: int) -> Run:
    """A run of the program. Nothing that was learned before has a part in it."""

    def answer() -> Any:
        with nothing_learned():
            db = rehearse(situation.table, epsilon=epsilon, seed=seed)
            return program(db, epsilon, *getattr(situation, "questions", ()))

    return judged_run(answer, situation.loss)


Part = Teach | Try
Perform = Callable[[Sequence[Part], str], list[Any]]
"""Does parts of the work, and returns what each gives; the text says what they are."""


def in_turn(parts: Sequence[Part], title: str) -> list[Any]:  # noqa: ARG001 - nobody is told
    """Do the work here, one part after the other."""
    return [part() for part in parts]


def _thinned(lines: Iterable[Taken], run: int) -> Iterator[Taken]:
    """Yield the lines of a run that are learned from: of each label the first visits, and ever fewer of later ones.

    A program that grows a tree node by node comes to its root once and to the last level a thousand times; what it
    does at the root matters most, and would be lost among the others. The k-th visit counts with chance FIRST / k,
    whatever was seen or taken there.
    """
    visits: Counter[str] = Counter()
    for line in lines:
        visits[line.label] += 1
        visit = visits[line.label]
        if visit <= FIRST or _seed(line.label, run, visit) % visit < FIRST:
            yield line


def _lessons(line: Taken, loss: float) -> Iterable[Lesson]:
    """Yield a lesson for every distinct decision of a message."""
    names = tuple(line.seen)
    columns = [*(line.seen[name] for name in names), line.taken.astype(np.float64)]
    distinct, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        yield Lesson(line.label, line.among, names, tuple(row[:-1]), int(row[-1]), loss, count / len(line.taken))


def _seed(*parts: object) -> int:
    """A seed that is the same for the same parts on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big")


NOTES = FileKind(
    "file of notes", ChoiceError, "take it away: what is noted in it is then done again", most_bytes=1 << 28
)

Labelled = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[float, ...], ...]]
"""Alternatives, names of what was seen, and rows: what was seen, what was taken, the loss, the weight."""


@frozen
class TaughtFacts:
    """What a file holds of lessons."""

    labels: Mapping[str, Labelled]
    failure: str | None


@define(eq=False)
class Notebook:
    """Does parts of the work in processes, and keeps what they gave in a file of JSON lines."""

    path: Path | None = None
    """None to keep nothing."""
    engine: str = "processes"
    workers: int | None = None
    done: int = 0
    """Parts that were done here, rather than found in the file."""
    _known: dict[str, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Read what is noted already; a last line that was cut short is taken out."""
        check_engine(self.engine)
        if self.path is None or not self.path.exists():
            return
        store = store_at(self.path)
        store.mend()
        for line in store.lines():
            try:
                key, found = structured(json_parsed(line), tuple[str, Any])
                self._known[key] = _read(found)
            except ValueError:  # what no line says is done again
                continue

    def __call__(self, parts: Sequence[Part], title: str) -> list[Any]:
        """The value of each part, doing those that are not noted."""
        keys = [part.key for part in parts]
        missing = [index for index, part in enumerate(parts) if not self._knows(part)]
        with stage(title) as said:
            said.at(len(parts) - len(missing), len(parts))
            todo = [parts[place] for place in missing]
            done = performed(_done, todo, engine=self.engine, workers=self.workers)
            for number, (place, found) in enumerate(done, start=1):
                self._note(keys[missing[place]], found)
                said.at(len(parts) - len(missing) + number, len(parts))
        return [self._known[key] for key in keys]

    def _knows(self, part: Part) -> bool:
        """Whether it is noted what a part gave, and that is what such a part gives."""
        return part.key in self._known and isinstance(self._known[part.key], Taught) is isinstance(part, Teach)

    def close(self) -> None:
        """Take the file away: what was learned from it is kept elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _note(self, key: str, gave: Any) -> None:
        self._known[key] = _read(gave)
        self.done += 1
        if self.path is not None:
            store_at(self.path).add([json.dumps([key, gave], separators=(",", ":"))])


def store_at(path: Path) -> Store:
    """The file of notes."""
    return Store(path, NOTES, "what was run until now is kept there, below JOSTLE_HOME")


def _done(part: Part) -> Any:
    """Do a part, and return what it gives as JSON has it."""
    gave = part()
    if not isinstance(gave, Taught):
        return gave
    labels: dict[str, Any] = {}
    for lesson in gave.lessons:
        held = labels.setdefault(lesson.label, [list(lesson.among), list(lesson.names), []])
        if (tuple(held[0]), tuple(held[1])) != (lesson.among, lesson.names):
            raise ChoiceError(
                f"choice {lesson.label} is not among the same alternatives, or informed by the same, always"
            )
        held[2].append([*lesson.seen, lesson.taken, lesson.loss, lesson.weight])
    return {"labels": labels, "failure": gave.failure}


def _read(gave: Any) -> Taught | float | None:
    """The value that a part gave, or raise DamageError where none gives that."""
    if not isinstance(gave, dict):
        (loss,) = structured([gave], tuple[float | None])
        return loss
    taught = structured(gave, TaughtFacts)
    lessons = [
        _lesson(label, among, names, row) for label, (among, names, rows) in taught.labels.items() for row in rows
    ]
    return Taught(tuple(lessons), taught.failure)


def _lesson(label: str, among: tuple[str, ...], names: tuple[str, ...], row: tuple[float, ...]) -> Lesson:
    if len(row) != len(names) + 3:
        raise DamageError(f"a lesson of {label} is not as long as what was seen")
    *seen, taken, loss, weight = row
    if taken not in range(len(among)) or loss < 0 or not 0 < weight <= 1:
        raise DamageError(f"what is noted of {label} is no lesson")
    return Lesson(label, among, names, tuple(seen), int(taken), loss, weight)
