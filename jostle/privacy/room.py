"""Rooms: rows, and everything needed to answer about them. Only the door holds one."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from attrs import Factory, evolve, field, frozen

from jostle.errors import BudgetError, JostleError, ProbeError, VaultError, shown
from jostle.privacy.amounts import INSIDE_BITS, epsilon_amount, recorded
from jostle.privacy.chains import Answered, Chain, Chains, Refinable
from jostle.privacy.descent import Descent
from jostle.privacy.events import Allotment, Reserved, price
from jostle.privacy.evidence import PARTITIONS, Look, Measurement, known_rows, look_at
from jostle.privacy.fields import TYPES
from jostle.privacy.imitations import IMITATIONS, Imitation
from jostle.privacy.ledger import Charge, Ledger
from jostle.privacy.mechanisms import (
    AddNoise,
    AddNoiseAbove,
    AddNoiseByLevel,
    AddNoiseTo,
    AddNoiseToSpread,
    Mechanism,
    NoisyNumbers,
    check_scale,
    check_tally,
)
from jostle.privacy.noise import Noise
from jostle.privacy.picks import FindAbove, FindNthLargest, Pick, PickEach, PickLargest, PickPartition, PickSeveral
from jostle.privacy.selection import SELECTIONS, Scored, Selection, best_of, seen_of
from jostle.tables.block import Where
from jostle.tables.closed import Closed, Places
from jostle.tables.engines import FewerRows, Partial, RowSource, RowView, ViewSource
from jostle.tables.fields import Integers, name, names, text, truth, whole, wholes
from jostle.tables.hashes import Portion
from jostle.tables.kernels import Counts, Kernel
from jostle.tables.persons import OfPersons
from jostle.tables.pools import GridCounts, KeptCounts
from jostle.tables.regions import Regions
from jostle.tables.schema import Schema
from jostle.trace.records import RECORD_TYPES, Charged, Chosen, Record, Refused, Released, Stated, Trace, shortened
from jostle.visible import visible

MOST_PORTIONS = 1000
KEYS = 2**62
MOST_NAME = 200
MOST_KNOWN = 4096
"""Measurements of an allotment that are looked at to tell what is known: the last ones."""

Result = TypeVar("Result")
Asked = Closed | Places | Callable[[Any], object]
"""What a question is asked with: a member of a list, or what a converter of plain values reads."""

MECHANISMS = Closed(
    "mechanism",
    (
        AddNoise,
        AddNoiseAbove,
        AddNoiseByLevel,
        AddNoiseTo,
        AddNoiseToSpread,
        Descent,
        FindAbove,
        FindNthLargest,
        Pick,
        PickEach,
        PickLargest,
        PickPartition,
        PickSeveral,
    ),
    why="a mechanism sees un-noised tallies, so only those proved beforehand may be used",
    error=ProbeError,
    types=TYPES,
)
"""All mechanisms: the ways in which anything computed from rows may leave."""
NOTES = Closed(
    "record of a choice or a statement",
    (Chosen, Stated),
    why="a trace holds nothing else of whoever asks",
    error=ProbeError,
    types=RECORD_TYPES,
)


def purpose(value: str) -> str:
    """Read the name of the Option that a budget is said to be for: nothing hangs on it but what people are shown."""
    given: object = value
    if not isinstance(given, str):
        raise ProbeError(f"{shown(given)} is no name of an Option", fix='option="DAWA"')
    return str.__str__(given)[:MOST_NAME]


QUESTIONS: Mapping[str, tuple[Asked, ...]] = MappingProxyType(
    {
        "perform": (MECHANISMS, epsilon_amount, text),
        "begin": (MECHANISMS, epsilon_amount, text),
        "refine": (whole, epsilon_amount, text),
        "select": (SELECTIONS, epsilon_amount, text),
        "allot": (epsilon_amount, text),
        "earmark": (epsilon_amount, text),
        "open": (),
        "reserve": (epsilon_amount, text),
        "settle": (),
        "hand": (epsilon_amount, text, purpose, truth, truth),
        "bounded": (whole, epsilon_amount, text),
        "narrowed": (name, wholes),
        "split": (name,),
        "portions": (whole,),
        "known": (PARTITIONS, truth),
        "only": (names,),
        "imitate": (IMITATIONS, epsilon_amount, text),
        "below": (whole, whole),
        "shuffled": (whole,),
        "charges": (),
        "note": (NOTES,),
    }
)
"""The methods of a room that a key gives use of, with what each is asked with: members of lists, or plain values."""


@frozen(eq=False, repr=False)
class Room:
    """Rows and everything needed to answer about them."""

    source: RowSource
    where: Where
    ledger: Ledger
    noise: Noise
    trace: Trace
    private: bool
    probe: Callable[[Room], Any]
    """Gives a probe on a room: what is run in here asks as everybody does."""
    path: str = ""
    declared: int | None = field(default=Factory(lambda room: room.schema.rows, takes_self=True))
    """Number of rows, where it is declared; of a part, it is not."""
    before: tuple[Measurement, ...] = ()
    """What was released of the same rows before this allotment: in those that it is part of."""
    released: list[Measurement] = field(factory=list)
    """What was released in this allotment."""
    process: int = field(factory=os.getpid)
    """Who may ask: in a forked copy of the process, the ledger would be a second one."""
    failures: list[bool] = field(factory=list)
    """Not empty once a question went wrong among the rows; one list for all rooms made from one."""
    chains: Chains = field(factory=Chains)
    """What was released and may be released again with less noise."""
    unit: int = field(default=Factory(lambda room: room.persons_rows, takes_self=True))
    """How many rows of a person an amount of whoever asks is for. In here, and in the ledger, it is for one row."""
    divided: bool = False
    """Whether it is a part, or in one: a person may be in several of them."""
    kept: KeptCounts = field(factory=KeptCounts, init=False)
    """What was counted of these rows in here; a room that is made from this one begins anew."""

    @property
    def schema(self) -> Schema:
        """The public facts of the whole table."""
        return self.source.schema

    @property
    def public(self) -> Schema:
        """The public facts of these rows: of a part, the number of rows is none."""
        schema = self.source.schema
        return schema if schema.rows == self.declared else evolve(schema, rows=self.declared)

    @property
    def persons_rows(self) -> int:
        """The most rows of a person; 1 where a row is what is protected. A trace and the account count so many."""
        return self.source.schema.rows_per_person or 1

    @property
    def rows(self) -> int | None:
        """Number of rows, if those who ask know it: it is declared, or was released before, of those with a label."""
        if self.declared is not None or not self.before:
            return self.declared
        return known_rows(self.before, self.source.schema.label)

    def check_open(self) -> None:
        """Refuse every question from now on, where one more could give away something for nothing."""
        if self.private and self.process != os.getpid():
            raise ProbeError(
                "this probe was opened in another process",
                why="a copy of its budget, made by a fork, could be spent a second time",
                fix="open the table in each process, with one vault file",
            )
        if self.private and self.failures:
            raise ProbeError(
                "a question went wrong among the rows, and no more are answered",
                why="what goes wrong may depend on the rows, and would be an answer without noise",
                fix="find the reason with jostle.rehearse, on public data, and open the table again",
            )
        if self.trace.failure is not None:
            self.trace.check()

    def site(self, name: str) -> str:
        """A name with the path of allotments and parts before it, as it may stand on a screen and in a vault."""
        shown = name if name.isprintable() else visible(name)
        return f"{self.path}/{shown}" if self.path else shown

    def perform(self, mechanism: Mechanism, epsilon: Fraction, site: str) -> Any:
        """A mechanism's answer: check, charge, tally, release, note, in this order."""
        return self._answer(mechanism, epsilon, site).answer

    def begin(self, mechanism: Mechanism, epsilon: Fraction, site: str) -> Refinable:
        """A noisy tally, as `perform` does, and keep what is needed to release it again with less noise."""
        if type(mechanism) is not AddNoise:
            raise ProbeError(
                f"{type(mechanism).__name__} is not refined",
                why="only noise that is added to every cell of a tally can be taken off in steps",
                fix="AddNoise(kernel)",
            )
        first = self._answer(mechanism, epsilon, site)
        chain = Chain(
            mechanism, self.schema, first.tally.copy(), first.answer, (epsilon,), first.line, first.told, self.released
        )
        return chain.refinable(self.chains.add(chain))

    def refine(self, number: int, epsilon: Fraction, site: str) -> Refinable:
        """A noisy tally with less noise: check, charge the difference, draw, note, in this order."""
        chain = self.chains.take(number)
        try:
            event, site = chain.event(epsilon, self.unit), self.site(site)
            for noise_scale in chain.scales(epsilon):
                check_scale(noise_scale)
            more = recorded(epsilon - chain.levels[-1], INSIDE_BITS)
            line = self._spend(partial(self.ledger.extend, chain.line, event, site), site, type(event).__name__, more)
        except JostleError as refusal:
            self.chains.put_back(number, chain)
            if isinstance(refusal, BudgetError):
                raise chain.too_little(refusal, epsilon, self.unit) from None
            raise
        finer = self._among_rows("refine", lambda: chain.next(epsilon, line, self.noise.of_a_release()))
        answer, released = finer.refinable(self.chains.add(finer)), finer.released
        scale, _ = chain.scales(epsilon)
        self.trace.add(Released(site, AddNoise.__name__, scale, released.size, shortened(released)), released)
        # What was known by the first release is known better: both together would count its noise twice.
        chain.known[:] = [*(measurement for measurement in chain.known if measurement not in chain.told), *finer.told]
        return answer

    def _answer(self, mechanism: Mechanism, epsilon: Fraction, site: str) -> Answered:
        """A mechanism's answer, the tally that it was made from, and the line in the ledger."""
        schema = self.source.schema
        kernel = mechanism.kernel(schema)
        if isinstance(kernel, OfPersons) and kernel.once and self.divided:
            raise ProbeError(
                "persons are counted once in a part of the table",
                why="a person may be in several parts, which are charged as if nobody were",
                fix=f"{type(kernel).__name__}(once=False), as db.persons(epsilon) asks there",
            )
        kernel.cells(schema)
        mechanism.check(schema, epsilon)
        scale, event = mechanism.scale(schema, epsilon), mechanism.event(epsilon)
        for noise_scale in mechanism.scales(schema, epsilon) if scale is None else (scale,):
            check_scale(noise_scale)
        site = self.site(site)
        self.source.ready()
        line = self._spend(partial(self.ledger.enter, event, site), site, type(event).__name__, epsilon)
        answer, released, tally = self._among_rows("perform", partial(self._release, mechanism, epsilon))
        unit = answer.unit if isinstance(answer, NoisyNumbers) else None
        numbers = shortened(released)
        self.trace.add(Released(site, type(mechanism).__name__, scale, released.size, numbers, unit), released)
        told = mechanism.measured(answer, schema, epsilon)
        self.released.extend(told)
        del self.released[:-MOST_KNOWN]  # of a session that a server holds for months, say
        return Answered(answer, tally, told, line)

    def select(self, selection: Selection[Any], epsilon: Fraction, site: str) -> Any:
        """The best-scored of a random number of candidate runs: check, charge once, run, release, note it."""
        of_a_run = selection.stopping.each(epsilon)
        selection.check(self.public, of_a_run)
        event, site = selection.event(of_a_run), self.site(site)
        cost = price(event, self.ledger.neighbours)
        self.source.ready()
        self._spend(partial(self.ledger.enter, event, site), site, type(event).__name__, cost)
        failed = False
        # Candidates are alike: all know what was released before the first of them, and nothing of each other.
        before = (*self.before, *self.released)
        try:
            run = partial(self._run, selection, of_a_run, site, before)
            best, seen = best_of(selection.stopping, self.noise, run)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.failures.append(True)
            if not self.private:
                raise
            # No word of what went wrong: it may be in a candidate that nobody is to know of.
            failed = True
        if failed:
            raise ProbeError(
                "a candidate failed inside a selection",
                why="what went wrong is kept back, since it could say something of a candidate that lost",
                fix="try the same on public data of the same schema, with jostle.rehearse: there, errors are shown",
            )
        for record in seen:
            self.trace.add(record)
        return best.answer, best.score

    def _run(
        self, selection: Selection[Any], of_a_run: Fraction, site: str, before: tuple[Measurement, ...]
    ) -> tuple[Scored, tuple[Record, ...]]:
        """Run one candidate in a room of its own, and close that for good; return what it gave, and what is to be seen.

        It may spend what was charged for it, to the last digit.
        """
        neighbours, trace = self.ledger.neighbours, Trace()
        ledger = Ledger(price(selection.candidate(of_a_run), neighbours), neighbours, most_bits=INSIDE_BITS)
        inner = evolve(self, ledger=ledger, trace=trace, path=site, failures=[], before=before, released=[])
        inner = evolve(inner, unit=1, chains=Chains())  # their numbers would tell how many candidates there were
        candidate = int(inner.noise.below(selection.size, 1)[0])
        db = self.probe(inner)
        try:
            # An empty context: no handler of choices stands around a candidate.
            scored = contextvars.Context().run(_candidate, lambda: selection.run(db, candidate, of_a_run))
        finally:
            inner.failures.append(True)
        return scored, seen_of(trace.records)

    def _tally(self, kernel: Kernel) -> Partial:
        """A tally of the rows, of a kernel's cells."""
        of_rows = partial(self.source.tally, where=self.where)
        tally = self.kept.tally(kernel, of_rows) if isinstance(kernel, GridCounts) else of_rows(kernel)
        check_tally(tally, kernel, kernel.cells(self.source.schema))
        return tally

    def _release(self, mechanism: Mechanism, epsilon: Fraction) -> tuple[Any, Integers, Any]:
        """A mechanism's answer, the numbers in it, and what it was made from."""
        schema = self.source.schema
        tally = mechanism.collect(self._tally, schema)
        answer = mechanism.release(tally, schema, epsilon, self.noise.of_a_release())
        return answer, mechanism.shown(answer), tally

    def _among_rows(self, question: str, work: Callable[[], Result]) -> Result:
        """The result of work on rows; if anything goes wrong there, close a private room, and say no more of it."""
        try:
            result = work()
        except KeyboardInterrupt:  # whoever asks, interrupts
            raise
        except BaseException:
            self.failures.append(True)
            if not self.private:
                raise
        else:
            return result
        # Even Jostle's own words: what public facts refuse was refused before the charge, so these may be about rows.
        raise kept_back(question)

    def allot(self, epsilon: Fraction, site: str) -> Room:
        """A room on the same rows with a budget of its own, spent here at once."""
        site = self.site(site)
        ledger = self._spend(partial(self.ledger.allot, epsilon, site), site, "Allotment", epsilon)
        return evolve(self, ledger=ledger, path=site, before=(*self.before, *self.released), released=[])

    def earmark(self, epsilon: Fraction, site: str, unit: int | None = None) -> Room:
        """A room as `allot` gives, whose budget is spent here, at once and whole, with the first charge inside."""
        site = self.site(site)

        charge = partial(self.ledger.enter, Allotment(epsilon), site)
        opening = partial(self._spend, charge, site, Allotment.__name__, epsilon)
        ledger = self._or_note(partial(self.ledger.earmark, epsilon, site, opening, unit=unit), site)
        return evolve(self, ledger=ledger, path=site, before=(*self.before, *self.released), released=[])

    def bounded(self, rows: int, epsilon: Fraction, site: str) -> Room:
        """A room on the same persons, of each of whom fewer rows are read, with a budget as `earmark` sets it aside.

        Which are read of a person is a function of those that are held. So an amount that is of a row here and there is
        one of at most so many rows of a person there. Nothing that was released of more rows is known of them. In a
        part there is none: rows of one person may be in several parts, as many in each.
        """
        most = self.persons_rows
        if self.schema.person is None or self.unit != most:
            raise ProbeError(
                "fewer rows of a person are asked for where nobody counts persons",
                fix="a table whose schema has person=..., and a probe that no Option was handed",
            )
        if self.divided:
            raise ProbeError(
                "fewer rows of a person are asked for in a part of the table",
                why="a person may be in several parts, which are charged as if nobody were",
                fix="db.bounded(...) of the whole table, and parts of that",
            )
        if not 1 <= rows <= most:
            raise ProbeError(f"{rows:,} rows of a person are asked for, of {most:,} that are held", fix="db.bounded(1)")
        room = self.earmark(epsilon, site, rows)
        schema = evolve(self.schema, rows_per_person=rows)
        source = ViewSource(schema, self.source, FewerRows(schema))
        return evolve(room, source=source, unit=rows, before=(), chains=Chains())

    def open(self) -> None:
        """Spend what was earmarked, if nothing was asked that did."""
        self.ledger.open()

    def reserve(self, epsilon: Fraction, site: str) -> Room:
        """A room on the same rows that may spend up to a budget, which is held back here until it settles."""
        site = self.site(site)
        ledger = self._or_note(partial(self.ledger.reserve, epsilon, site), site)
        return evolve(self, ledger=ledger, path=site, before=(*self.before, *self.released), released=[])

    def hand(self, epsilon: Fraction, site: str, _: str, settles: bool, of_rows: bool) -> Room:  # noqa: FBT001 - as it is asked
        """A room as `earmark` or `reserve` gives, for an Option; *of_rows*, it counts what is said of a row."""
        room = self.reserve(epsilon, site) if settles else self.earmark(epsilon, site)
        if of_rows:
            room.ledger.unit = 1
        return evolve(room, unit=1) if of_rows else room

    def settle(self) -> None:
        """End a reservation, and note what was spent of it in all."""
        above, spent = self.ledger.settle(), self.ledger.spent
        if spent:
            self.trace.add(self._charged(self.path, Reserved.__name__, spent, above))

    def only(self, columns: tuple[str, ...]) -> Room:
        """A room on the same rows of which these columns, and features by name, are known, and the label."""
        label = self.schema.label
        wanted = tuple(dict.fromkeys((*columns, *(() if label is None else (label,)))))
        schema = evolve(self.schema, columns=tuple((name, self.schema[name]) for name in wanted), features=None)
        return evolve(self, source=ViewSource(schema, self.source, RowView(schema)))

    def imitate(self, imitation: Imitation, epsilon: Fraction, site: str) -> Any:
        """The answer of a mechanism that keeps no promise: of public rows only, and before anything else."""
        if self.private:
            raise imitation.refusal()
        return self._answer(imitation, epsilon, site).answer

    def known(self, kernel: Counts | Regions, so_far: bool) -> tuple[Look | None, ...]:  # noqa: FBT001 - as it is asked
        """What was released before this allotment, or in it as well, of a kernel's groups or levels."""
        schema = self.source.schema
        kernel.cells(schema)
        return look_at((*self.before, *self.released) if so_far else self.before, kernel, schema)

    def _spend(self, charge: Callable[[], Result], site: str, kind: str, epsilon: Fraction) -> Result:
        """Charge the ledger and all above it, and note it."""
        result = self._or_note(charge, site)
        self.trace.add(self._charged(site, kind, epsilon, self.ledger))
        return result

    def _charged(self, site: str, kind: str, epsilon: Fraction, ledger: Ledger) -> Charged:
        """The record of a charge, as people read it: what is said of persons, where these are protected."""
        rows, left = self.source.schema.rows_per_person or 1, ledger.left
        return Charged(site, kind, epsilon * rows, ledger.spent * rows, None if left is None else left * rows)

    def _or_note(self, charge: Callable[[], Result], site: str) -> Result:
        """Charge something, or note that it was refused."""
        try:
            return charge()
        except (BudgetError, VaultError) as refusal:
            self.trace.add(Refused(site, refusal.title))
            raise

    def note(self, record: Chosen | Stated) -> None:
        """Leave a record of whoever asks in the trace. Nothing in here is looked at for it."""
        site = self.site(record.site)
        self.trace.add(record if site == record.site else evolve(record, site=site))

    def narrowed(self, column: str, codes: tuple[int, ...]) -> Room:
        """A room with only the rows that have one of the codes."""
        size = self.schema[column].size
        if not all(0 <= code < size for code in codes):
            raise ProbeError(f"column {column!r} has the codes 0 to {size - 1}, and others were asked for")
        return evolve(self._of_part(), where=(*self.where, (column, codes)))

    def _of_part(self) -> Room:
        """A room of which a condition makes one with some of the rows."""
        # How many rows a part has, is private, whatever is known of the whole: that is of other rows.
        return evolve(self, declared=None, before=(), released=[])

    def split(self, column: str) -> tuple[Room, ...]:
        """A room for each code of a column; they share no row."""
        labels = self.schema[column].labels
        part, ledgers = evolve(self._of_part(), divided=True), self.ledger.split(len(labels))
        return tuple(
            evolve(
                part,
                where=(*self.where, (column, (code,))),
                ledger=ledger,
                path=self.site(f"{column}={label}"),
                released=[],
            )
            for code, (ledger, label) in enumerate(zip(ledgers, labels, strict=True))
        )

    def portions(self, count: int) -> tuple[Room, ...]:
        """Rooms on so many portions of the rows; they share no row.

        A row's portion is a hash of that row and a key, so it is in one whatever other rows there are: the ledger
        counts portions as it counts parts by a column. Where the schema has persons, it is a hash of whose row it is:
        a person is in one.
        """
        if not 1 <= count <= MOST_PORTIONS:
            raise ProbeError(f"{count:,} portions are asked for, not 1 to {MOST_PORTIONS:,}", fix="db.portions(5)")
        key, part = int(self.noise.below(KEYS, 1)[0]), self._of_part()
        return tuple(
            evolve(
                part,
                source=ViewSource(self.schema, self.source, Portion(self.schema, key, index, count)),
                ledger=ledger,
                path=self.site(f"portion {index + 1} of {count}"),
                released=[],
            )
            for index, ledger in enumerate(self.ledger.split(count))
        )

    def charges(self) -> tuple[Charge, ...]:
        """All charges made here, as whoever asks counts."""
        return tuple(charge.times(self.unit) for charge in self.ledger.charges)

    def below(self, bound: int, count: int) -> Integers:
        """Uniform whole numbers that have nothing to do with the rows."""
        return self.noise.below(bound, _checked_count(count))

    def shuffled(self, count: int) -> Integers:
        """0 .. count-1 in an order that has nothing to do with the rows."""
        return self.noise.distinct(count, _checked_count(count))


def kept_back(question: str) -> ProbeError:
    """The error for whatever went wrong where rows are: the same, whatever it was."""
    return ProbeError(
        f"{question} failed inside the probe",
        why="what went wrong is kept back, since it could quote private rows",
        fix="see that the file or cluster the rows are in is still there, and was not written to since it was opened, "
        "and that there is memory for the question; "
        "or try the same on public data of the same schema, with jostle.rehearse: there, errors are shown",
    )


def _candidate(run: Callable[[], Scored]) -> Scored:
    # What numpy is to do about odd numbers is part of the context.
    with np.errstate(all="ignore"):
        return run()


def _checked_count(count: int) -> int:
    if count < 0:
        raise ProbeError(f"count is {count}, but must be at least 0")
    return count
