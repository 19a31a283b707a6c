"""What `jostle train` does: rehearse, learn, and keep what was learned where the program's maker finds it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from jostle.choice.learning.history import History, histories_of
from jostle.choice.learning.progress import shown_progress
from jostle.choice.makers.aslib import write_scenario
from jostle.choice.makers.kept import keep
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.makers.synthesis import Synthesis, synthesize
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import free_and_paid
from jostle.corpora.folders import public
from jostle.errors import ChoiceError

__all__ = ["Learned", "train_maker"]


@frozen(eq=False)
class Learned:
    """What training gave, and where it is."""

    maker: ChoiceMaker
    trained: Trained
    kept: Path | None
    """Where the program's maker finds it; None if it does not look, since it was given what it knows."""
    history: Path | None
    """The rehearsals that were added to; None where all of them were there already."""
    problems: tuple[str, ...] = ()
    """Why some databases were left out."""
    formulas: Synthesis | None = None
    """Formulas for what to expect of each Option, where they were asked for."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        trained = self.trained
        return {
            "maker": self.maker.label,
            "task": trained.task,
            "options": [name for name, _ in trained.options],
            "single_best": trained.options[trained.single][0],
            "learner": trained.learner,
            "metafeatures": [name for name, _ in trained.metafeatures],
            "share": str(trained.share),
            "failures": {each.option: [each.failed, each.runs, each.why] for each in trained.failures},
            "rehearsals": trained.rehearsals,
            "databases": trained.databases,
            "groups": trained.groups,
            "figures": {
                name: None if math.isnan(number) else number for name, number in asdict(trained.figures).items()
            },
            "kept": None if self.kept is None else str(self.kept),
            "history": None if self.history is None else str(self.history),
            "problems": list(self.problems),
            "formulas": None
            if self.formulas is None
            else dict(zip(self.formulas.options, map(str, self.formulas.formulas), strict=True)),
        }

    def as_text(self) -> str:
        """This in sentences."""
        trained = self.trained
        looked_at = ", ".join(name for name, _ in trained.metafeatures) or "nothing"
        lines = [f"warning: {problem}" for problem in self.problems]
        lines += [f"warning: {failure}" for failure in trained.failures]
        lines += [
            f"{self.maker.label}: {trained.summary}",
            f"  it looks at {looked_at}, spending {float(trained.share):.2%} of the budget",
            f"  its learner is called {trained.learner}",
            f"  the Option that does best if one is run always is {trained.options[trained.single][0]}",
        ]
        if self.history is not None:
            lines.append(f"  rehearsals are kept in {self.history}, and are not run again")
        if self.kept is not None:
            lines.append(f"  the program's maker finds what it learned in {self.kept}")
        if self.formulas is not None:
            lines += ["", self.formulas.as_text()]
        return "\n".join(lines)


def train_maker(
    maker: ChoiceMaker,
    *,
    corpus: Path | None = None,
    engine: str = "processes",
    history: Path | None = None,
    workers: int | None = None,
    repeats: int | None = None,
    aslib: Path | None = None,
    synthesizing: bool = False,
    kept_in: Callable[[Path | None], None] | None = None,
) -> Learned:
    """A trained maker: with *corpus*, from these databases instead of those its program names.

    Either way the program's maker uses it from then on, until it is trained again. *kept_in* is told where rehearsals
    are written, before they begin.
    """
    own = maker.trainer if isinstance(maker.trainer, Training) else Training()
    databases = own.corpus if corpus is None else public(corpus)
    training = evolve(own, corpus=databases, engine=engine, workers=workers)
    if repeats is not None:
        training = evolve(training, repeats=repeats)
    place: Path | None = None
    if databases is not None:
        place = histories_of(maker.task) if history is None else history
        training = evolve(training, history=History.open(place))
    elif history is not None:
        if not history.exists():
            raise ChoiceError(
                f"there is no history {history}", fix="--corpus a folder of public databases, to make one"
            )
        training = evolve(training, history=History.open(history))
    if kept_in is not None:
        kept_in(place)
    progress = shown_progress()
    trained = training.learn(maker, progress)
    if aslib is not None:
        write_scenario(aslib, training.cases(maker, training.rehearsed(maker, progress)), maker, trained)
    formulas = None
    if synthesizing:
        cases = training.cases(maker, training.rehearsed(maker, progress))
        _, paid = free_and_paid(cases, maker.informed_by)
        formulas = synthesize(cases, maker.informed_by, _share_of(training) if paid else Fraction(0), maker.priors())
    problems = () if databases is None else tuple(str(problem) for problem in databases.problems)
    kept = keep(own, maker, trained) if own is maker.trainer else None
    return Learned(maker, trained, kept, place, problems, formulas)


def _share_of(training: Training) -> Fraction:
    """The share of the budget that formulas are searched for: the second least that may be spent."""
    shares = sorted(each for each in training.shares if each)
    return shares[min(1, len(shares) - 1)] if shares else Fraction(0)
