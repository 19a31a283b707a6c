"""Make choice makers: what to choose among, what to look at, and what to learn from."""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from jostle.choice.learning.cases import Cases, budgets_of, cases_of
from jostle.choice.learning.history import History, histories_of, judge_in, read_history, to_json
from jostle.choice.learning.judging import Loss, judge_of
from jostle.choice.learning.learners import LEARNERS, Learner, PriorLearner
from jostle.choice.learning.rehearse import EPSILONS, Plan, rehearse_all
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import SHIPPED, identity_of, keep, kept, rehearsals_for, rehearsals_of
from jostle.choice.makers.trained import Trained, learn
from jostle.choice.makers.training import SHARES
from jostle.corpora.corpus import Corpus, KnownByName
from jostle.corpora.databases import PublicDatabase, default_jobs
from jostle.corpora.folders import public
from jostle.corpora.parts import VERSION as INSTANCES
from jostle.corpora.parts import Spec
from jostle.errors import ChoiceError, CorpusError
from jostle.given import called_as, given_as, given_items
from jostle.learned.files import shipped_folder
from jostle.options.base import Option
from jostle.options.fitted import kept_apart, marks_of
from jostle.options.registry import get
from jostle.privacy.amounts import Amount, exact
from jostle.privacy.nodes import Tally
from jostle.progress import stage
from jostle.tasks import Judge
from jostle.tasks.answers import Answer
from jostle.tasks.metafeature import Metafeature, distinct, version_of
from jostle.visible import visible

LOG = logging.getLogger(__name__)

LEARNING = 4
"""Of the code that learns: raised when the same rehearsals come to make another maker."""

Sources = Corpus | History | PublicDatabase | str | Path | Iterable[PublicDatabase]


@frozen(kw_only=True, eq=False)
class Training:
    """How a maker learns: from which databases, with what, and where it is kept."""

    corpus: Corpus | None = None
    """None for what came with Jostle."""
    history: History | None = None
    """What is known already; None for the history that is kept on this machine."""
    shares: tuple[Fraction, ...] = SHARES
    looks: tuple[Fraction, ...] = ()
    """Those at which Options are rehearsed knowing what was bought, too; at others it counts as thrown away."""
    judged_by: Judge | None = None
    epsilons: tuple[str, ...] | None = None
    """Budgets; None for the usual ones, or for all that a history has. Of a history, those that it has of them."""
    repeats: int = 4
    engine: str = "processes"
    workers: int | None = None
    jobs: Callable[[Corpus], Sequence[tuple[PublicDatabase, Spec]]] = field(default=default_jobs)

    def __call__(self, maker: ChoiceMaker) -> Trained:
        """The maker as it learned, if that is kept on this machine; otherwise let it learn, and keep that."""
        trained = kept(self, maker)
        if trained is None:
            trained = self.learn(maker)
            try:
                keep(self, maker, trained)
            except ChoiceError as mistake:
                said = visible(f"{maker.label} has learned, but will have to again: {mistake.title}")
                warnings.warn(said, stacklevel=2)
        return trained

    def facts(self, maker: ChoiceMaker) -> Iterator[object]:
        """All that a maker's learning depends on."""
        yield LEARNING, INSTANCES, maker.task.name
        yield [(option.name, option.version) for option in maker.among]
        yield [(metafeature.name, metafeature.version) for metafeature in maker.informed_by]
        yield [_code(prior) for prior in maker.priors()]
        if fitted_on := [sorted(marks_of(option.fitted_on)) for option in maker.among if option.fitted_on]:
            yield fitted_on
        yield [str(share) for share in self.shares]
        judge = self.judged_by
        own = judge is None or judge.name == maker.task.rehearsal.judges[0].name
        yield None if own or judge is None else (judge.name, _code(judge.loss))
        yield self.epsilons
        if self.looks:
            yield [str(share) for share in self.looks]
        if self.corpus is not None:
            yield self.repeats, _code(self.jobs)
            for database in self.corpus:
                yield database.name, database.group, identity_of(database)
        elif self.history is not None:
            yield from map(to_json, self.history.lines())
        else:
            path = shipped_folder() / f"{maker.task.name}.jsonl.gz"
            yield hashlib.blake2b(path.read_bytes()).hexdigest() if path.exists() else None

    def learn(self, maker: ChoiceMaker, known: History | None = None) -> Trained:
        """A trained maker; rehearse first what was not rehearsed yet. *known* is the history, if it was read."""
        history = self.rehearsed(maker, known)
        cases = self.cases(maker, history)
        learners = self.learners(maker)
        with stage(f"{maker.label}: learning from {len(cases):,} rehearsals"):
            learned = learn(cases, maker.among, maker.informed_by, shares=self.shares, learners=learners)
        LOG.info("%s", visible(f"{maker.label}: {learned.summary}"))
        return learned

    def cases(self, maker: ChoiceMaker, history: History) -> Cases:
        """The cases to learn from."""
        judge = maker.task.rehearsal.other(self.judged_by)
        return cases_of(history, maker.among, epsilons=self.budgets(maker, history), judge=judge)

    def budgets(self, maker: ChoiceMaker, history: History | None = None) -> tuple[str, ...]:
        """The budgets that are learned from: of a history, those that it has."""
        if self.corpus is not None:
            return self.epsilons or EPSILONS
        known = self._known(maker) if history is None else history
        there = budgets_of(known, maker.among, maker.task.rehearsal.other(self.judged_by))
        return tuple(each for each in there if self.epsilons is None or each in self.epsilons)

    def learned_from(self, maker: ChoiceMaker) -> Sequence[KnownByName]:
        """The databases that are learned from, before they are rehearsed on."""
        if self.corpus is not None:
            return [database for database in self.databases if maker.task.rehearsal.takes(database)]
        return list(self._known(maker).databases.values())

    def learners(self, maker: ChoiceMaker) -> tuple[Learner, ...]:
        """The learners that may learn: the programmer's own predictions as well, if there are any."""
        priors = maker.priors()
        if not any(priors):
            return LEARNERS
        return (*LEARNERS, PriorLearner(tuple(metafeature.name for metafeature in maker.informed_by), priors))

    @cached_property
    def databases(self) -> Corpus:
        """The databases that are named, those that share people in one group, whoever put them together."""
        return Corpus() if self.corpus is None else self.corpus.grouped()

    def rehearsed(self, maker: ChoiceMaker, known: History | None = None) -> History:
        """A history that has all the maker's Options, rehearsing those it does not have."""
        if self.corpus is None:
            return self._judged(maker, self._known(maker) if known is None else known)
        history = self.history if self.history is not None else History.open(histories_of(maker.task))
        with stage("reading public databases"):
            apart = kept_apart(maker.among, self.databases)
            given = self.jobs(self.databases)
            jobs = [job for job in given if maker.task.rehearsal.takes(job[0]) and job[0].digest not in apart]
        if not jobs:
            raise ChoiceError(
                f"there is no public database of the task {maker.task.name!r} to learn from",
                why=f"{len(apart)} are kept apart, since an Option was fitted on them" if apart else None,
                fix="trained_on=a folder of tables (*.csv.gz with a column label) or of grids (*.npy)",
            )
        plan = Plan(
            options=maker.among,
            epsilons=self.epsilons or EPSILONS,
            repeats=self.repeats,
            metafeatures=maker.informed_by,
            judged_by=self.judged_by,
        )
        plans = [plan, *(evolve(plan, metafeatures=(), look=look) for look in self._handed_on(maker, jobs))]
        for each in plans:
            rehearse_all(jobs, each, history, engine=self.engine, workers=self.workers)
        return history.of(each.key(database, spec) for each in plans for database, spec in jobs)

    def _handed_on(
        self, maker: ChoiceMaker, jobs: Sequence[tuple[PublicDatabase, Spec]]
    ) -> Iterator[tuple[Metafeature, Fraction]]:
        """What may be bought that Options can use: one metafeature for each number of rows by groups, at each share."""
        schema = maker.task.rehearsal.instance(*jobs[0]).schema
        by_purchase: dict[tuple[str, ...], Metafeature] = {}
        for metafeature in maker.informed_by if self.looks else ():
            wanted = distinct([metafeature], schema)
            if wanted and all(
                isinstance(one, Tally) and not one.conditions and one.weighted is None for one in wanted.values()
            ):
                by_purchase.setdefault(tuple(wanted), metafeature)
        yield from product(by_purchase.values(), self.looks)

    def _known(self, maker: ChoiceMaker) -> History:
        """The history to learn from where no databases are named."""
        if self.history is not None:
            return self.history
        return rehearsals_of(maker.label) if maker.label in SHIPPED else rehearsals_for(maker.task)

    def _judged(self, maker: ChoiceMaker, history: History) -> History:
        """The part of a history that was judged as this training judges."""
        own = self.judged_by is None or maker.task.rehearsal.knows(self.judged_by)
        name = None if own or self.judged_by is None else self.judged_by.name
        keys = [key for key in history.instances if judge_in(key) == name]
        if not keys and name is not None:
            raise ChoiceError(
                f"nothing in the history was judged by {name}",
                why="losses of another judge say little about this one's",
                fix="trained_on=a folder of public databases, which are then rehearsed on with this judge",
            )
        return history if len(keys) == len(history.instances) else history.of(keys)


@called_as('jostle.MkChoiceMaker(among=["NaiveBayes", "Majority"])')
def MkChoiceMaker(  # noqa: N802 - the word of the language
    *,
    among: Iterable[Option[Answer] | str | type[Option[Answer]]],
    informed_by: Iterable[Metafeature] | None = None,
    trained_on: Sources | None = None,
    spending: Amount | None = None,
    judged_by: Judge | Loss | str | None = None,
    label: str = "choice",
) -> ChoiceMaker[Answer]:
    """Option that chooses among others, by what it looks at, as it learned on public databases.

    Without *informed_by* it may look at all that Jostle knows for the task. Without *trained_on* it learns from the
    rehearsals that came with Jostle, which have all built-in Options, on databases that none of these was tuned on;
    it can be given databases, a folder of them, a history, or the file of a trained maker or of a history.
    *spending* fixes the share of the budget for what it looks at; otherwise the share is learned as well, and may
    be nothing. *judged_by* says how bad an answer is: one of the task's judges by name ("auc"), or a function of
    two lists, the answers and the truth (see `jostle.choice.learning.judging`); otherwise the first of the task's
    judges does. It learns when it is first called, or beforehand with `jostle train`.

    Args:
        among: Options, their names or their classes.
        informed_by: metafeatures that it may look at.
        trained_on: what it learns from.
        spending: the share of the budget for what it looks at.
        judged_by: how bad an answer is.
        label: its name in traces.

    Raises:
        OptionError: an Option is not known.
        ChoiceError: Options answer different questions, or what was learned before cannot be read.
        CorpusError: the databases to learn from cannot be read.
    """
    fix = 'among=["NaiveBayes", "Majority"]'
    options = tuple(_option(item) for item in given_items(among, "a list of Options", fix=fix, error=ChoiceError))
    if not options:
        raise ChoiceError("there are no Options to choose among", fix="among=[...]")
    looked_at = options[0].task.rehearsal.metafeatures if informed_by is None else _looks(informed_by)
    shares = SHARES if spending is None else (share_of(spending, "spending"),)
    file = str(trained_on) if isinstance(trained_on, str | Path) else ""
    if file.endswith(".json"):
        maker = ChoiceMaker(among=options, informed_by=looked_at, label=label)
        return maker.with_trained(Trained.read(file, maker.priors()))
    if file.endswith((".jsonl", ".jsonl.gz")):
        trained_on = read_history(file)
    judge = judge_of(judged_by, options[0].task)
    if isinstance(trained_on, History):
        training = Training(history=trained_on, shares=shares, judged_by=judge)
    else:
        corpus = None if trained_on is None else _corpus(trained_on)
        training = Training(corpus=corpus, shares=shares, judged_by=judge)
    return ChoiceMaker(among=options, informed_by=looked_at, label=label, trainer=training)


def _code(function: Callable[..., Any] | None) -> str | None:
    return None if function is None else version_of(function)


def share_of(given: Amount, name: str) -> Fraction:
    """A share of a budget; refuse one below 0 or of all of it."""
    share = exact(given, name)
    if not 0 <= share < 1:
        raise ChoiceError(f"{name} is {given}, but must be at least 0 and below 1", fix=f'{name}="5%"')
    return share


def _looks(given: Iterable[Metafeature]) -> tuple[Metafeature, ...]:
    fix = "informed_by=jostle.free_facts(task)"
    listed = given_items(given, "a list of metafeatures", fix=fix, error=ChoiceError)
    return tuple(given_as(each, Metafeature, "a metafeature", fix=fix, error=ChoiceError) for each in listed)


def _option(given: Option[Answer] | str | type[Option[Answer]]) -> Option[Answer]:
    if isinstance(given, Option):
        return given
    if isinstance(given, type) and issubclass(given, Option):
        return given()
    return get(given)


def _corpus(given: Corpus | PublicDatabase | str | Path | Iterable[PublicDatabase]) -> Corpus:
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str | Path):
        return public(given)
    fix = 'trained_on="census"'
    listed = (
        [given] if isinstance(given, PublicDatabase) else given_items(given, "a corpus", fix=fix, error=CorpusError)
    )
    return Corpus(given_as(each, PublicDatabase, "a public database", fix=fix, error=CorpusError) for each in listed)
