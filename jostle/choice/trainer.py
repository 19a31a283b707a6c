"""The trainer: rehearse on public databases, learn what to choose, judge that by others, and keep it where it is found.

What is trained is a choice maker, which learns from rehearsals of its Options, or the labelled choices inside a
program, which are learned from running it whole. Either goes through the same steps: databases, without those that are
set aside or that something inside was fitted on; rehearsals, which are written down as they come; a predictor of
losses, judged on groups left out; formulas, where they are asked for; the file; and what it does on databases that were
set aside.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from jostle.choice.learning.formulas import FormulaWorth, Synthesis, choice_formulas, synthesize
from jostle.choice.learning.history import History, histories_of
from jostle.choice.learning.learners import Lesson
from jostle.choice.learning.markets import read_raw
from jostle.choice.learning.regret import Figures, verdict
from jostle.choice.makers.aslib import write_scenario
from jostle.choice.makers.evaluate import Evaluation
from jostle.choice.makers.evaluate import evaluate as evaluate_maker
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training, share_of
from jostle.choice.makers.shipped import keep
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import SINGLE_BEST, free_and_paid
from jostle.choice.policies.learn import LEARNED, Grounds, Labelled, Worth, formula_worths, settled, train_labels
from jostle.choice.policies.work import MOST_DATABASES, Notebook, halves, situations_of
from jostle.corpora.corpus import BEGINNING, Corpus, KnownByName, check_set_aside
from jostle.corpora.folders import public
from jostle.errors import ChoiceError, JostleError
from jostle.learned.files import here
from jostle.learned.policies import Kept, LearnedPolicy, keep_policies, policies_for
from jostle.options.fitted import kept_apart, marks_of
from jostle.privacy.amounts import epsilon_amount
from jostle.progress import stage
from jostle.tasks import UNTOLD, Judge, Task
from jostle.tasks.metafeature import ChangedMetafeature
from jostle.visible import aligned

EPSILONS = ("1/10", "3/10", "1", "3")
"""Budgets that labelled choices are learned at."""
ROUNDS, RUNS, TRIALS = 2, 8, 2
LEARNING = 1
"""Of the code that learns labelled choices: raised when the same runs come to teach something else."""
LEAST_FLOOR = 1e-9
"""Losses of grids have no floor, but are compared by their logarithms."""


@frozen(eq=False, kw_only=True)
class Learned(ABC):
    """What training gave, and where it is."""

    kept: Path | None = None
    """Where it is found; None where nothing looks for it, since it was given or was there."""
    problems: tuple[str, ...] = ()
    """Why some databases were left out."""
    judged: Evaluation | LearnedPolicies | None = None
    """How it does on databases that were set aside, where there were any."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        return {
            **self.facts(),
            "kept": None if self.kept is None else str(self.kept),
            "problems": list(self.problems),
            "judged": None if self.judged is None else self.judged.as_data(),
        }

    def as_text(self) -> str:
        """This in sentences."""
        return "\n".join([*(f"warning: {problem}" for problem in self.problems), *self.lines()])

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What of its plain data is its own."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield its sentences, a line each."""


@frozen(eq=False, kw_only=True)
class LearnedMaker(Learned):
    """What a choice maker learned."""

    maker: ChoiceMaker
    trained: Trained
    history: Path | None
    """The rehearsals that were added to; None where all of them were there already."""
    formulas: Synthesis | None = None
    """Formulas for what to expect of each Option, where they were asked for."""
    judged: Evaluation | None = None
    judged_on: str = ""
    """The folder of the databases set aside."""

    def facts(self) -> dict[str, Any]:
        """What was learned, from what, and how good it is."""
        trained, formulas = self.trained, self.formulas
        return {
            "maker": self.maker.label,
            "task": trained.task,
            "options": [name for name, _ in trained.options],
            "single_best": trained.options[trained.single][0],
            "learner": trained.learner,
            "metafeatures": [name for name, _ in trained.metafeatures],
            "share": str(trained.share),
            "failures": {failure.option: [failure.failed, failure.runs, failure.why] for failure in trained.failures},
            "rehearsals": trained.rehearsals,
            "databases": trained.databases,
            "groups": trained.groups,
            "figures": {
                name: None if math.isnan(number) else number for name, number in asdict(trained.figures).items()
            },
            "history": None if self.history is None else str(self.history),
            "formulas": formulas and dict(zip(formulas.options, map(str, formulas.formulas), strict=True)),
        }

    def lines(self) -> Iterator[str]:
        """Yield warnings, what it chooses by, how it does on databases set aside, and where it is."""
        trained = self.trained
        yield from (f"warning: {failure}" for failure in trained.failures)
        if self.judged is not None:
            yield from (f"warning: {problem}" for problem in (*self.judged.problems, *self.judged.failed))
        yield f"{self.maker.label}: {trained.summary}"
        if self._chooses:
            looked_at = ", ".join(name for name, _ in trained.metafeatures) or "nothing"
            yield f"  it looks at {looked_at}, spending {float(trained.share):.2%} of the budget"
            yield f"  its learner is called {trained.learner}"
            yield f"  the Option that does best if one is run always is {trained.options[trained.single][0]}"
            yield from ("", trained.rules(), "")
        else:
            yield "  it looks at nothing, and spends nothing on choosing"
        if self.judged is not None:
            yield from ("", *self._judged(self.judged), "")
        if self.history is not None:
            yield f"  rehearsals are kept in {self.history}, and are not run again"
        if self.kept is not None:
            yield f"  the program's maker finds what it learned in {self.kept}"
        if self.formulas is not None:
            yield from ("", self.formulas.as_text())

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
            aligned([head, *(_row(*row) for row in rows)]),
            f"on the databases set aside: {said}",
        ]


def _row(what: str, databases: int, found: Figures) -> tuple[str, ...]:
    """Figures as cells of a table."""
    losses = (f"{number:.4g}" for number in (found.loss_mean, found.single_mean, found.hindsight_mean))
    sure = "" if math.isnan(found.regret_low) else f" (90%: {found.regret_low:.2f} to {found.regret_high:.2f})"
    return (what, str(databases), *losses, f"{found.regret_mean:.2f}{sure}", f"{found.single_regret:.2f}")


@frozen(eq=False, kw_only=True)
class LearnedPolicies(Learned):
    """What was learned for the choices inside a program, or what that is worth."""

    entry: Labelled
    policies: Mapping[str, LearnedPolicy]
    worths: tuple[Worth, ...]
    learned_on: str
    """In words: so many public databases."""
    unmet: tuple[str, ...] = ()
    """Labels that runs came to too rarely, or never."""
    tried_on: str = ""
    epsilons: tuple[str, ...] = ()
    formulas: tuple[FormulaWorth, ...] = ()
    """A formula for each label, where they were asked for."""
    judged: LearnedPolicies | None = None

    def facts(self) -> dict[str, Any]:
        """What was learned, from what, and what it is worth."""
        return {
            "entry": self.entry.name,
            "task": self.entry.task.name,
            "learned_on": self.learned_on,
            "tried_on": self.tried_on,
            "epsilons": list(self.epsilons),
            "labels": [worth_data(worth) for worth in self.worths],
            "formulas": {formula.formula.label: formula.formula.expression for formula in self.formulas},
            "unmet": list(self.unmet),
        }

    def lines(self) -> Iterator[str]:
        """Yield warnings, what each label is worth, where that is, and formulas."""
        rare = "runs came to it too rarely, or never, for it to be learned"
        yield from (f"warning: {label} takes its first alternative: {rare}" for label in self.unmet)
        where = f"learned on {self.learned_on}, tried on {self.tried_on} at epsilon {', '.join(self.epsilons)}"
        yield f"{self.entry.name}: {where}"
        yield from (worth_text(worth, settled=self.kept is not None) for worth in self.worths)
        if self.kept is not None:
            yield f"  the program follows it from now on, until its text changes: {self.kept}"
        if self.judged is not None:
            yield from ("", "on databases set aside, of which nothing was learned:", self.judged.as_text())
        for formula in self.formulas:
            yield from ("", formula.as_text(self.entry.words))


def worth_data(worth: Worth) -> dict[str, Any]:
    """A label's worth as plain data."""
    return {
        "label": worth.label,
        "kept": LEARNED if worth.learned else worth.usual,
        "losses": [
            {"taken": name, "loss": loss, "ratio": ratio, "error": error if math.isfinite(error) else None}
            for name, loss, ratio, error in worth.losses
        ],
    }


def worth_text(worth: Worth, *, settled: bool) -> str:
    """A label's worth in lines: the mean loss of what was learned, and of each alternative everywhere.

    Where that *settled* what is done from now on, it is said as well.
    """
    does = "does" if worth.learned else "does not do"
    said = f"what was learned {does} better than {worth.usual} everywhere by more than a standard error"
    if all(math.isnan(error) for *_, error in worth.losses):
        said = f"one group of databases does not tell what was learned from {worth.usual} everywhere"
    if settled:
        said += ": it is followed" if worth.learned else f": {worth.usual} is taken everywhere"
    names = [LEARNED, *(f"{name} everywhere" for name, *_ in worth.losses[1:])]
    width = max(map(len, names))
    lines = [f"  {worth.label}: {said}"]
    for name, (_, loss, ratio, error) in zip(names, worth.losses, strict=True):
        lines.append(f"    {name:<{width}}  mean loss {loss:.4g}{_compared(ratio, error) if name != LEARNED else ''}")
    return "\n".join(lines)


def _compared(ratio: float, error: float) -> str:
    """How a loss compares to that of what was learned, in words."""
    shown, sure = f"{abs(ratio - 1):.1%}", "" if math.isnan(error) else f" (standard error {error:.1%})"
    if shown == "0.0%":
        return ", as good" if sure.endswith(" 0.0%)") else f", as good{sure}"
    return f", {shown} {'more' if ratio > 1 else 'less'}{sure}"


def train(
    wanted: ChoiceMaker | Labelled,
    *,
    out: Path | None = None,
    repeats: int | None = None,
    epsilons: Iterable[str] | None = None,
    history: Path | None = None,
    aslib: Path | None = None,
    looks: Sequence[str] = (),
    **asked: Any,
) -> Learned:
    """What either kind of choice learned (see `train_maker` and `train_policies`); what is not for it is refused."""
    if isinstance(wanted, ChoiceMaker):
        _refuse("choice makers", {"--epsilon": epsilons})
        learned = train_maker(wanted, history=history, repeats=repeats, aslib=aslib, looks=looks, **asked)
        if out is not None:
            learned.trained.save(out)
        return learned
    _refuse("labelled choices", {"--history": history, "--aslib": aslib, "--look": looks})
    return train_policies(wanted, epsilons=epsilons or EPSILONS, runs=repeats or RUNS, out=out, **asked)


def evaluate(
    wanted: ChoiceMaker | Labelled,
    databases: Corpus,
    epsilons: Sequence[str],
    *,
    trials: int,
    workers: int | None = None,
    of_each_kind: bool = False,
) -> Evaluation | LearnedPolicies:
    """How well a maker chooses on databases, or what each label of a program is worth there."""
    if isinstance(wanted, ChoiceMaker):
        return evaluate_maker(wanted, databases, epsilons, trials=trials, workers=workers, of_each_kind=of_each_kind)
    _refuse("labelled choices, whose program says what is asked", {"--by slice": of_each_kind})
    return evaluate_policies(wanted, databases, epsilons, trials=trials, workers=workers)


def _refuse(what: str, given: dict[str, Any]) -> None:
    """Refuse what is for the other kind of training."""
    for name, value in given.items():
        if value:
            raise ChoiceError(f"{name} is not for {what}", fix=f"leave {name} out")


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
) -> LearnedMaker:
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
    aside = None if judge is None else _set_aside(judge, maker.task, lambda: training.learned_from(maker))
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
            judged = evaluate_maker(
                evolve(maker, known=[trained]),
                aside,
                training.budgets(maker),
                trials=training.repeats,
                workers=1 if engine == "threads" else workers,
            )
    apart = kept_apart(maker.among, training.databases).values()
    problems = (*map(str, training.databases.problems), *apart)
    return LearnedMaker(
        maker=maker,
        trained=trained,
        kept=keep(own, maker, trained) if own is maker.trainer else None,
        history=place,
        problems=problems,
        formulas=formulas,
        judged=judged,
        judged_on="" if judge is None else str(judge),
    )


def _set_aside(folder: Path, task: Task[Any], learned_from: Callable[[], Sequence[KnownByName]]) -> Corpus:
    """The databases of a folder that nothing is learned from."""
    databases = public(folder).grouped()
    if not any(task.rehearsal.takes(database) for database in databases):
        raise ChoiceError(
            f"{folder} has no database of the task {task.name!r} to judge by",
            fix="--judge a folder of tables (*.csv.gz with a last column label) or of grids (*.npy)",
        )
    check_set_aside(databases, learned_from())
    return databases


def _changes(maker: ChoiceMaker, training: Training) -> list[ChangedMetafeature]:
    """Small changes of what a maker looks at, that can be read off the databases it learns from."""
    if training.corpus is None:
        return []  # what came with Jostle was read once, as it was defined then
    readable: list[ChangedMetafeature] = []
    known = [change for metafeature in maker.informed_by for change in metafeature.changes()]
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
    return evolve(maker, informed_by=(*maker.informed_by, *(change.metafeature for change in changes)))


def _share_of(training: Training) -> Fraction:
    """The share of the budget that formulas are searched for: the second least that may be spent."""
    shares = sorted(share for share in training.shares if share)
    return shares[min(1, len(shares) - 1)] if shares else Fraction(0)


def train_policies(
    entry: Labelled,
    *,
    corpus: Path | Corpus | None = None,
    epsilons: Iterable[str] = EPSILONS,
    engine: str = "processes",
    workers: int | None = None,
    runs: int = RUNS,
    judged_by: Judge | None = None,
    out: Path | None = None,
    judge: Path | None = None,
    synthesizing: bool = False,
    kept_in: Callable[[Path | None], None] | None = None,
) -> LearnedPolicies:
    """The policies learned for a program's choices, one for each label; keep them where the program finds them.

    From the databases in the folder *judge* nothing is learned: what each label is worth is measured on them in the
    end. They are refused if some are learned from, or have the same people. When *synthesizing*, a formula is searched
    for each label as well. *kept_in* is told where runs are noted, before they begin; what is noted is not run again.
    """
    if entry.labels == ():
        raise _no_choice(entry)
    if entry.task is UNTOLD:
        raise ChoiceError(
            f"it cannot be told what {entry.name} answers from: a table with a label, or a grid",
            why="that says which public databases its choices are learned on",
            fix="use db.label or db.attributes, or on a grid db.x_range, in it or in what it calls",
        )
    budgets = tuple(str(epsilon_amount(epsilon)) for epsilon in epsilons)
    given = public(corpus) if isinstance(corpus, Path) else corpus
    most = MOST_DATABASES if given is None else None
    databases = (entry.task.rehearsal.corpus() if given is None else given).grouped()
    own = [database for database in databases if entry.task.rehearsal.takes(database)]
    aside = None if judge is None else _set_aside(judge, entry.task, lambda: own)
    apart = _apart(entry, databases)
    situations, problems = situations_of(databases, entry.task, most=most, judge=judged_by, apart=apart)
    learnt, tried = halves(situations)
    tried_on = "the same" if learnt == tried else _counted(len(tried), "other")
    mark = _digest(LEARNING, entry.mark, budgets, runs, [situation.key for situation in situations])
    notes = Notebook(here("policies", f"{entry.name}-{mark}.notes"), engine, workers)
    if kept_in is not None:
        kept_in(notes.path)
    worths: list[Worth] = []
    lessons: list[Lesson] = []
    policies = train_labels(
        entry.run,
        learnt,
        budgets,
        rounds=ROUNDS,
        runs=runs,
        trials=TRIALS,
        settled_on=tried,
        floor=max(entry.task.rehearsal.floor, LEAST_FLOOR),
        perform=notes,
        told=worths.append,
        rare_left_out=True,
        heard=lessons.extend,
    )
    formulas: Sequence[FormulaWorth] = ()
    if synthesizing:
        ground = Grounds(
            program=entry.run,
            situations=tried,
            epsilons=budgets,
            trials=TRIALS,
            seed=(0, ROUNDS),
            floor=max(entry.task.rehearsal.floor, LEAST_FLOOR),
            perform=notes,
        )
        observations = len(learnt) * len(budgets) * runs * ROUNDS
        formulas = formula_worths(ground, policies, choice_formulas(lessons, sorted(policies), observations))
    learned_on = _counted(len(learnt), "public database")
    facts = {
        "tried_on": tried_on,
        "epsilons": list(budgets),
        "worth": [worth_data(worth) for worth in worths],
        "fitted_on": sorted({situation.database.digest[:BEGINNING] for situation in situations}),
    }
    kept = keep_policies(entry.name, entry.mark, entry.program, policies, learned_on=learned_on, facts=facts)
    if out is not None:
        keep_policies(entry.name, entry.mark, entry.program, policies, learned_on=learned_on, facts=facts, path=out)
    notes.close()
    return LearnedPolicies(
        entry=entry,
        policies=policies,
        worths=tuple(worths),
        learned_on=learned_on,
        kept=kept,
        problems=problems,
        unmet=tuple(label for label in entry.labels or () if label not in policies),
        tried_on=tried_on,
        epsilons=budgets,
        formulas=tuple(formulas),
        judged=None if aside is None else evaluate_policies(entry, aside, budgets, engine=engine, workers=workers),
    )


def evaluate_policies(
    entry: Labelled,
    corpus: Corpus,
    epsilons: Sequence[str],
    *,
    trials: int = TRIALS,
    engine: str = "processes",
    workers: int | None = None,
) -> LearnedPolicies:
    """The worth of the policies that a program follows, on public databases: nothing is learned or kept."""
    known = policies_for(entry.name, entry.mark, entry.program)
    if known.problem is not None:
        raise ChoiceError(known.problem, fix=f"jostle train {entry.program} --entry {entry.name}")
    policies = {label: policy.policy for label, policy in known.items() if isinstance(policy, Kept)}
    if not policies:
        raise ChoiceError(
            f"nothing was learned for the choices of {entry.name}"
            + (" since the program has changed" if known.stale else ""),
            fix=f"jostle train {entry.program} --entry {entry.name}",
        )
    situations, problems = situations_of(corpus, entry.task, apart=_apart(entry, corpus))
    worths: list[Worth] = []
    ground = Grounds(
        program=entry.run,
        situations=situations,
        epsilons=map(epsilon_amount, epsilons),
        trials=trials,
        seed=(1, 0),
        floor=max(entry.task.rehearsal.floor, LEAST_FLOOR),
        perform=Notebook(None, engine, workers),
    )
    settled(ground, policies, told=worths.append, give_way=False)
    learned_on = str(known.facts.get("learned_on", "public databases"))
    return LearnedPolicies(
        entry=entry,
        policies=policies,
        worths=tuple(worths),
        learned_on=learned_on,
        problems=problems,
        tried_on=_counted(len(situations), "database"),
        epsilons=tuple(epsilons),
    )


def _apart(entry: Labelled, databases: Corpus) -> Mapping[str, str]:
    """Why some databases are kept apart, by their digests."""
    return kept_apart([entry], databases) if marks_of(entry.fitted_on) else {}


def _no_choice(entry: Labelled) -> ChoiceError:
    return ChoiceError(
        f"{entry.name} makes no labelled choice",
        why="that is what is learned of an entry",
        fix="choose L1 among {a, b} informed by {n}",
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _digest(*facts: object) -> str:
    return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()
