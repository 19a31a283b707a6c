"""Tables of made-up people, opened in various ways, for tests that need no particular one."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    NoneType,
    WrapperDescriptorType,
)
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from attrs import field, frozen
from numpy.typing import NDArray

import jostle
from jostle import Probe, Schema, Table, Trace
from jostle.privacy.chains import Chain, Chains
from jostle.privacy.door import admit
from jostle.privacy.ledger import Ledger
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.room import Room
from jostle.privacy.vault import FileVault, MemoryVault, TableAccount
from jostle.tables.block import Block, Where
from jostle.tables.engines import Folded, MemorySource, Partial
from jostle.tables.kernel_list import KERNELS
from jostle.tables.kernels import DenseKernel, SparseKernel, SparseTally
from jostle.tables.schema import Neighbours
from jostle.tables.sources import ReadSource

REGIONS = ["north", "east", "south", "west"]


def schema(neighbours: Neighbours = "add_remove") -> Schema:
    """Return what is public about the people."""
    return Schema(
        {
            "age": jostle.Numeric(0, 100, bins=10),
            "region": jostle.Categorical(REGIONS),
            "smokes": jostle.Categorical(["no", "yes"]),
        },
        label="smokes",
        neighbours=neighbours,
    )


def people(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return people who do not exist."""
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": chance.integers(0, 100, rows),
            "region": chance.choice(REGIONS, rows),
            "smokes": chance.choice(["no", "yes"], rows),
        }
    )


def table(rows: int = 200, seed: int = 0, neighbours: Neighbours = "add_remove") -> Table:
    """Return the people as a table."""
    return Table.from_frame(people(rows, seed), schema(neighbours))


def protected(
    epsilon: Fraction | int | str | None = 1,
    *,
    rows: int = 200,
    seed: int = 0,
    neighbours: Neighbours = "add_remove",
    vault: Path | None = None,
) -> Probe:
    """Return a probe on private people; nobody outside it holds them."""
    return jostle.protect(table(rows, seed, neighbours), epsilon=epsilon, vault=vault)


def room(
    neighbours: Neighbours = "add_remove", *, private: bool = True, seed: int = 0, trace: Trace | None = None
) -> Room:
    """Return a room on people, with a budget of 1 and seeded noise, as only the door has one."""
    ledger, noise = Ledger(Fraction(1), neighbours), Noise(SeededBits(seed))
    rows = table(neighbours=neighbours)._source
    return Room(rows, (), ledger, noise, trace or Trace(), private=private, probe=lambda room: Probe(admit(room)))


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it came from."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None:
            yield each
            waiting += [each.__cause__, each.__context__]


NUMBERS = count()
SECRET = 271_828_182
"""A number that stands for private rows: wherever it turns up, rows do."""


@frozen(eq=False)
class Trouble:
    """A source of rows that runs into something when it is asked about them."""

    schema: Schema
    trouble: Callable[[str], object]
    """What happens; it is given what a row holds."""
    rows: NDArray[np.int64] = field(factory=lambda: np.full(50, SECRET))
    number: int = field(factory=lambda: next(NUMBERS))
    """Tells this source from all others, so that it has a budget of its own."""

    @property
    def identity(self) -> bytes:
        """Return what the data came as."""
        return str(self.number).encode()

    def ready(self) -> None:
        """It is."""

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """Return zeros, once trouble is over; fingerprints are taken in peace."""
        row = str(self.rows[0])
        if type(kernel) in KERNELS:
            self.trouble(row)
        if isinstance(kernel, SparseKernel):
            return SparseTally(self.rows[:0], self.rows[:0])
        return np.full(kernel.cells(self.schema), 0 if type(kernel) in KERNELS else self.number, dtype=np.int64)

    def fold(self, fold: Folded) -> Folded:
        """Only the owner of rows is told of them."""
        raise AssertionError

    def bounded(self, key: bytes) -> Trouble:
        """All rows: they are of no persons."""
        return self


def troubled(trouble: Callable[[str], object], *, private: bool = True) -> Probe:
    """Return a probe on such a source."""
    rows = Table(Trouble(schema(), trouble))
    return jostle.protect(rows, epsilon=100) if private else jostle.rehearse(rows)


class Found(NamedTuple):
    """Something that should not have been reached, and how it was."""

    way: str
    thing: object


INSIDE = (
    Room,
    Block,
    MemorySource,
    ReadSource,
    Trouble,
    Table,
    Ledger,
    FileVault,
    MemoryVault,
    TableAccount,
    Noise,
    Chain,
    Chains,
)
ROWS = (np.ndarray, pd.DataFrame, pd.Series, pa.Table, pa.ChunkedArray, pa.Array, pa.Buffer)
PLAIN = frozenset({str, bytes, int, float, bool, NoneType, Fraction})
"""What millions of are met, and what leads nowhere."""
DESCRIPTORS = (
    ClassMethodDescriptorType
    | GetSetDescriptorType
    | MemberDescriptorType
    | MethodDescriptorType
    | WrapperDescriptorType
)
OUT_OF_REACH = {"__closure__", "__builtins__", "__subclasses__"}
"""What the door's docstring says it does not guard against, and what leads to every class there is."""


def reached(*starts: object, known: Container[int] = ()) -> Iterator[Found]:
    """Yield what ordinary attribute access leads to from here that only the door should hold.

    Goes through attributes of all names, items, keys, iteration, weak references, frames and their local variables,
    and the errors that any of that raises; into classes, functions and modules of Jostle, but not into other
    packages'. Arrays whose `id` is *known* do not count.
    """
    waiting = [Found(f"start {place}", start) for place, start in enumerate(starts)]
    seen: dict[int, object] = {}
    while waiting:
        way, thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing  # kept, so that no other object comes to have its number
        if isinstance(thing, INSIDE + ROWS):
            if id(thing) not in known:
                yield Found(way, thing)
            continue
        if isinstance(thing, str | bytes | int | float | Fraction | np.generic) or _is_foreign(thing):
            continue
        steps = ((step, each) for step, each in _steps(thing) if type(each) not in PLAIN and id(each) not in seen)
        waiting += [Found(f"{way}{step}", each) for step, each in steps]


def _is_foreign(thing: object) -> bool:
    if isinstance(thing, ModuleType):
        return thing.__name__.partition(".")[0] != "jostle"
    if isinstance(thing, FrameType):  # the tests hold what they look for
        return str(thing.f_globals["__name__"]).startswith(("test_", "openings", "__main__"))
    if isinstance(thing, type):
        return thing.__module__.partition(".")[0] != "jostle"
    if type(thing).__module__ in {"typing", "_sitebuiltins", "numbers", "decimal", "datetime", "pathlib"}:
        return True
    return isinstance(thing, CodeType | GenericAlias | np.dtype | range | DESCRIPTORS)


def _steps(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, MethodType | MethodWrapperType | BuiltinFunctionType):
        yield ".__self__", thing.__self__  # its other attributes are made anew each time, without end
        yield ".__func__", getattr(thing, "__func__", None)
        return
    if isinstance(thing, FrameType):
        yield from ((f" in {thing.f_code.co_name}: {name}", value) for name, value in thing.f_locals.items())
        yield ".f_back", thing.f_back
        return
    if isinstance(thing, FunctionType):
        yield from ((f".{name}", getattr(thing, name)) for name in ("__defaults__", "__kwdefaults__", "__dict__"))
        if str(thing.__module__).partition(".")[0] == "jostle":
            yield ".__globals__", thing.__globals__
        return
    for name in sorted({*dir(thing), *getattr(type(thing), "__slots__", ())} - OUT_OF_REACH):
        try:
            yield f".{name}", getattr(thing, name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is followed in turn
            yield f".{name} raised", error
    if isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in list(thing.items()))
        yield from (("'s key", key) for key in list(thing))
    elif isinstance(thing, Iterable) and not isinstance(thing, type | Iterator):
        yield from ((f"[{place}]", value) for place, value in enumerate(list(thing)))
    if isinstance(thing, weakref.ref):
        yield "()", thing()


def deepest(action: Callable[[], object], spare: int = 300) -> list[BaseException]:
    """Run an action at every depth of the stack that is close to the limit; return the errors it met."""
    met: list[BaseException] = []

    def down() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - whatever it is
            met.append(error)
        with suppress(RecursionError):
            down()

    depth = len(inspect.stack())
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + spare)
    try:
        down()
    finally:
        sys.setrecursionlimit(limit)
    return met
