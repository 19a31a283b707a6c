"""Probes: how everything but the data's owner meets a table. A probe charges first and answers second."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from jostle.errors import ExpressionError, JostleError, ProbeError, shown
from jostle.given import PRICE, called_as, given_flag
from jostle.handed import handed_up
from jostle.privacy.account import about
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.chains import Refinable
from jostle.privacy.door import Key
from jostle.privacy.evidence import CountEvidence, Look
from jostle.privacy.expressions import NODES, known_of
from jostle.privacy.imitations import Imitation
from jostle.privacy.ledger import Charge
from jostle.privacy.measured import MeasuredCells, MeasuredCount, MeasuredNumber, MeasuredNumbers, MeasuredTop
from jostle.privacy.mechanisms import (
    AddNoise,
    AddNoiseAbove,
    AddNoiseTo,
    Mechanism,
    NoisyNumbers,
    SparseAnswer,
    sensitivity,
)
from jostle.privacy.nodes import Expression, Tally
from jostle.privacy.picks import Pick
from jostle.privacy.scores import Fullest, Score
from jostle.privacy.selection import Selection
from jostle.tables.fields import Floats, Integers, name, names
from jostle.tables.kernels import Counts, DenseKernel, SparseCounts
from jostle.tables.persons import PersonCount
from jostle.tables.regions import Regions
from jostle.tables.schema import Neighbours, Schema
from jostle.trace.records import Chosen, Stated

REFINABLE = "db.measure_refinable(kernel, epsilon), or answer.refine(epsilon=...) of a count or a histogram"


class Probe:
    """Answers questions about a table, each for a price, within a budget fixed beforehand.

    Get one from `protect` (private data) or `rehearse` (public data); which of the two it was, a probe does not tell.

    Questions take *epsilon*, what they cost, as it is written: 0.1, "1/3"; and *site*, their name in the trace.

    Raises:
        BudgetError: less is left than a question costs.
        SchemaError: a column is unknown.
        ProbeError: no probe answers that.
        ExpressionError: what is asked cannot be computed on such tables.
        TableError: the rows cannot be read, or have no numbers there.
    """

    __slots__ = ("__weakref__", "_key", "_schema", "_unit")

    def __init__(self, key: Key, schema: Schema | None = None, unit: int | None = None) -> None:
        self._key = key
        self._schema = schema
        self._unit = unit

    # Public facts

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""
        if self._schema is None:
            self._schema = self._key.look_up()
        return self._schema

    @property
    def rows(self) -> int | None:
        """Number of rows as far as it is known without asking: declared, or released before (`known`); else None.

        What was released counts as known where noise moves it by a twentieth at most.
        """
        return self._key.look_in().rows

    @property
    def neighbours(self) -> Neighbours:
        """The change of the table that privacy is about."""
        return self.schema.neighbours

    @property
    def unit(self) -> int:
        """How many rows of a person each epsilon here is for: 1 where rows are protected, and always for an Option."""
        if self._unit is None:
            self._unit = self._key.look_in().unit
        return self._unit

    @property
    def divided(self) -> bool:
        """Whether it is a part of the table, or in one, where a person may be in several."""
        return self._key.look_in().divided

    @property
    def promise(self) -> Fraction | None:
        """The budget fixed beforehand; None for a part, which spends from that of the whole."""
        return self._key.look_in().promise

    @property
    def spent(self) -> Fraction:
        """The budget spent through this probe."""
        return self._key.look_in().spent

    @property
    def left(self) -> Fraction | None:
        """The budget that may still be spent here, if nobody else spends of the same promise; None for a part."""
        return self._key.look_in().left

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge made through this probe; of one on a server's table, the last 4,096."""
        charges: tuple[Charge, ...] = self._ask("charges")
        return charges

    def known(self, kernel: Counts | Regions, *, so_far: bool = False) -> tuple[Look | None, ...]:
        """What was released before this allotment of each group, or level, of a kernel: it costs nothing.

        An Option asks this before it buys. What it buys itself is not in it, nor what other allotments bought. Each
        answer counts for one group alone, the last that it refines; of groups that none refines, nothing is known. With
        *so_far*, what was bought in this allotment counts as well, as it does in one that is made of it.
        """
        looks: tuple[Look | None, ...] = self._ask("known", kernel, so_far)
        return looks

    # Questions

    def perform(self, mechanism: Mechanism, epsilon: Amount, *, site: str) -> Any:
        """The answer of one of the known mechanisms."""
        return self._ask("perform", mechanism, epsilon, site)

    @called_as("db.count(0.1)", why=PRICE)
    def count(self, epsilon: Amount, *, site: str = "count") -> MeasuredCount:
        """The number of rows, noised."""
        return self._counted(Counts.of(), epsilon, site)

    @called_as("db.persons(0.1)", why=PRICE)
    def persons(self, epsilon: Amount, *, site: str = "persons") -> MeasuredCount:
        """The number of persons with rows here, noised: each counts once, however many rows they have.

        In a part of the table the noise is as wide as for all rows of a person, who may be in several parts.
        """
        return self._persons(epsilon, site, 0)

    @called_as("db.beyond(0.1)", why=PRICE)
    def beyond(self, epsilon: Amount, *, site: str = "beyond") -> MeasuredCount:
        """The number of persons of whom not all rows are held, since they have more than the schema says, noised."""
        return self._persons(epsilon, site, self.schema.rows_per_person or 0)

    def _persons(self, epsilon: Amount, site: str, more_than: int) -> MeasuredCount:
        return self._counted(PersonCount(more_than=more_than, once=not self.divided), epsilon, site)

    def _counted(self, kernel: DenseKernel, epsilon: Amount, site: str) -> MeasuredCount:
        """What a kernel of a single cell counts."""
        bought, most = self.measure_refinable(kernel, epsilon, site=site), self._changed(kernel)
        rows_each = 1 if kernel.of_persons else self.schema.rows_per_person or 1

        def measured(answer: Refinable) -> MeasuredCount:
            (noisy,) = answer.cells
            evidence = CountEvidence(noisy, most / answer.epsilon, answer.epsilon, rows_each=rows_each)
            return MeasuredCount(evidence, lambda more, name: measured(self.refine(answer, more, site=name or site)))

        return measured(bought)

    def _changed(self, kernel: DenseKernel) -> int | Fraction:
        """The most that whoever is protected changes: over epsilon, the scale of the noise."""
        return sensitivity(kernel, self.schema) * self.unit

    @called_as('db.sum("age", epsilon=0.1)', why=PRICE)
    def sum(self, column: str, *, epsilon: Amount, site: str = "sum") -> MeasuredNumber:
        """The sum of a column's numbers, noised."""
        answer: MeasuredNumber = handed_up("statistics")("sums", self, (column,), epsilon, site)
        return answer

    @called_as('db.mean("age", epsilon=0.1)', why=PRICE)
    def mean(self, column: str, *, epsilon: Amount, site: str = "mean") -> MeasuredNumber:
        """The mean of a column's numbers, give or take noise."""
        answer: MeasuredNumber = handed_up("statistics")("means", self, (column,), epsilon, site)
        return answer

    @called_as('db.variance("age", epsilon=0.1)', why=PRICE)
    def variance(self, column: str, *, epsilon: Amount, site: str = "variance") -> MeasuredNumber:
        """The variance of a column's numbers, give or take noise."""
        answer: MeasuredNumber = handed_up("statistics")("variances", self, (column,), epsilon, site)
        return answer

    @called_as('db.quantile("age", 0.9, epsilon=0.1)', why=PRICE)
    def quantile(self, column: str, share: Amount, *, epsilon: Amount, site: str = "quantile") -> MeasuredNumber:
        """The number that a share of a column's numbers is no greater than, give or take noise."""
        return self._quantile(column, share, epsilon, site)

    @called_as('db.quantiles("age", [0.25, 0.5, 0.75], epsilon=0.1)', why=PRICE)
    def quantiles(
        self, column: str, shares: Iterable[Amount], *, epsilon: Amount, site: str = "quantiles"
    ) -> MeasuredNumbers:
        """Several quantiles of a column, as `quantile` has each, for one price."""
        answer: MeasuredNumbers = handed_up("statistics")("quantiles", self, (column, shares), epsilon, site)
        return answer

    def _quantile(self, column: str, share: Amount, epsilon: Amount, site: str) -> MeasuredNumber:
        answer: MeasuredNumber = handed_up("statistics")("quantiles", self, (column, (share,)), epsilon, site)[0]
        return answer

    @called_as('db.median("age", epsilon=0.1)', why=PRICE)
    def median(self, column: str, *, epsilon: Amount, site: str = "median") -> MeasuredNumber:
        """The number that half of a column's numbers are no greater than, give or take noise."""
        return self._quantile(column, Fraction(1, 2), epsilon, site)

    @called_as('db.histogram("age", epsilon=0.1)', why=PRICE)
    def histogram(self, *columns: str | Iterable[str], epsilon: Amount, site: str = "histogram") -> MeasuredCells:
        """The number of rows for each combination of the columns' codes, noised, one axis per column."""
        schema, cost = self.schema, epsilon_amount(epsilon)
        given = tuple(column for group in columns for column in names(group))
        kernel = Counts.of(*given)
        labels = tuple(schema[column].labels for column in given)
        sides, most = tuple(map(len, labels)), self._changed(kernel)

        def measured(answer: Refinable) -> MeasuredCells:
            return MeasuredCells.of(
                np.array(answer.cells, dtype=np.int64).reshape(sides),
                given,
                labels,
                noise=most / answer.epsilon,
                cost=answer.epsilon,
                refined=lambda more, name: measured(self.refine(answer, more, site=name or site)),
            )

        return measured(self.measure_refinable(kernel, cost, site=site))

    @called_as('db.crosstab("age", "region", epsilon=0.1)', why=PRICE)
    def crosstab(self, down: str, across: str, *, epsilon: Amount, site: str = "crosstab") -> MeasuredCells:
        """The number of rows for each pair of two columns' values, noised."""
        return self.histogram(down, across, epsilon=epsilon, site=site)

    @called_as('db.top_k("region", 3, epsilon=0.1)', why=PRICE)
    def top_k(self, column: str, k: int, *, epsilon: Amount, site: str = "top_k") -> MeasuredTop:
        """The k commonest values of a column with their counts, noised: of all counts, the largest."""
        size = self.schema[name(column)].size
        given: object = k
        if isinstance(given, bool) or not isinstance(given, Integral) or not 1 <= int(given) <= size:
            raise ProbeError(
                f"the {shown(k)} commonest values of {column!r} are asked for",
                why=f"it has {size} values or bins, and the number of those that are asked for is a whole one from 1",
                fix=f'db.top_k("{column}", {min(3, size)}, epsilon=0.1)',
            )
        cells = self.histogram(column, epsilon=epsilon, site=site)
        counts, noise = cells.value, cells.noise
        order = np.argsort(-counts, kind="stable")[: int(given)].tolist()
        (labels,) = cells.labels
        commonest = MeasuredTop(
            (labels[code], MeasuredCount(CountEvidence(int(counts[code]), noise, cells.cost, among=size)))
            for code in order
        )
        self.note_answer(commonest.said, site=site)
        return commonest

    def measure(self, kernel: DenseKernel, epsilon: Amount, *, site: str = "measure") -> Integers:
        """A tally with exact discrete-Laplace noise on every cell.

        The noise has scale (the most that one row changes, summed over cells) / epsilon.
        """
        answer: Integers = self._ask("perform", AddNoise(kernel), epsilon, site)
        return answer

    def measure_refinable(self, kernel: DenseKernel, epsilon: Amount, *, site: str = "measure") -> Refinable:
        """A tally with noise as `measure` does, which may be had with less noise afterwards: see `refine`."""
        answer: Refinable = self._ask("begin", AddNoise(kernel), epsilon, site)
        return answer

    def refine(self, answer: Refinable, epsilon: Amount, *, site: str = "refine") -> Refinable:
        """The same tally with the noise of a larger epsilon, for the difference; it is no other tally.

        The first answer is worth no more afterwards: it is this one with more noise.
        """
        if not isinstance(answer, Refinable):
            raise ProbeError(
                f"{shown(answer)} is to be refined", why="only what was bought to be refined can be", fix=REFINABLE
            )
        finer: Refinable = self._ask("refine", answer.number, epsilon, site)
        return finer

    def measure_sparse(
        self, kernel: SparseCounts, epsilon: Amount, *, threshold: int, site: str = "measure_sparse"
    ) -> SparseAnswer:
        """The cells whose noisy count passes a threshold, empty cells included, without visiting the others."""
        answer: SparseAnswer = self.perform(AddNoiseAbove(kernel, int(threshold)), epsilon, site=site)
        return answer

    def pick(self, score: Score, epsilon: Amount, *, site: str = "pick") -> int:
        """The index of a candidate with a high score, by permute-and-flip."""
        answer: int = self.perform(Pick(score), epsilon, site=site)
        return answer

    def imitate(self, imitation: Imitation, epsilon: Amount, *, site: str = "imitate") -> Any:
        """The answer of a mechanism that is not private; of private rows, refuse it."""
        return self._ask("imitate", imitation, epsilon, site)

    def select(self, selection: Selection[Probe], epsilon: Amount, *, site: str = "select") -> Any:
        """The best-scored of a random number of candidate runs, of a known kind; the others are seen nowhere."""
        return self._ask("select", selection, epsilon, site)

    def release(self, expression: Expression, epsilon: Amount, *, site: str = "release") -> float:
        """The one number of a private expression, with exact noise for the sensitivity inferred for it."""
        answer = self.release_cells(expression, epsilon, site=site, single=True)
        return float(answer[()])

    def release_cells(
        self, expression: Expression, epsilon: Amount, *, site: str = "release", single: bool = False
    ) -> Floats:
        """All numbers of a private expression, noised: together they cost epsilon."""
        NODES.check(expression)
        if given_flag(single, "single", error=ExpressionError) and (shape := known_of(expression, self.schema).shape):
            raise ExpressionError(
                f"the expression has {' by '.join(map(str, shape))} cells, not one number",
                fix="total(x), largest(x), x[0], or db.release_cells(x, epsilon)",
            )
        if isinstance(expression, Tally) and expression.persons and not expression.columns:
            return self._persons_among(expression, epsilon, site)
        answer: NoisyNumbers = self.perform(AddNoiseTo(expression), epsilon, site=site)
        return answer.values

    def _persons_among(self, expression: Tally, epsilon: Amount, site: str) -> Floats:
        """The number of persons, noised as that of a table is: alone, each counts once, whatever rows are looked at."""
        probe = self
        for column, codes in expression.layer(self.schema).where:
            probe = Probe(probe._ask("narrowed", column, codes))
        kernel = PersonCount(once=not probe.divided)
        return probe.measure(kernel, epsilon, site=site).astype(np.float64).reshape(())

    @called_as('db.commonest("region", 0.1)', why=PRICE)
    def commonest(self, column: str, epsilon: Amount, *, site: str = "commonest") -> str:
        """The value that most rows have in a column, give or take noise."""
        commonest = self.schema[column].labels[self.pick(Fullest((column,)), epsilon, site=site)]
        self.note_answer(commonest, site=site)
        return commonest

    def note_choice(self, choice: Chosen) -> None:
        """Leave a record of a choice in the trace: texts and numbers that the caller has anyway.

        Whoever calls this holds public facts and released values alone, so what is recorded is made of these.
        """
        self._ask("note", choice)

    def note_answer(self, answer: str, *, site: str, whole: bool = True) -> None:
        """Leave in the trace what an answer comes to, in its own units: it is made of what was released for it.

        The answer is paid for: it is given as well where nothing can be noted any more, on a full disk say. It is
        *whole* where it says all that people want to see of what was released at its site, or below.
        """
        with suppress(JostleError):
            self._ask("note", Stated(site, answer, whole))

    # Probes on the same rows, or some of them

    def allot(self, epsilon: Amount, *, site: str = "allotment") -> Probe:
        """A probe on the same rows with a budget of its own, spent here at once."""
        return Probe(self._ask("allot", epsilon, site))

    def earmark(self, epsilon: Amount, *, site: str = "earmarked") -> Probe:
        """A probe as `allot` gives, whose budget is spent here, at once and whole, with its first charge.

        What is refused before that costs nothing.
        """
        return Probe(self._ask("earmark", epsilon, site))

    def open(self) -> None:
        """Spend what was earmarked, where nothing was asked that did."""
        self._ask("open")

    def reserve(self, epsilon: Amount, *, site: str = "reserved") -> Probe:
        """A probe on the same rows that may spend up to a budget: held back here, and charged as it is spent.

        For work that may end before all of it is spent. `settle` the probe when it is done.
        """
        return Probe(self._ask("reserve", epsilon, site))

    def hand(self, epsilon: Amount, *, site: str, option: str, settles: bool, of_rows: bool = True) -> Probe:
        """A probe as `earmark` gives, or `reserve`, for an Option: each epsilon there is for one row.

        It is reserved where it *settles*. Without *of_rows*, an epsilon is for what it is for here. The data's owner is
        shown the *option*, where approval is asked for.
        """
        key = self._ask("hand", epsilon, site, option, settles, of_rows)
        return Probe(key, self._schema, 1 if of_rows else self._unit)

    def settle(self) -> None:
        """End what was reserved: what was not spent is free again, and this probe spends no more."""
        self._ask("settle")

    @called_as('db.bounded(4, "1/2")', why=PRICE)
    def bounded(self, rows: int, epsilon: Amount, *, site: str = "bounded") -> Probe:
        """A probe on the same persons, of each of whom at most so many rows are read, with a budget as `earmark` gives.

        Noise is as much less as there are fewer rows of a person.
        """
        return Probe(self._ask("bounded", rows, epsilon, site))

    def only(self, *columns: str) -> Probe:
        """A probe on the same rows and budget whose schema has these columns and the label, and no others.

        Features have names, such as "text=free", and become columns of 0 and 1.
        """
        return Probe(self._ask("only", tuple(columns)))

    @called_as('db.where("region", "north")')
    def where(self, column: str, *values: str) -> Probe:
        """A probe on the rows that have one of the values in a column, spending from this one's budget."""
        return Probe(self._ask("narrowed", column, self._codes(column, values)))

    @called_as('db.parts("region")')
    def parts(self, column: str) -> tuple[Probe, ...]:
        """A probe for each value of a column, in order.

        They share no row, so together they cost what the dearest of them costs; under replace_one, where a row can
        move from one to another, what the two dearest cost.
        """
        return tuple(Probe(key) for key in self._ask("split", column))

    @called_as("db.portions(5)")
    def portions(self, count: int) -> tuple[Probe, ...]:
        """Probes on so many portions of the rows: each row is in one, by a hash of its values and a key drawn for this.

        Equal rows are in the same portion, and so are all rows of a person where the schema has one. How many rows are
        in one is not known. Portions share no row, so together they cost what the dearest of them costs; under
        replace_one, where a row can move from one to another, what the two dearest cost.
        """
        return tuple(Probe(key) for key in self._ask("portions", count))

    # Chance that has nothing to do with the rows

    def below(self, bound: int, count: int) -> Integers:
        """*count* uniform whole numbers below *bound*."""
        answer: Integers = self._ask("below", bound, count)
        return answer

    def shuffled(self, count: int) -> Integers:
        """0 .. count-1 in random order."""
        answer: Integers = self._ask("shuffled", count)
        return answer

    def _ask(self, question: str, *details: object) -> Any:
        answer, error = self._key.enter(question, *details)
        if error is not None:
            raise error
        return answer

    def _codes(self, column: str, values: Iterable[str]) -> tuple[int, ...]:
        labels = self.schema[column].labels
        codes = []
        for value in values:
            if not isinstance(value, str) or value not in labels:
                raise ProbeError(
                    f"column {column!r} has no value {shown(value)}", fix=f"one of {', '.join(map(repr, labels[:20]))}"
                )
            codes.append(labels.index(value))
        return tuple(codes)

    def __repr__(self) -> str:
        facts = self._key.look_in()
        budget = "" if facts.promise is None else f" of {show_amount(facts.promise)}"
        # What an Option is handed counts rows, of which each person has one there or more.
        most = self.schema.rows_per_person
        whom = about((most,) if most is not None and facts.unit == most else None)
        return f"<Probe: epsilon {show_amount(facts.spent)}{budget} spent {whom} under {self.neighbours}>"

    def __reduce__(self) -> NoReturn:
        raise ProbeError(
            "a probe is not copied or pickled",
            why="a copy would have a budget of its own, and its rows would be in the pickle",
            fix="pass the probe itself, or probe.allot(epsilon)",
        )
