"""Tasks: what can be asked of a private table. Options of one task can stand in for each other.

A task is a value. Whoever trains, chooses, evaluates, runs or shows goes by what the task says, so a new task is one
file here, and its Options.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from attrs import field, frozen

from jostle.corpora.databases import PublicDatabase
from jostle.corpora.parts import Spec
from jostle.errors import ChoiceError, OptionError, shown
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.answers import Answer
from jostle.tasks.metafeature import Metafeature

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus


WRITTEN = frozenset({object, str, int, float, bool})
"""Types of what a program can write down."""


@frozen(eq=False, repr=False)
class Instance(ABC):
    """A part of a public database that Options are rehearsed on, with what is needed to judge what they answer.

    A database and a spec always give the same one, in every process. The data are public, so this draws from numpy's
    seeded generators; nothing here makes noise, and nothing that makes noise is here.
    """

    judged: ClassVar[tuple[type | tuple[type, ...], str, str]]
    """Of which kind answers are, the name of the task, and what is judged in words."""
    _last: list[tuple[Any, Any]] = field(factory=list, init=False)
    """The answer that was read last, and what it said: several judges ask after one another."""

    if TYPE_CHECKING:

        @property
        def key(self) -> str:
            """A name that no other instance has."""

        @property
        def table(self) -> Table:
            """The rows to learn from."""

        @property
        def rows(self) -> int:
            """How many they are: no public fact to an Option, unless the schema declares it."""

    @property
    def schema(self) -> Schema:
        """The public facts about the rows."""
        return self.table.schema

    @property
    def questions(self) -> tuple[Any, ...]:
        """What is asked beside the table."""
        return ()

    @property
    def sameness(self) -> float:
        """The share of what is judged that one answer to everything gets right; none of what is made of numbers."""
        return 0.0

    def read(self, answer: Any, /) -> Any:
        """What an answer says; refuse what is none, and so has no loss."""
        kind, task, judged = self.judged
        if not isinstance(answer, kind):
            raise OptionError(
                f"an answer is {type(answer).__name__}, which has no loss on {task} task",
                why=f"what is judged is {judged}",
                fix="return one",
            )
        if not self._last or self._last[0][0] is not answer:
            self._last[:] = [(answer, self.said_by(answer))]
        return self._last[0][1]

    def said_by(self, answer: Any) -> Any:
        """What an answer of the right kind says; refuse one of another table."""
        return answer

    @abstractmethod
    def lists(self, answer: Any, /) -> tuple[list[Any], list[Any]]:
        """What was answered and what is true, as two lists, for judges that a programmer writes."""

    def chances(self, answer: Any, /) -> list[dict[str, float]] | None:
        """For each answer in the list, how sure it is of what; None for answers that do not say."""
        return None

    @abstractmethod
    def loss(self, answer: Any, /) -> float:
        """How bad an answer is, by the task's own loss."""


@frozen
class Judge:
    """A way to say how bad an answer is: a number from 0 up, the less the better."""

    name: str
    """What it is called in histories; of a programmer's own it has a mark of the text."""
    loss: Callable[[Any, Any], float] = field(repr=False)
    """From an instance and an Option's answer on it."""
    about: str = ""
    floor: float | None = None
    """Losses below this count as this, since nobody notices less; None for the floor of the task's own judge."""


@frozen(eq=False, kw_only=True)
class Question(Generic[Answer]):
    """What is asked of a table: what an Option is called with, how that is read, and what an answer is."""

    does: str
    """What Options do about it: "predicts a label"."""
    answers: tuple[type[Answer], ...]
    """What they give back."""
    gives: str
    """The same in words: "a model"."""
    modules: tuple[str, ...] = ()
    """Where programs in Jostle's language import its Options from, beside `options`."""
    named: str | None = None
    """What type checkers call the names of its built-in Options; None for none."""
    told_by: tuple[str, ...] = ()
    """What a program that asks this of a table names of it: where an Option written in Jostle's language does, it is
    one of this task. A star stands for anything."""
    beside: Mapping[str, type] = field(factory=dict)
    """What is asked beside the table, by name, and of which type; all of it can be left out."""
    usual: Callable[[Schema], tuple[Any, ...]] = lambda schema: ()
    """What is asked of a table where nobody says."""
    written: Callable[[Schema, str], tuple[Any, ...]] | None = None
    """What a text of a rehearsal's spec asks of a table; None where there is nothing to be said."""
    read: Callable[[Schema, tuple[Any, ...]], tuple[Any, ...]] = lambda schema, questions: questions
    """What is asked of a table, however it was written; what cannot be asked of it is refused before it costs."""
    told: Callable[[tuple[Any, ...]], str] = lambda asked: ""
    """What is asked, in a few words for traces; nothing where there is nothing to say."""
    of: Callable[[Schema, Answer], Answer] = lambda schema, answer: answer
    """An answer that knows what public facts there are of the table that was asked."""
    counts: Callable[[Schema], int] = lambda schema: 0
    """About how many noisy counts an answer rests on, where it is off by what all of these are off; else 0."""
    suits: Callable[[Schema], bool]
    """Whether a table looks as if it were there to be asked this."""
    suited: str = "another schema"
    """Which tables do, in words."""

    def asked_in(self, schema: Schema, text: str | None) -> tuple[Any, ...]:
        """What was asked of a table in a rehearsal."""
        return self.usual(schema) if text is None or self.written is None else self.written(schema, text)

    @property
    def handed(self) -> tuple[str, ...]:
        """What of `beside` no text or number of a program can stand for, so that it has to come from a caller."""
        return tuple(name for name, kind in self.beside.items() if kind not in WRITTEN)

    def gave(self, answer: object) -> bool:
        """Whether an answer is one to this."""
        return isinstance(answer, self.answers)


@frozen(eq=False, kw_only=True)
class Rehearsal:
    """How a task is rehearsed: on which public databases, by which judges, and what may decide between its Options."""

    database: type[PublicDatabase]
    """What is rehearsed on."""
    instance: Callable[[Any, Any], Instance]
    """From a database and a spec; the same for the same, in every process."""
    corpus: Callable[[], Corpus]
    """The databases that everybody has."""
    example: Callable[[], tuple[PublicDatabase, Spec]]
    """A database to try a program on, and which part of it."""
    judges: tuple[Judge, ...]
    """The first is the task's own."""
    sure: bool = False
    """Whether answers say how sure they are, which judges that a programmer writes may ask for."""
    asks: tuple[str, ...] = ()
    """One question of every kind, as a spec says it; none where all ask the same."""
    free: tuple[Metafeature, ...] = ()
    """Public facts."""
    bought: tuple[Metafeature, ...] = ()

    @property
    def metafeatures(self) -> tuple[Metafeature, ...]:
        """All metafeatures that Jostle knows for it, the free ones first."""
        return (*self.free, *self.bought)

    @property
    def floor(self) -> float:
        """Below which losses do not count as different."""
        return (self.judges[0].floor if self.judges else None) or 0.0

    def takes(self, database: object) -> bool:
        """Whether Options can be rehearsed on a database."""
        return isinstance(database, self.database)

    def knows(self, judge: Judge) -> bool:
        """Whether a judge is one of these."""
        return any(judge is each or judge.name == each.name for each in self.judges)

    def other(self, judge: Judge | None) -> str | None:
        """Name of a judge that is not the task's own; None for its own, and for a programmer's."""
        return None if judge is None or not self.knows(judge) or judge.name == self.judges[0].name else judge.name


@frozen(eq=False, kw_only=True)
class Shown(Generic[Answer]):
    """How answers are shown and saved."""

    text: Callable[[Answer], str] = methodcaller("text")
    """An answer for people."""
    data: Callable[[Answer], Any] = methodcaller("data")
    """An answer as plain data."""
    drawn: Callable[[Answer], str] | None = methodcaller("_repr_html_")
    """An answer as a part of a web page; None for its text."""
    save: Callable[[Answer, Path], object] = lambda answer, path: answer.save(path)  # type: ignore[attr-defined]
    """Write an answer to a file, as its ending says."""
    endings: tuple[str, ...] = ()
    """What may be the ending of such a file; any may where none is said."""


@frozen(eq=False, kw_only=True, repr=False)
class Task(Generic[Answer]):
    """What is asked of a table, how that is rehearsed, and how answers are shown."""

    name: str
    """What programs, files and people call it."""
    also: tuple[str, ...] = ()
    """Other names for it."""
    question: Question[Answer]
    rehearsal: Rehearsal
    shown: Shown[Answer] = field(factory=Shown)

    def judge(self, name: str) -> Judge:
        """The judge of a name; refuse one that it has not, with the list."""
        for judge in self.rehearsal.judges:
            if judge.name == name:
                return judge
        raise ChoiceError(
            f"answers to {self.name} are not judged by {name!r}",
            fix=f"one of {', '.join(judge.name for judge in self.rehearsal.judges)}, or a function of two lists",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return task_of, (self.name,)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    def __str__(self) -> str:
        return self.name


_known: dict[str, Task[Any]] = {}
TASKS: Mapping[str, Task[Any]] = _known
"""All tasks by name."""


def register(task: Task[Answer]) -> Task[Answer]:
    """Let a task be known by its names; a name that another has is refused."""
    names = {name for known in _known.values() for name in (known.name, *known.also)}
    taken = names & {task.name, *task.also}
    if taken:
        raise OptionError(f"there is a task {min(taken)!r} already", fix="another name")
    _known[task.name] = task
    return task


def task_of(name: str | Task[Any]) -> Task[Any]:
    """The task of a name; refuse one that is none, with the list."""
    if isinstance(name, Task):
        return name
    for task in (*_known.values(), UNTOLD):
        if isinstance(name, str) and name in {task.name, *task.also}:
            return task
    raise OptionError(f"there is no task {shown(name)}", fix=f"one of {', '.join(sorted(_known))}")


def make_instance(database: PublicDatabase, spec: Spec) -> Instance:
    """The instance that a spec makes of a public database, for the first task that is rehearsed on such ones."""
    task = next((task for task in _known.values() if task.rehearsal.takes(database)), UNTOLD)
    return task.rehearsal.instance(database, spec)


def _nothing(*_: object) -> Any:
    raise ChoiceError(
        "it cannot be told what is asked of the table",
        why="that says which public databases it is rehearsed on, and how it is judged",
        fix="use db.label or db.attributes, or on a grid db.x_range",
    )


UNTOLD: Task[Any] = Task(
    name="program",
    question=Question(
        does="does what its text does not tell",
        answers=(),
        gives="nothing that is known",
        suits=lambda schema: False,
    ),
    rehearsal=Rehearsal(
        database=PublicDatabase,  # type: ignore[type-abstract]  # asked of nothing but what it is
        instance=_nothing,
        corpus=_nothing,
        example=_nothing,
        judges=(),
    ),
    shown=Shown(text=_nothing, data=_nothing, drawn=_nothing, save=_nothing),
)
"""What an Option of a program answers whose text does not tell."""
