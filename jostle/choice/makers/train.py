"""What `jostle train` does: rehearse, learn, and keep what was learned where the program's maker finds it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from jostle.choice.learning.formulas import Synthesis, synthesize
from jostle.choice.learning.history import History, histories_of
from jostle.choice.learning.markets import read_raw
from jostle.choice.learning.regret import Figures, verdict
from jostle.choice.makers.aslib import write_scenario
from jostle.choice.makers.evaluate import Evaluation, evaluate
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training, share_of
from jostle.choice.makers.shipped import keep
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import SINGLE_BEST, free_and_paid
from jostle.corpora.corpus import Corpus, check_set_aside
from jostle.corpora.folders import public
from jostle.errors import ChoiceError, JostleError
from jostle.options.fitted import kept_apart
from jostle.progress import stage
from jostle.tasks.metafeature import ChangedMetafeature
from jostle.visible import aligned


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
    judged: Evaluation | None = None
    """How it does on databases that were set aside, where there were any."""
    judged_on: str = ""
    """The folder of these."""

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
            "judged": None if self.judged is None else self.judged.as_data(),
        }

    def as_text(self) -> str:
        """This in sentences."""
        trained = self.trained
        looked_at = ", ".join(name for name, _ in trained.metafeatures) or "nothing"
        lines = [f"warning: {problem}" for problem in self.problems]
        lines += [f"warning: {failure}" for failure in trained.failures]
        if self.judged is not None:
            lines += [f"warning: {problem}" for problem in (*self.judged.problems, *self.judged.failed)]
        lines.append(f"{self.maker.label}: {trained.summary}")
        if self._chooses:
            lines += [
                f"  it looks at {looked_at}, spending {float(trained.share):.2%} of the budget",
                f"  its learner is called {trained.learner}",
                f"  the Option that does best if one is run always is {trained.options[trained.single][0]}",
            ]
        else:
            lines.append("  it looks at nothing, and spends nothing on choosing")
        if self.judged is not None:
            lines += ["", *self._judged(self.judged), ""]
        if self.history is not None:
            lines.append(f"  rehearsals are kept in {self.history}, and are not run again")
        if self.kept is not None:
            lines.append(f"  the program's maker finds what it learned in {self.kept}")
        if self.formulas is not None:
            lines += ["", self.formulas.as_text()]
        return "\n".join(lines)

    @property
    def _chooses(self) -> bool:
        return self.trained.learner != SINGLE_BEST.learner.name

    def _judged(self, judged: Evaluation) -> list[str]:
        """The figures on databases set aside, beside those on the ones that were learned from."""
        best, databases = judged.single_best, len({cell.database for cell in judged.cells})
        head = (
            "",
            "databases",
            "maker",
            f"always {best}",
            "hindsight",
            "maker / hindsight",
            f"always {best} / hindsight",
        )
        rows = [
            ("learned from, each left out in turn", self.trained.databases, self.trained.figures),
            (f"set aside in {self.judged_on}", databases, judged.figures),
        ]
        said = verdict(judged.figures, best)
        if not self._chooses:
            said = f"nothing beat always {best} in learning, so the maker runs that, and the two differ by noise alone"
        return [
            "mean loss of the maker, of always running one Option, and of the best Option of each case in hindsight:",
            aligned([head, *(_row(*each) for each in rows)]),
            f"on the databases set aside: {said}",
        ]


def _row(what: str, databases: int, found: Figures) -> tuple[str, ...]:
    """Figures as cells of a table."""
    losses = (f"{number:.4g}" for number in (found.loss_mean, found.single_mean, found.hindsight_mean))
    sure = "" if math.isnan(found.regret_low) else f" (90%: {found.regret_low:.2f} to {found.regret_high:.2f})"
    return (what, str(databases), *losses, f"{found.regret_mean:.2f}{sure}", f"{found.single_regret:.2f}")


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
    looks: Sequence[str] = (),
    judge: Path | None = None,
    kept_in: Callable[[Path | None], None] | None = None,
) -> Learned:
    """A trained maker: with *corpus*, from these databases instead of those its program names.

    Either way the program's maker uses it from then on, until it is trained again. From the databases in the folder
    *judge* nothing is learned: the maker is evaluated on them in the end. They are refused if some are learned from, or
    have the same people. At each share of *looks*, Options are also rehearsed knowing what it buys. *kept_in* is told
    where rehearsals are written, before they begin.
    """
    own = maker.trainer if isinstance(maker.trainer, Training) else Training()
    databases = own.corpus if corpus is None else public(corpus)
    training = evolve(own, corpus=databases, engine=engine, workers=workers)
    if repeats is not None:
        training = evolve(training, repeats=repeats)
    if looks:
        handed_on = tuple(sorted(share_of(look, "look") for look in looks))
        training = evolve(training, looks=handed_on, shares=tuple(sorted({*training.shares, *handed_on})))
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
    aside = None if judge is None else _set_aside(judge, training, maker)
    if kept_in is not None:
        kept_in(place)
    trained = training.learn(maker)
    if aslib is not None:
        write_scenario(aslib, training.cases(maker, training.rehearsed(maker)), maker, trained)
    formulas = None
    if synthesizing:
        changes = _changes(maker, training)
        cases = training.cases(maker, training.rehearsed(_reading(maker, changes)))
        _, paid = free_and_paid(cases, maker.informed_by)
        share = _share_of(training) if paid else Fraction(0)
        with stage("searching formulas"):
            formulas = synthesize(cases, maker.informed_by, share, maker.priors(), changes)
    judged = None
    if aside is not None:
        with stage("judging by databases set aside"):
            judged = evaluate(
                evolve(maker, known=[trained]),
                aside,
                training.budgets(maker),
                trials=training.repeats,
                workers=1 if engine == "threads" else workers,
            )
    apart = kept_apart(maker.among, training.databases).values()
    problems = (*map(str, training.databases.problems), *apart)
    kept = keep(own, maker, trained) if own is maker.trainer else None
    return Learned(maker, trained, kept, place, problems, formulas, judged, "" if judge is None else str(judge))


def _set_aside(folder: Path, training: Training, maker: ChoiceMaker) -> Corpus:
    """The databases of a folder that nothing is learned from."""
    databases = public(folder).grouped()
    if not any(maker.task.rehearsal.takes(each) for each in databases):
        raise ChoiceError(
            f"{folder} has no database of the task {maker.task.name!r} to judge by",
            fix="--judge a folder of tables (*.csv.gz with a last column label) or of grids (*.npy)",
        )
    check_set_aside(databases, training.learned_from(maker))
    return databases


def _changes(maker: ChoiceMaker, training: Training) -> list[ChangedMetafeature]:
    """Small changes of what a maker looks at, that can be read off the databases it learns from."""
    if training.corpus is None:
        return []  # what came with Jostle was read once, as it was defined then
    readable: list[ChangedMetafeature] = []
    known = [change for each in maker.informed_by for change in each.changes()]
    if not known:
        return readable
    table = next(
        maker.task.rehearsal.instance(*job).table
        for job in training.jobs(training.databases)
        if maker.task.rehearsal.takes(job[0])
    )
    for change in known:
        try:
            read_raw([change.metafeature], table)
        except JostleError:
            continue
        readable.append(change)
    return readable


def _reading(maker: ChoiceMaker, changes: Sequence[ChangedMetafeature]) -> ChoiceMaker:
    """A maker that looks at what was changed as well: so that this is read off databases."""
    return evolve(maker, informed_by=(*maker.informed_by, *(each.metafeature for each in changes)))


def _share_of(training: Training) -> Fraction:
    """The share of the budget that formulas are searched for: the second least that may be spent."""
    shares = sorted(each for each in training.shares if each)
    return shares[min(1, len(shares) - 1)] if shares else Fraction(0)
