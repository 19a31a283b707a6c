"""Choice makers: Options that look at a few metafeatures and run the Option that should do best.

What a maker spends on metafeatures is charged to its own budget before it sees them, and all that it sees is public or
released. So its choice is post-processing, the Option it runs gets what is left, and the two add up to what the maker
was called with: basic composition, with the second mechanism chosen by what the first one gave. What was bought to
choose by is known to the Option that is run (`Probe.known`), which need not buy it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from attrs import evolve, field, frozen

from jostle.choice.learning.cases import seen
from jostle.choice.learning.learners import Predict
from jostle.choice.learning.markets import Purchases
from jostle.choice.makers.trained import Prediction, Trained
from jostle.errors import ChoiceError
from jostle.given import PRICE, called_as
from jostle.markup import fact_table
from jostle.options.base import Option, check_probe
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Allotment, Event
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks import Judge, Task
from jostle.tasks.answers import Answer
from jostle.tasks.metafeature import Metafeature, View, distinct
from jostle.trace.records import Chosen


def _listed(axes: tuple[int, ...]) -> str:
    return f"{' or '.join(map(str, axes))} {'axis' if axes == (1,) else 'axes'}"


def _tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)


@frozen(kw_only=True)
class Choosing:
    """A choice as it was made."""

    chosen: int
    seen: tuple[tuple[str, float], ...]
    prediction: Prediction
    why: str
    left: Fraction
    """The budget after metafeatures."""
    usual: Mapping[str, tuple[float, float]]
    """Of what was seen, what is usual among the databases that were learned from: the middle third."""


@frozen(kw_only=True, eq=False)
class ChoiceMaker(Option[Answer]):
    """An Option that chooses among Options of one task, and is one of it."""

    among: tuple[Option[Answer], ...] = field(converter=_tuple)
    informed_by: tuple[Metafeature, ...] = field(default=(), converter=_tuple)
    label: str = "choice"
    """What the choice is called in traces and histories."""
    trainer: Callable[[ChoiceMaker], Trained] | None = field(default=None, repr=False)
    """How to learn what is not known yet; called once, before data are touched."""
    known: list[Trained] = field(factory=list, repr=False)
    """What was learned, once it was."""
    axes: tuple[int, ...] = ()
    """The numbers of columns of what it learned from, of which tables must have one; any where none is said."""

    def __attrs_post_init__(self) -> None:
        """Refuse Options that do not answer one question."""
        if not self.among:
            raise ChoiceError("there are no Options to choose among", fix="among=[...]")
        for option in self.among:
            if not option.private:
                raise ChoiceError(
                    f"{option.name} is not private",
                    why="whoever runs a maker does not see beforehand what it chooses",
                    fix="leave it out: it runs on public data, by its name",
                )
        tasks = sorted({option.task.name for option in self.among})
        if len(tasks) > 1:
            raise ChoiceError(
                f"the Options answer different questions: {', '.join(tasks)}",
                why="one that is chosen stands in for all others",
                fix="jostle options lists the Options of a task",
            )
        names = [option.name for option in self.among]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ChoiceError(f"{twice} is offered twice", fix="offer each Option once")

    @property
    def task(self) -> Task[Any]:  # type: ignore[override]  # of other Options a fact of the class, of this one of its Options
        """The task that its Options answer."""
        return self.among[0].task

    @property
    def version(self) -> int:  # type: ignore[override]  # as above
        """A mark of what it learned."""
        return self.trained.mark

    @property
    def fitted_on(self) -> tuple[Any, ...]:
        """What it learned from, and what its Options were fitted on."""
        return (self.trained.digests, *(option.fitted_on for option in self.among))

    @property
    def name(self) -> str:
        """Its name, and what it chooses among."""
        return f"{self.label}({', '.join(option.name for option in self.among)})"

    @property
    def trained(self) -> Trained:
        """Its trained state; learn it first, if need be."""
        if not self.known:
            if self.trainer is None:
                raise ChoiceError(
                    f"{self.label} is not trained",
                    why="which Option does best is learned from public databases",
                    fix="MkChoiceMaker(among=..., informed_by=..., trained_on=...), or jostle train",
                )
            self.known.append(self.trainer(self))
        trained = self.known[0]
        trained.check(self.among, self.informed_by)
        return trained

    @property
    def judge(self) -> Judge:
        """The loss that it learned to keep small, or will."""
        if self.known and self.known[0].judge is not None:
            return self.task.judge(self.known[0].judge)
        given: Judge | None = getattr(self.trainer, "judged_by", None)
        return given or self.task.rehearsal.judges[0]

    def with_trained(self, trained: Trained) -> ChoiceMaker:
        """This maker with what was learned elsewhere."""
        trained.check(self.among, self.informed_by)
        return evolve(self, known=[trained], trainer=None)

    def priors(self) -> tuple[Predict | None, ...]:
        """The programmers' own predictions of each Option, where there are any."""
        return tuple(getattr(option, "predict", None) for option in self.among)

    def refuses(self, schema: Schema) -> str | None:
        """The reason why it did not learn for such tables, or why none of its Options runs; or None."""
        if self.axes and len(schema.names) not in self.axes:
            return f"it learned from grids of {_listed(self.axes)}, and this table has {_listed((len(schema.names),))}"
        reasons = [option.refuses(schema) for option in self.among]
        return None if None in reasons else f"none of its Options does: {reasons[0]}"

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        """The reason why nothing can come of so little budget with any of its Options that run; or None."""
        runs = [option for option in self.among if option.refuses(schema) is None]
        reasons = [option.hopeless(schema, epsilon, rows) for option in runs]
        return None if None in reasons or not reasons else f"with none of its Options: {reasons[0]}"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - all of it, whatever is chosen
        """An allotment: metafeatures and the Option that is run spend at most that together."""
        return Allotment(epsilon)

    @called_as("maker(db, epsilon=0.1)", why=PRICE)
    def __call__(self, db: Probe, *questions: Any, epsilon: Amount, site: str | None = None, **named: Any) -> Answer:
        """The answer of the Option that should do best with what is left of *epsilon* after looking."""
        check_probe(db, self.label)
        self.refuse_hopeless(db, epsilon)
        trained = self.trained
        asked = self.task.question.read(db.schema, questions)

        def run(probe: Probe, budget: Fraction) -> Answer:
            choosing = self.choose(probe, budget, trained, asked)
            option = self.among[choosing.chosen]
            self.note(probe, choosing)
            return option(probe, *asked, epsilon=choosing.left, **named)

        return self.perform(db, epsilon, run, site=site or self.label)

    def choose(self, db: Probe, budget: Fraction, trained: Trained, asked: tuple[Any, ...] = ()) -> Choosing:
        """Buy what is looked at, and return which Option to run; *db* has at least the budget."""
        schema = db.schema
        trained = trained.for_schema(schema)
        looked_at = trained.check(self.among, self.informed_by)
        listed = distinct(looked_at, schema)
        each = trained.share * budget / len(listed) if listed else Fraction(0)
        market = Purchases(db, each, listed)
        judge = self.task.rehearsal.other(self.judge)
        view = View(schema, float(budget), market, db.rows, asked=asked or None, judged_by=judge)
        values = seen(looked_at, view)
        prediction = trained.predict(values)
        left = budget - each * len(market.bought)
        runs = [place for place in prediction.order if self.among[place].refuses(schema) is None]
        chosen = next((run for run in runs if not self.among[run].hopeless(schema, left, db.rows)), runs[0])
        why = trained.why(values, looked_at, chosen, prediction)
        return Choosing(
            chosen=chosen,
            seen=tuple((metafeature.name, value) for metafeature, value in zip(looked_at, values, strict=True)),
            prediction=prediction,
            why=f"asked: {told}; {why}" if (told := self.task.question.told(asked)) else why,
            left=left,
            usual={metafeature.name: ends for metafeature, ends in zip(looked_at, trained.usual, strict=True)},
        )

    def _repr_html_(self) -> str:
        looks = {metafeature.name for metafeature in self.informed_by}
        rows = [("chooses among", ", ".join(option.name for option in self.among))]
        rows.append(("informed by", ", ".join(sorted(looks)) or "nothing"))
        return fact_table((self.label, ""), rows)

    def note(self, db: Probe, choosing: Choosing) -> None:
        """Leave a record of a choice in the trace."""
        predicted = {
            self.among[place].name: (choosing.prediction.losses[place], choosing.prediction.spreads[place])
            for place in choosing.prediction.order
        }
        taken = self.among[choosing.chosen].name
        why = f"{choosing.why}; it was learned to keep small {self.judge.about or self.judge.name}"
        chosen = Chosen.one(
            "choice", self.label, taken, seen=dict(choosing.seen), predicted=predicted, why=why, usual=choosing.usual
        )
        db.note_choice(chosen)
