"""Find the maker that a command is about: in a program, a Python file, or among those that came with Jostle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of, shipped_maker
from jostle.choice.policies.learn import Labelled
from jostle.corpora.databases import default_jobs
from jostle.errors import ChoiceError, OptionError, shown
from jostle.options.functions import FunctionOption
from jostle.options.registry import get, ran
from jostle.privacy.probe import Probe

NAMED = "jostle_program"
"""What a Python file sees as its __name__: not __main__, so that what it does when it is run is not done."""


def load_maker(program: str | Path, name: str | None = None) -> ChoiceMaker:
    """The maker in a .jst or .py file, or a shipped one; *name* says which, if a program has several."""
    trainable = load_trainable(program, name)
    if isinstance(trainable, ChoiceMaker):
        return trainable
    raise _no_maker(Path(program))


def load_trainable(
    program: str | Path, maker: str | None = None, entry: str | None = None, public: Sequence[Path] = ()
) -> ChoiceMaker | Labelled:
    """The trainable object of a program: a choice maker, or what makes labelled choices.

    *maker* names a maker, *entry* a function or an Option that chooses inside. Without either, it is the program's only
    maker; where it has none, what it runs if nobody says what, if that makes choices. *public* are the folders that a
    program in Jostle's language may read.
    """
    if public and Path(program).suffix != ".jst":
        raise ChoiceError(
            f"--public says nothing to {program}",
            why="it is for programs in Jostle's language: what is written in Python reads what it likes",
            fix="leave it out",
        )
    if str(program) in SHIPPED and entry is None:
        return shipped_choice(str(program))
    path = Path(program)
    if path.suffix not in {".jst", ".py"}:
        raise ChoiceError(
            f"{program} is no program, and no maker of this name came with Jostle",
            fix=f"a .jst or .py file, or one of {', '.join(SHIPPED)}",
        )
    if not path.is_file():
        raise ChoiceError(f"there is no file {path}", fix="check the path")
    if maker is not None and entry is not None:
        raise ChoiceError("--maker and --entry are two things to train", fix="give one of them")
    loaded = _loaded(path, public) if path.suffix == ".jst" else _ran(path)
    makers = _makers(loaded if isinstance(loaded, Mapping) else loaded.makers)
    if entry is not None and entry in makers:
        maker, entry = entry, None
    if entry is None and (maker is not None or makers):
        return _one_of(makers, maker, path)
    labelled_choices = _chooses(loaded, entry, path)
    if labelled_choices is None:
        raise _no_maker(path)
    return labelled_choices


def _one_of(makers: Mapping[str, ChoiceMaker], name: str | None, path: Path) -> ChoiceMaker:
    if not makers:
        raise _no_maker(path)
    if name is None and len(makers) > 1:
        raise ChoiceError(f"{path} defines several choice makers", fix=f"--maker {' or --maker '.join(makers)}")
    if name is None:
        return next(iter(makers.values()))
    if name not in makers:
        raise ChoiceError(f"{path} defines no choice maker {name}", fix=f"--maker {' or --maker '.join(makers)}")
    return makers[name]


def _no_maker(path: Path) -> ChoiceError:
    return ChoiceError(
        f"{path} defines no choice maker",
        why="that is what is trained and evaluated, or the labelled choices inside a function",
        fix="choice = MkChoiceMaker(among=[...], informed_by=[...]), or --entry NAME",
    )


def _chooses(loaded: Any, entry: str | None, path: Path) -> Labelled | None:
    """The functions that make labelled choices; None where nobody named them and nothing does."""
    if not isinstance(loaded, Mapping):
        from jostle.lang.makers import labelled  # noqa: PLC0415 - for programs in the language only
        from jostle.lang.program_options import labels_in  # noqa: PLC0415 - as above

        if entry is None and (loaded.entry is None or not labels_in(loaded, loaded.entry)):
            return None
        choices: Labelled = labelled(loaded, entry)
        return choices
    options = {name: each for name, each in loaded.items() if isinstance(each, FunctionOption) and name[0] != "_"}
    if entry is None:
        return None
    if entry not in options:
        raise ChoiceError(
            f"{path} defines no Option {entry}",
            why="choices in Python are learned by running the Option that they are made in",
            fix="@jostle.option(task=...), on the line above def " + entry + "(db, *, epsilon)",
        )
    option = options[entry]
    return Labelled(option.called, option.mark, option.program, option.task, OptionRun(option), None, option.fitted)


@frozen(eq=False)
class OptionRun:
    """An Option as a program that is trained: run with a probe, a budget, and what is asked."""

    option: FunctionOption

    def __call__(self, db: Probe, epsilon: Fraction, *questions: Any) -> Any:
        """Its answer."""
        return self.option(db, *questions, epsilon=epsilon)


def shipped_choice(name: str) -> ChoiceMaker:
    """A maker that came with Jostle: with what it learned, or, where that is not there, with how it learns."""
    if not isinstance(name, str) or name not in SHIPPED:
        raise ChoiceError(f"no maker {shown(name)} came with Jostle", fix=f"one of {', '.join(SHIPPED)}")
    shipped = SHIPPED[name]
    among = [get(option) for option in shipped.among]
    judge = None if shipped.judge is None else shipped.task.judge(shipped.judge)
    maker = ChoiceMaker(among=among, informed_by=shipped.informed_by, label=name, axes=shipped.axes)
    try:
        trained = maker.with_trained(shipped_maker(name))
    except ChoiceError:
        return evolve(maker, trainer=Training(history=rehearsals_of(name), judged_by=judge))
    # Where it is trained anew, it is on databases of its own kind.
    return evolve(trained, trainer=Training(jobs=partial(default_jobs, axes=shipped.axes), judged_by=judge))


def _makers(names: Mapping[str, Any]) -> dict[str, ChoiceMaker]:
    """The choice makers among named values; one that has two names goes by its first."""
    makers: dict[str, ChoiceMaker] = {}
    for name, each in names.items():
        known = any(each is other for other in makers.values())
        if isinstance(each, ChoiceMaker) and not name.startswith("_") and not known:
            makers[name] = each
    return makers


def _ran(path: Path) -> dict[str, Any]:
    """The names that a Python file defines."""
    try:
        return ran(path, NAMED)
    except OptionError as mistake:
        raise ChoiceError(mistake.title, why=mistake.why, fix=mistake.fix) from None


def _loaded(path: Path, public: Sequence[Path]) -> Any:
    """The program in a .jst file."""
    from jostle.lang.program import load  # noqa: PLC0415 - as above

    return load(path, say=None, public=public)
