"""What programs can import, by module, and what is known of it: facts alone, so that checking loads no algorithm.

What Options take is kept in `options.json`, which `python -m jostle.lang.library` writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict, field, frozen

from jostle.lang.messages import Stop, near
from jostle.parameters import Parameter, shown

if TYPE_CHECKING:
    from jostle.tasks import Task

CORPORA = ("gridCorpus", "tableCorpus")
KEPT = Path(__file__).with_name("options.json")
LITERALS = Path(__file__).parent.parent / "options" / "literals.py"

DATABASE = "db"
"""What every Option is called with first."""


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


@frozen
class LibraryTask:
    """A task, as far as it is known without being loaded."""

    name: str
    does: str
    modules: tuple[str, ...] = field(converter=_texts)
    asked: tuple[str, ...] = field(converter=_texts)
    handed: tuple[str, ...] = field(converter=_texts)
    """What of it a program cannot write: it hands on what its caller gave."""
    told_by: tuple[str, ...] = field(converter=_texts)
    judges: tuple[str, ...] = field(converter=_texts)
    """The losses that answers may be judged by, by name."""
    sure: bool
    """Whether a judge may be told how sure answers are."""
    free: tuple[str, ...] = field(converter=_texts)
    """The metafeatures that every choice maker has for nothing, by name."""

    @classmethod
    def of(cls, task: Task[Any]) -> LibraryTask:
        """What is known of a task."""
        question, rehearsal = task.question, task.rehearsal
        return cls(
            task.name,
            question.does,
            question.modules,
            question.beside,
            question.handed,
            question.told_by,
            [judge.name for judge in rehearsal.judges],
            rehearsal.sure,
            [fact.name for fact in rehearsal.free],
        )

    def is_told_by(self, word: str) -> bool:
        """Whether a program that names this of a table asks it for this."""
        return any(fnmatchcase(word, pattern) for pattern in self.told_by)


@frozen
class LibraryOption:
    """An Option of the library, as far as it is known without being loaded."""

    name: str
    task: str
    asked: tuple[str, ...]
    """What it is called with, the database first; all else can be left out."""
    handed: tuple[str, ...]
    """What of it, beside the database, a program hands on from its caller."""
    parameters: Mapping[str, Parameter] = field(eq=False)

    @property
    def head(self) -> str:
        """How it is called: `DAWA(db, queries)`."""
        return f"{self.name}({', '.join(self.asked)})"

    @property
    def example(self) -> str:
        """An example with a parameter, if it has any: `Mohammed(depth=3)`."""
        given = [f"{name}={parameter.written}" for name, parameter in self.parameters.items()]
        return f"{self.name}({given[0]})" if given else self.name

    def is_given_parameters(self, places: int, names: Collection[str]) -> bool:
        """Whether a call with so many values by place, and others by name, gives parameters and asks nothing."""
        return not places and bool(names) and not {*self.asked, "epsilon"}.intersection(names)

    def parameter(self, name: str, value: object) -> Any:
        """The value of a parameter; refuse it."""
        known = self.parameters.get(name)
        if known is None:
            raise self.no_parameter(name)
        found = known.fitted(value)
        if found is None:
            raise Stop(
                "J113 value",
                parameter=name,
                option=self.name,
                value=shown(value),
                words=known.words,
                written=known.written,
            )
        return found

    def no_parameter(self, name: str) -> Stop:
        """A refusal where it is given a parameter that it does not have."""
        said, known = "J113 unknown" if self.parameters else "J113 none", ", ".join(self.parameters)
        return Stop(said, option=self.name, parameter=name, known=known, similar=near(name, self.parameters))


def _option(name: str, task: LibraryTask, parameters: Mapping[str, Parameter]) -> LibraryOption:
    return LibraryOption(name, task.name, (DATABASE, *task.asked), tuple(task.handed), parameters)


@frozen
class Library:
    """What programs can import."""

    tasks: tuple[LibraryTask, ...]
    options: Mapping[str, LibraryOption] = field(eq=False)
    modules: Mapping[str, tuple[str, ...]] = field(eq=False)
    """The Options of each task, all Options, and public databases."""

    @classmethod
    def of(cls, tasks: tuple[LibraryTask, ...], options: Mapping[str, LibraryOption]) -> Library:
        """The library that has these."""
        of_tasks = {
            module: tuple(name for name, option in options.items() if option.task == task.name)
            for task in tasks
            for module in task.modules
        }
        return cls(tasks, options, {**of_tasks, "options": tuple(options), "public": CORPORA})


def library() -> Library:
    """What programs can import: what came with Jostle, and what was registered in this process."""
    base = sys.modules.get("jostle.options.base")
    own = {} if base is None else base.own()
    if not own:
        return shipped()
    from jostle.parameters import parameters_of  # noqa: PLC0415 - once there are Options of one's own

    kept = shipped()
    tasks = {each.name: each for each in kept.tasks}
    for task in sorted((each.task for each in own.values()), key=lambda each: each.name):
        tasks.setdefault(task.name, LibraryTask.of(task))
    added = {
        name: _option(name, LibraryTask.of(each.task), parameters_of(each) if isinstance(each, type) else {})
        for name, each in sorted(own.items())
    }
    return Library.of(tuple(tasks.values()), {**kept.options, **added})


@cache
def shipped() -> Library:
    """What came with Jostle: its file, read once."""
    facts = json.loads(KEPT.read_text("utf-8"))
    tasks = {name: LibraryTask(name, **known) for name, known in facts["tasks"].items()}
    options = {
        name: _option(name, tasks[known["task"]], {key: _parameter(held) for key, held in known["parameters"].items()})
        for name, known in facts["options"].items()
    }
    return Library.of(tuple(tasks.values()), options)


def imported(module: str, name: str) -> Any:
    """The object that a module of the library calls so: an Option, or public databases."""
    if module != "public":
        from jostle.options.registry import get  # noqa: PLC0415 - loads every algorithm

        return get(name)
    from jostle import public  # noqa: PLC0415 - for training only

    if name in public.CORPORA:
        return getattr(public, name)
    raise Stop("J104 databases", name=name)


@cache
def look_among_installed() -> None:
    """Let packages register the Options that they bring, if there are such packages: asked where a name is unknown."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes its time

    if entry_points(group="jostle.options"):
        from jostle.options.registry import load_installed  # noqa: PLC0415 - loads algorithms

        load_installed()


def _parameter(kept: dict[str, Any]) -> Parameter:
    default = Fraction(kept["default"]) if kept["kind"] == "share" else kept["default"]
    return Parameter(**{**kept, "default": default, "choices": tuple(kept.get("choices", ()))})


def made() -> dict[str, Any]:
    """What is to be kept of the tasks and Options that there are."""
    from jostle.options import built_in  # noqa: PLC0415 - loads every algorithm
    from jostle.parameters import parameters_of  # noqa: PLC0415 - as above

    options = {kind.__name__: kind for kind in built_in()}
    tasks = {kind.task.name: kind.task for kind in options.values()}
    return {
        "tasks": {name: _without_name(LibraryTask.of(task)) for name, task in sorted(tasks.items())},
        "options": {
            name: {
                "task": kind.task.name,
                "parameters": {key: _written(known) for key, known in parameters_of(kind).items()},
            }
            for name, kind in sorted(options.items())
        },
    }


def _without_name(task: LibraryTask) -> dict[str, Any]:
    return {part: held for part, held in asdict(task).items() if part != "name"}


def _written(parameter: Parameter) -> dict[str, Any]:
    facts = asdict(parameter, filter=lambda attribute, value: attribute.name in {"kind", "default"} or bool(value))
    return {**facts, "default": str(parameter.default) if parameter.kind == "share" else parameter.default}


def written() -> str:
    """The same as a file of JSON, a task or an Option a line."""
    parts = [
        f"{json.dumps(part)}: {{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in known.items())
        + "\n}"
        for part, known in made().items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def literals() -> str:
    """The names of the built-in Options by task, as types: what type checkers know of `jostle.options.get`."""
    from jostle.options import built_in  # noqa: PLC0415 - loads every algorithm

    named: dict[str, list[str]] = {}
    for each in sorted(built_in(), key=lambda each: (each.task.name, each.__name__)):
        if each.task.question.named is not None:
            named.setdefault(each.task.question.named, []).append(each.__name__)
    lines = [
        '"""The names of the built-in Options by task, as types."""',
        "",
        "# Written by python -m jostle.lang.library, with the names that programs import.",
        "",
        "from __future__ import annotations",
        "",
        "from typing import Literal, TypeAlias",
        "",
        "__all__ = [",
        *(f"    {json.dumps(kind)}," for kind in sorted(named)),
        "]",
        "",
    ]
    for kind, names in named.items():
        # One name stands on the line, as ruff has it.
        many = "\n" + "".join(f"    {json.dumps(name)},\n" for name in names)
        listed = many if len(names) > 1 else json.dumps(names[0])
        lines.append(f"{kind}: TypeAlias = Literal[{listed}]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    KEPT.write_text(written(), "utf-8")
    LITERALS.write_text(literals(), "utf-8")
