"""Find the maker that a command is about: in a program, a Python file, or among those that came with Jostle."""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import evolve

from jostle.choice.about import metafeatures_of
from jostle.choice.maker import ChoiceMaker
from jostle.choice.making import Training
from jostle.choice.pretrained import SHIPPED, rehearsals_of, shipped_maker
from jostle.choice.subsamples import default_jobs
from jostle.errors import ChoiceError, JostleError
from jostle.options.base import get

__all__ = ["load_maker", "makers_in", "shipped_choice"]

NAMED = "jostle_program"
"""What a Python file sees as its __name__: not __main__, so that what it does when it is run is not done."""


def load_maker(program: str | Path, name: str | None = None) -> ChoiceMaker:
    """Return the maker in a .jst or .py file, or a shipped one; *name* says which, if a program has several."""
    if str(program) in SHIPPED:
        return shipped_choice(str(program))
    path = Path(program)
    if path.suffix not in {".jst", ".py"}:
        raise ChoiceError(
            f"{program} is no program, and no maker of this name came with Jostle",
            fix=f"a .jst or .py file, or one of {', '.join(SHIPPED)}",
        )
    if not path.is_file():
        raise ChoiceError(f"there is no file {path}", fix="check the path")
    found = makers_in(path)
    if not found:
        raise ChoiceError(
            f"{path} defines no choice maker",
            why="that is what is trained and evaluated",
            fix="choice = MkChoiceMaker(among=[...], informed_by=[...])",
        )
    if name is None and len(found) > 1:
        raise ChoiceError(f"{path} defines several choice makers", fix=f"--maker {' or --maker '.join(found)}")
    if name is None:
        return next(iter(found.values()))
    if name not in found:
        raise ChoiceError(f"{path} defines no choice maker {name}", fix=f"--maker {' or --maker '.join(found)}")
    return found[name]


def makers_in(path: Path) -> dict[str, ChoiceMaker]:
    """Return the choice makers that a program defines at its top level, by the names it gives them."""
    return _makers(_ran(path) if path.suffix == ".py" else _loaded(path))


def shipped_choice(name: str) -> ChoiceMaker:
    """Return a maker that came with Jostle: with what it learned, or, where that is not there, with how it learns."""
    if name not in SHIPPED:
        raise ChoiceError(f"no maker {name!r} came with Jostle", fix=f"one of {', '.join(SHIPPED)}")
    shipped = SHIPPED[name]
    among = [get(each) for each in shipped.among]
    maker = ChoiceMaker(among=among, informed_by=metafeatures_of(shipped.task), label=name)
    try:
        known = maker.with_trained(shipped_maker(name))
    except ChoiceError:
        return evolve(maker, trainer=Training(history=rehearsals_of(name)))
    # Where it is trained anew, it is on databases of its own kind.
    return evolve(known, trainer=Training(jobs=partial(default_jobs, axes=shipped.axes)))


def _makers(names: Mapping[str, Any]) -> dict[str, ChoiceMaker]:
    """Return the choice makers among named values; one that has two names goes by its first."""
    found: dict[str, ChoiceMaker] = {}
    for name, each in names.items():
        known = any(each is other for other in found.values())
        if isinstance(each, ChoiceMaker) and not name.startswith("_") and not known:
            found[name] = each
    return found


def _ran(path: Path) -> dict[str, Any]:
    """Return the names that a Python file defines."""
    try:
        return runpy.run_path(str(path), run_name=NAMED)
    except JostleError as mistake:
        raise ChoiceError(f"{path} cannot be loaded: {mistake.title}", why=mistake.why, fix=mistake.fix) from None
    except SyntaxError as mistake:
        raise ChoiceError(f"{path} is no Python: line {mistake.lineno}: {mistake.msg}") from None
    except Exception as mistake:  # noqa: BLE001 - the user's own code may fail in any way
        # Only the frames of the program: those of what runs it say nothing.
        frames = [each for each in traceback.extract_tb(mistake.__traceback__) if each.filename == str(path)]
        place = f"line {frames[-1].lineno}: " if frames else ""
        raise ChoiceError(f"{path} fails: {place}{type(mistake).__name__}: {mistake}", fix=f"python {path}") from None


def _loaded(path: Path) -> Mapping[str, Any]:
    """Return the values that a .jst file defines."""
    language: Any = import_module("jostle.lang.program")  # by name: the language is built on choosing
    program: Any = language.load(path, say=None)
    makers: Mapping[str, Any] = program.makers
    return makers
