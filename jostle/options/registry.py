"""All Options by name: those that come with Jostle, those of installed packages, and one's own."""

from __future__ import annotations

import hashlib
import inspect
import runpy
import traceback
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, overload

from attrs import frozen

from jostle.errors import JostleError, OptionError, said_by
from jostle.options.base import Option, is_built_in, made, name_in, own, registered
from jostle.options.literals import (
    ClassifierName,
    EvaluatorName,
    GridName,
    MeanName,
    PublisherName,
    QuantileName,
    SelectorName,
    SumName,
    VarianceName,
)
from jostle.privacy.measured import MeasuredNumber, MeasuredNumbers
from jostle.tasks import Task, task_of
from jostle.tasks.answers import Answer
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation.curve import RocCurve
from jostle.tasks.publishing.published import Published
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate
from jostle.tasks.selection.selected import SelectedFeatures


@frozen
class Origin:
    """The file that an Option was defined in.

    Their code is not looked into. It is given a probe, as the built-in Options are, and runs with the trust that the
    program has; so a trace names it, with a digest of its text.
    """

    file: str
    digest: str
    """Of the file as it is; nothing where there is none, since it was typed in."""


def origin_of(option: Option) -> Origin | None:
    """Where an Option comes from; None for one that comes with Jostle."""
    definition: Any = getattr(option, "function", type(option))
    if str(definition.__module__).startswith("jostle."):
        return None
    code = getattr(definition, "__code__", None) or next(
        (var.__code__ for var in vars(definition).values() if inspect.isfunction(var)), None
    )
    file = "" if code is None else code.co_filename
    try:
        return Origin(file, hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest())
    except OSError:
        return Origin(file, "")


def load_own(path: str | Path) -> tuple[str, ...]:
    """Run a file of Python, and return the names of the Options that it registers; refuse one that registers none."""
    file = Path(path)
    if file.suffix != ".py":
        raise OptionError(f"{file} is no Python", why="Options of one's own are", fix="--with my_options.py")
    if not file.is_file():
        raise OptionError(f"there is no file {file}", fix="check the path")
    before = own()
    ran(file, file.stem)
    registered_here = tuple(name for name, each in own().items() if before.get(name) is not each)
    if not registered_here:
        raise OptionError(
            f"{file} registers no Option",
            why="that is what --with is for",
            fix="@jostle.option(task=...), on the line above def Mine(db, *, epsilon)",
        )
    return registered_here


def ran(path: Path, name: str) -> dict[str, Any]:
    """The names that a file of Python defines, run under this name."""
    try:
        return runpy.run_path(str(path), run_name=name)
    except JostleError as mistake:
        raise OptionError(f"{path} cannot be loaded: {mistake.title}", why=mistake.why, fix=mistake.fix) from None
    except SyntaxError as mistake:
        place = "" if mistake.lineno is None else f"line {mistake.lineno}: "
        raise OptionError(f"{path} is no Python: {place}{mistake.msg}") from None
    except (Exception, SystemExit) as mistake:  # noqa: BLE001 - the user's own code may fail in any way
        # Only the frames of the file: those of what runs it say nothing.
        frames = [summary for summary in traceback.extract_tb(mistake.__traceback__) if summary.filename == str(path)]
        place = f"line {frames[-1].lineno}: " if frames else ""
        raise OptionError(f"{path} fails: {place}{said_by(mistake)}", fix=f"python {path}") from None


ENTRY_POINT = "jostle.options"


def names(task: str | Task[Any] | None = None) -> tuple[str, ...]:
    """Names of all registered Options, or of those of one task.

    Args:
        task: a task, or its name; all tasks if left out.

    Raises:
        OptionError: there is no such task, or an installed package fails.
    """
    wanted = None if task is None else task_of(task)
    _load()
    load_installed()
    return tuple(sorted(name for name, kind in registered().items() if wanted in {None, kind.task}))


def built_in() -> tuple[type[Option], ...]:
    """The Options that come with Jostle, by their names."""
    _load()
    kinds = (kind for _, kind in sorted(registered().items()))
    return tuple(kind for kind in kinds if isinstance(kind, type) and is_built_in(kind))


def options_for(task: str | Task[Any]) -> Iterator[Option]:
    """Yield every registered Option of a task, with its default parameters.

    Args:
        task: a task, or its name.

    Raises:
        OptionError: there is no such task, or an installed package fails.
    """
    return (get(name) for name in names(task))


@overload
def get(name: ClassifierName) -> Option[Model]: ...
@overload
def get(name: GridName) -> Option[Estimate | SparseEstimate]: ...
@overload
def get(name: PublisherName) -> Option[Published]: ...
@overload
def get(name: SelectorName) -> Option[SelectedFeatures]: ...
@overload
def get(name: EvaluatorName) -> Option[RocCurve]: ...
@overload
def get(name: MeanName) -> Option[MeasuredNumber]: ...
@overload
def get(name: SumName) -> Option[MeasuredNumber]: ...
@overload
def get(name: VarianceName) -> Option[MeasuredNumber]: ...
@overload
def get(name: QuantileName) -> Option[MeasuredNumbers]: ...
@overload
def get(name: str, *, task: Task[Answer]) -> Option[Answer]: ...
@overload
def get(name: str) -> Option: ...
def get(name: str, *, task: Task[Any] | None = None) -> Option:
    """Option of this name, which may give parameters: "FriedmanSchuster(depth=3)".

    Args:
        name: of a built-in Option, of one's own or of an installed package's; with some of its parameters, or none.
        task: what it is to answer: another Option is refused, and a type checker knows what it gives back.

    Raises:
        OptionError: there is no Option of the name, it cannot have these parameters, or it answers another task.
    """
    wanted = None if task is None else task_of(task)
    _load()
    if name_in(name) not in {None, *registered()}:
        load_installed()
    found = made(name, registered())
    if wanted is not None and found.task is not wanted:
        raise OptionError(
            f"{found.name} {found.task.question.does}", why=f"an Option that {wanted.question.does} is asked for"
        )
    return found


BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "classification": (
        "greedy_trees",
        "jostled_tree",
        "linear_models",
        "linear_rules",
        "naive_bayes",
        "pooled_tree",
        "published_tree",
        "random_trees",
        "tuning",
    ),
    "evaluation": ("pri_roc",),
    "publishing": ("one_grid", "privbayes", "projected_histogram"),
    "ranges": ("asked_cells", "cells", "hierarchies", "mwem", "partitions", "refined_tree", "wavelets"),
    "selection": ("selectors",),
    "statistics": ("choosing", "moments", "quantiles"),
}
"""The modules of the Options that come with Jostle; importing one registers what is in it."""


@cache
def _load() -> None:
    """Import the built-in Options."""
    for task, modules in BUILT_IN.items():
        for module in modules:
            import_module(f"jostle.options.{task}.{module}")


@cache
def load_installed() -> None:
    """Import what installed packages bring under the entry point `jostle.options`; it registers itself."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes its time, and is asked once

    for entry_point in entry_points(group=ENTRY_POINT):
        try:
            entry_point.load()
        except Exception as mistake:  # noqa: BLE001 - another package may fail in any way
            raise OptionError(
                f"the Options of {entry_point.value} cannot be loaded: {said_by(mistake)}",
                why=f"an installed package brings them, under the entry point {ENTRY_POINT}",
                fix="mend that package, or take it out",
            ) from None
