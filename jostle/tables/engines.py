"""Engines: run a kernel over all blocks of a source and add up. Whole numbers commute, so all give the same."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.progress import tick
from jostle.tables.block import Block, Codes, Where, Whose, code_type
from jostle.tables.features import Bits
from jostle.tables.kernels import DenseKernel, Kernel, SparseKernel, SparseTally
from jostle.tables.persons import PUBLIC_KEY, bounded
from jostle.tables.schema import Schema

Partial = NDArray[np.int64] | SparseTally
"""What a kernel found in some of the rows."""
Part = TypeVar("Part")


class RowSource(ABC):
    """Where a table's rows are, and how kernels are run there."""

    __slots__ = ()
    stays_there: ClassVar[bool] = False
    """Whether rows stay where they are, and are known by what says which they are: they may be others another day."""

    if TYPE_CHECKING:

        @property
        def schema(self) -> Schema:
            """The public facts about the rows."""

        @property
        def identity(self) -> bytes:
            """A hash of the data as they came, before any schema: as private as they are."""

    def ready(self) -> None:  # noqa: B027 - most are
        """Refuse where nobody is there to be asked: before anything is charged."""

    @abstractmethod
    def tally(self, kernel: Kernel, where: Where) -> Partial:
        """The kernel's tally of all rows that meet the conditions."""


class Fold(Protocol):
    """What is held of some rows, whichever they are and in whatever order they come."""

    def of(self, block: Block) -> Self:
        """The fold of a block's rows alone."""

    def merged(self, other: Self) -> Self:
        """The fold of the rows of both."""


Folded = TypeVar("Folded", bound=Fold)


def fold_blocks(blocks: Iterable[Block], fold: Folded) -> Folded:
    """What a fold holds of the blocks."""
    return added_up((fold.of(block) for block in _told(iter(blocks))), type(fold).merged) or fold


class TableSource(RowSource):
    """The rows of a table, as they were read."""

    __slots__ = ()

    @abstractmethod
    def bounded(self, key: bytes) -> RowSource:
        """The rows that are held of each person, where the schema declares one."""

    @abstractmethod
    def fold(self, fold: Folded) -> Folded:
        """What a fold holds of all rows, those beyond the bound as well: for their owner alone, as it has no noise."""


def bound(source: TableSource, key: bytes) -> RowSource:
    """The rows that are held of each person, by the key of an account; all of them where no person is declared."""
    return source if source.schema.person is None else source.bounded(key)


def tally_blocks(blocks: Iterator[Block], schema: Schema, kernel: Kernel, where: Where) -> Partial:
    """The kernel's tally of the blocks, one after the other, as many rows at once as it reads best."""
    cells = kernel.cells(schema)
    parts = _told(blocks, None if kernel.of_persons else kernel.rows_at_once)
    if isinstance(kernel, SparseKernel):
        return merge(kernel.tally(part.where(where), schema) for part in parts)
    totals = np.zeros(cells, dtype=np.int64)
    for part in parts:
        kernel.add(part.where(where), schema, totals)
    return totals


def _told(blocks: Iterator[Block], most: int | None = None) -> Iterator[Block]:
    """Yield the blocks, at most so many rows at once; where that takes long, it is said."""
    for block in blocks:
        for part in (block,) if most is None else block.cut(most):
            tick()
            yield part


def merge(partials: Iterable[Partial]) -> Partial:
    """The sum of partial tallies of one kernel; of none, that of a sparse one without rows."""
    total = added_up(partials, _sum)
    return SparseTally.empty() if total is None else total


def added_up(parts: Iterable[Part], add: Callable[[Part, Part], Part]) -> Part | None:
    """The sum of parts; None where there are none.

    Equally many are added up to equally many, as a carry goes through a binary number: sparse keys are then merged
    log-many times, and no more than log-many tallies are held.
    """
    held: list[tuple[int, Part]] = []
    for part in parts:
        held.append((1, part))
        while len(held) > 1 and held[-1][0] == held[-2][0]:
            (count, last), (_, before) = held.pop(), held.pop()
            held.append((2 * count, add(before, last)))
    total: Part | None = None
    for _, part in reversed(held):
        total = part if total is None else add(part, total)
    return total


def _sum(left: Partial, right: Partial) -> Partial:
    if isinstance(left, SparseTally) and isinstance(right, SparseTally):
        return left.merged(right)
    if isinstance(left, SparseTally) or isinstance(right, SparseTally):
        raise TableError("partial tallies of two kernels do not add up")
    total: NDArray[np.int64] = left + right
    return total


@frozen(eq=False, repr=False)
class MemorySource(TableSource):
    """Rows held as arrays of codes, one per column; perhaps with a multiplicity per row."""

    schema: Schema
    columns: Mapping[str, Codes]
    length: int
    multiplicity: NDArray[np.int64] | None = None
    identity: bytes = b""
    bits: Bits | None = None
    steps: Mapping[str, Codes] = field(factory=dict)
    """Of columns of numbers, each row's step on the column's grain, where it is known."""
    whose: Whose | None = None
    """Whose the rows are, where the schema declares a person."""
    whole: Block = field(init=False)
    """All rows."""

    @whole.default
    def _whole(self) -> Block:
        return Block(self.columns, self.length, self.multiplicity, self.bits, self.steps, self.whose)

    @classmethod
    def of_block(cls, schema: Schema, block: Block, identity: bytes) -> MemorySource:
        """The rows of a block."""
        columns, times = block.columns, block.multiplicity
        return cls(schema, columns, block.length, times, identity, block.bits, block.steps, block.whose)

    @classmethod
    def of_grid(cls, counts: NDArray[np.int64], schema: Schema, identity: bytes) -> MemorySource:
        """The records of a grid, whose axes are the schema's columns in order."""
        occupied = np.nonzero(counts)
        columns = {
            name: codes.astype(code_type(size))
            for name, codes, size in zip(schema.names, occupied, counts.shape, strict=True)
        }
        return cls(schema, columns, len(occupied[0]), counts[occupied], identity)

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        return tally_blocks(iter((self.whole,)), self.schema, kernel, where)

    def fold(self, fold: Folded) -> Folded:
        return fold.of(self.whole)

    def bounded(self, key: bytes) -> MemorySource:
        return self.of_block(self.schema, bounded(self.whole, self.schema, key), self.identity)


MOST_REMEMBERED = 1 << 22
"""Numbers of all tallies that are remembered."""
_shared: ContextVar[bool] = ContextVar("shared", default=False)


@contextmanager
def passes_shared() -> Iterator[None]:
    """Let tallies that are wanted meanwhile be those that others want, or wanted.

    Candidates of a selection run in a context of their own: what they ask is never shared, since whoever asks the same
    afterwards would see by the time that one had asked it.
    """
    token = _shared.set(True)
    try:
        yield
    finally:
        _shared.reset(token)


class OtherSource(RowSource):
    """The rows of another source, seen otherwise: they are the same data."""

    __slots__ = ()
    rows: RowSource

    @property
    def identity(self) -> bytes:
        """The identity of the rows."""
        return self.rows.identity

    def ready(self) -> None:
        self.rows.ready()


@frozen(eq=False, repr=False)
class SharedPasses(OtherSource):
    """The rows of another source, which do not change: equal tallies are made by one pass.

    Which tallies are equal goes by what was asked alone. Those that were asked last are remembered.
    """

    rows: RowSource
    _made: dict[object, Future[Partial]] = field(factory=dict, init=False)
    """What is remembered, or being made; the last that was asked stands last."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    @property
    def schema(self) -> Schema:
        """Theirs."""
        return self.rows.schema

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        key = (type(kernel), kernel, where)
        if not _shared.get() or isinstance(kernel, SparseKernel) or not _has_hash(key):
            return self.rows.tally(kernel, where)
        with self._lock:
            made = self._made.pop(key, None)
            own = made is None
            self._made[key] = made = Future() if made is None else made
        if own:
            self._make(key, made, kernel, where)
        tally = made.result()
        return tally if isinstance(tally, SparseTally) else tally.copy()  # others read it meanwhile

    def _make(self, key: object, made: Future[Partial], kernel: DenseKernel, where: Where) -> None:
        """Make a tally for all who wait for it, and let go of the oldest that there is no room for."""
        try:
            made.set_result(self.rows.tally(kernel, where))
        except BaseException as failure:
            with self._lock:
                self._made.pop(key, None)
            made.set_exception(failure if isinstance(failure, Exception) else TableError("a pass was interrupted"))
            if not isinstance(failure, Exception):
                raise
        with self._lock:
            done = {
                key: future.result() for key, future in self._made.items() if future.done() and not future.exception()
            }
            cells = sum(tally.size for tally in done.values() if not isinstance(tally, SparseTally))
            for other, tally in done.items():
                if cells <= MOST_REMEMBERED:
                    break
                del self._made[other]
                cells -= 0 if isinstance(tally, SparseTally) else tally.size


def _has_hash(key: object) -> bool:
    """Whether something is compared by what is in it; what holds arrays is not."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


@frozen
class RowView:
    """Another look at rows: at some of them, at more columns, or by public facts of its own. It goes to workers.

    By itself it shows the same rows by another schema.
    """

    own: Schema
    """The public facts about what is shown. They stand for those that a kernel was looked at under."""
    of_persons: ClassVar[bool] = False
    """Whether all rows of a person have to be there at once."""

    def block(self, block: Block, schema: Schema) -> Block:
        """What is shown of a block."""
        return block


@frozen
class FewerRows(RowView):
    """At most so many rows of each person, of those that are held, as a schema says."""

    of_persons = True

    def block(self, block: Block, schema: Schema) -> Block:
        return bounded(block, self.own, PUBLIC_KEY)


@frozen(eq=False, repr=False)
class ViewSource(OtherSource):
    """A view of the rows of another source, with public facts of its own."""

    schema: Schema
    rows: RowSource
    view: RowView

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        """The kernel's tally of what is shown and meets the conditions.

        These come last. Were they first, as many rows of a person would be read for each of them.
        """
        kernel.cells(self.schema)
        if self._held is not None:
            return self._held.tally(kernel, where)
        return self.rows.tally(viewed(kernel, self.view, where), ())

    @cached_property
    def _held(self) -> MemorySource | None:
        """What is shown, where rows are in memory and put by person: once, and for the first question that is paid."""
        if not self.view.of_persons or not isinstance(self.rows, MemorySource):
            return None
        shown = self.view.block(self.rows.whole, self.rows.schema)
        return MemorySource.of_block(self.schema, shown, self.rows.identity)


def viewed(kernel: Kernel, view: RowView, where: Where) -> Kernel:
    """A kernel that is shown another view of every block, of which it takes the rows that meet the conditions."""
    return SparseViewed(kernel, view, where) if isinstance(kernel, SparseKernel) else Viewed(kernel, view, where)


@frozen
class _ShownView:
    """A kernel that is shown a view: it goes by the public facts of that."""

    kernel: Any
    view: RowView
    where: Where

    @property
    def of_persons(self) -> bool:
        return bool(self.kernel.of_persons or self.view.of_persons)

    @property
    def rows_at_once(self) -> int:
        return int(self.kernel.rows_at_once)

    def cells(self, schema: Schema) -> int:
        return int(self.kernel.cells(self.view.own))

    def bound(self, schema: Schema) -> int:
        return int(self.kernel.bound(self.view.own))

    def replaced(self, schema: Schema) -> int:
        return int(self.kernel.replaced(self.view.own))

    def shown(self, block: Block, schema: Schema) -> Block:
        """What is shown of a block, and meets the conditions."""
        return self.view.block(block, schema).where(self.where)


@frozen
class Viewed(_ShownView, DenseKernel):
    """A dense kernel that is shown a view."""

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        self.kernel.add(self.shown(block, schema), self.view.own, totals)


@frozen
class SparseViewed(_ShownView, SparseKernel):
    """The same for a kernel of which occupied cells alone are held."""

    def tally(self, block: Block, schema: Schema) -> SparseTally:
        tally: SparseTally = self.kernel.tally(self.shown(block, schema), self.view.own)
        return tally
