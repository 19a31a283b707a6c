"""The message that a choice sends, and the stack of handlers that it goes through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from fractions import Fraction
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.errors import ChoiceError, described
from jostle.given import given_as, given_items
from jostle.privacy.probe import Probe
from jostle.trace.records import Chosen

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _integers(values: ArrayLike) -> Integers:
    given = np.array(values, dtype=np.int64)
    given.setflags(write=False)
    return given


def _floats(values: ArrayLike | None) -> Floats | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


@frozen(eq=False)
class Choice:
    """What is asked: for each of so many sites, which of the alternatives."""

    label: str
    """Stands once in the source, and owns one policy."""
    site: str
    """One visit of the label: one line in the trace."""
    among: tuple[str, ...]
    seen: Mapping[str, Floats]
    """Everything that is public or released and may inform the choice, a number for each site."""
    count: int
    """How many sites choose at once."""

    def everywhere(self, alternative: str) -> Integers:
        """This alternative for all sites."""
        return np.full(self.count, self.index(alternative), dtype=np.int64)

    def index(self, alternative: str) -> int:
        """The place of this alternative among all; refuse one that is none."""
        if alternative not in self.among:
            raise ChoiceError(
                f"choice {self.label} has no alternative {alternative!r}", fix=f"one of {', '.join(self.among)}"
            )
        return self.among.index(alternative)


@frozen(eq=False)
class Decision:
    """What is answered."""

    taken: Integers = field(converter=_integers)
    """For each site the place of its alternative among those listed."""
    why: str = ""
    losses: Floats | None = field(default=None, converter=_floats)
    """Sites by alternatives: what loss was expected, where that was the reason."""
    spreads: Floats | None = field(default=None, converter=_floats)

    def check(self, choice: Choice) -> None:
        """Refuse an answer to something else."""
        shape = (choice.count, len(choice.among))
        if self.taken.shape != (choice.count,) or np.any((self.taken < 0) | (self.taken >= len(choice.among))):
            raise ChoiceError(
                f"choice {choice.label} was answered with something else than {choice.count} alternatives",
                fix="a policy returns the place of an alternative for every site",
            )
        if any(part is not None and part.shape != shape for part in (self.losses, self.spreads)):
            raise ChoiceError(f"choice {choice.label} was answered with losses that are not sites by alternatives")

    def record(self, choice: Choice) -> Chosen:
        """The record of this in a trace."""
        counts = np.bincount(self.taken, minlength=len(choice.among)).tolist()
        predicted: list[tuple[str, float, float]] = []
        if self.losses is not None and choice.count:
            losses, spreads = self.losses.mean(axis=0), np.zeros(len(choice.among))
            if self.spreads is not None:
                spreads = self.spreads.mean(axis=0)
            predicted = [*zip(choice.among, losses.tolist(), spreads.tolist(), strict=True)]
        return Chosen(
            choice.site,
            choice.label,
            tuple((name, float(seen.min()), float(seen.max())) for name, seen in choice.seen.items() if seen.size),
            tuple(predicted),
            tuple((name, count) for name, count in zip(choice.among, counts, strict=True) if count),
            self.why,
        )


class Policy(Protocol):
    """Answers the choices of one label."""

    def decide(self, choice: Choice) -> Decision:
        """The decision for every site."""


@frozen(eq=False)
class Taken:
    """One line of a recording: what was seen at a site (or at many at once), and what was taken."""

    label: str
    site: str
    among: tuple[str, ...]
    seen: Mapping[str, Floats]
    taken: Integers

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The alternatives taken, site by site, in words."""
        return tuple(self.among[place] for place in self.taken.tolist())


def numbers(label: str, informed_by: Mapping[str, Any], count: int | None) -> tuple[dict[str, Floats], int]:
    """The numbers seen, an array per name with one for each site, and how many sites there are.

    Without *count*, the arrays say how many; single numbers stand for all sites.
    """
    read = {name: _read(label, name, value) for name, value in informed_by.items()}
    lengths = {len(values) for values in read.values() if values.ndim}
    if len(lengths) > 1 or (count is not None and lengths - {count}):
        raise ChoiceError(f"choice {label} is informed by arrays of different lengths", fix="one number per site")
    sites = next(iter(lengths), count)
    if sites is None:
        raise ChoiceError(f"choice {label} does not say how many sites choose", fix="informed_by={'n': an array}")
    return {name: np.broadcast_to(values, (sites,)) for name, values in read.items()}, sites


def _read(label: str, name: str, value: Any) -> Floats:
    try:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            array = value.astype(np.float64)
        elif isinstance(value, list | tuple):
            array = np.array([_number(each) for each in value], dtype=np.float64)
        else:
            array = np.array(_number(value), dtype=np.float64)
    except TypeError:
        array = np.full(1, np.nan)
        kind: str | None = type(value).__name__
    else:
        kind = None
    if array.ndim > 1 or not np.isfinite(array).all():
        raise ChoiceError(
            f"choice {label} is informed by {name!r}, which is {kind or 'not finite'}, not a number",
            why="what a choice sees shows in the output, so it is public, or was released by a mechanism",
            fix="a public number, or one bought before: n = db.count(epsilon / 2)",
        )
    array.setflags(write=False)
    return array


def _number(value: Any) -> float:
    if isinstance(value, int | float | Fraction | np.number):
        return float(value)
    raise TypeError


Learned = Callable[[], Mapping[str, Policy]]
"""What an Option learned for its labels, read when a choice first asks for it."""
UNTRAINED = "the first alternative listed: nothing was learned for this choice"


@frozen(eq=False)
class _Run:
    """One run of an Option, or of whatever the outermost handler is around: it numbers the visits of every label."""

    probe: Probe | None
    """Whose trace records the choices."""
    learned: tuple[Learned, ...] = ()
    """What answers where nobody else does: of this Option, then of those that called it."""
    visits: Counter[str] = field(factory=Counter)
    among: dict[str, tuple[str, ...]] = field(factory=dict)


_stack: ContextVar[tuple[Handler, ...]] = ContextVar("jostle_handlers", default=())
_run: ContextVar[_Run | None] = ContextVar("jostle_run", default=None)


class Handler:
    """Stands around a program and meets its choices, the innermost handler first: `with handler: program()`.

    A kind of handler overrides `decide`, to answer, or `look`, to see what was taken, or both; and `leave`, to say at
    the end what did not come out as it should.

    The stack belongs to a context, as Python's `contextvars` have it: what runs in another thread or process has a
    stack of its own, which is empty.
    """

    def __init__(self) -> None:
        self._tokens: list[tuple[Token[tuple[Handler, ...]], Token[_Run | None] | None]] = []

    def decide(self, choice: Choice) -> Decision | None:
        """A decision, or None to leave it to the handlers further out."""
        return None

    def look(self, choice: Choice, decision: Decision) -> None:
        """See what was decided, whoever decided it."""

    def leave(self) -> None:
        """Check at the end of a program that ran to its end."""

    def __enter__(self) -> Self:
        # Without an Option around, what the outermost handler is around is the run.
        run = _run.set(_Run(None)) if _run.get() is None else None
        self._tokens.append((_stack.set((*_stack.get(), self)), run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack, run = self._tokens.pop()
        _stack.reset(stack)
        if run is not None:
            _run.reset(run)
        if kind is None:
            self.leave()


@contextmanager
def choices_noted(probe: Probe, learned: Learned | None = None) -> Iterator[None]:
    """Let choices be numbered from 1 and recorded in this probe's trace; every Option's run does so.

    *learned* gives the policies that the Option has learned, which answer where neither a handler nor the program does.
    """
    around = _run.get()
    outer = () if around is None else around.learned
    token = _run.set(_Run(probe, outer if learned is None else (learned, *outer)))
    try:
        yield
    finally:
        _run.reset(token)


def is_running() -> bool:
    """Whether an Option or a program runs here, and not a person asks."""
    run = _run.get()
    return run is not None and run.probe is not None


def choose(
    label: str,
    *,
    among: Iterable[str],
    informed_by: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
) -> str:
    """Alternative that is taken.

    *informed_by* are public or released numbers. Without a handler that answers, *policy* does; without one, what
    `jostle train` learned for the Option that runs; and without that, the first alternative listed is taken.

    Raises:
        ChoiceError: the alternatives are no different names, or other ones than before; or a handler answers with
            none.

    >>> choose("Size", among=("small", "large"), informed_by={"n": 3})
    'small'
    >>> from jostle.sites import force
    >>> with force({"Size": "large"}):
    ...     choose("Size", among=("small", "large"), informed_by={"n": 3})
    'large'
    """
    fix = 'choose("L1", among=("stop", "branch"))'
    alternatives = given_items(among, "a list of names", fix=fix, error=ChoiceError)
    if informed_by is None:
        informed_by = {}
    given_as(informed_by, Mapping, "a mapping from names to numbers", fix='informed_by={"n": 3}', error=ChoiceError)
    if policy is not None and not callable(getattr(policy, "decide", None)):
        raise ChoiceError(f"{described(policy)} is no policy", fix="leave it out, or give what `jostle train` learned")
    taken: str = alternatives[int(_asked(label, alternatives, informed_by, 1, policy)[0])]
    return taken


def choose_each(
    label: str,
    *,
    among: Iterable[str],
    informed_by: Mapping[str, Any],
    count: int | None = None,
    policy: Policy | None = None,
) -> NDArray[np.int64]:
    """For each of many sites the place of the alternative taken: as `choose` at each of them, in one message.

    *informed_by* holds an array per name, or a number that is the same for all sites; *count* says how many sites there
    are, where no array does.

    >>> choose_each("Size", among=("small", "large"), informed_by={"n": [3, 40]}).tolist()
    [0, 0]
    """
    return _asked(label, tuple(among), informed_by, count, policy)


def _asked(
    label: str, among: tuple[str, ...], informed_by: Mapping[str, Any], count: int | None, policy: Policy | None
) -> NDArray[np.int64]:
    if not among or len(set(among)) < len(among) or not all(type(each) is str for each in among):
        raise ChoiceError(f"choice {label} is not among different names", fix='among=("stop", "branch")')
    seen, sites = numbers(label, informed_by, count)
    run = _run.get()
    visit = 1
    if run is not None:
        if run.among.setdefault(label, among) != among:
            raise ChoiceError(
                f"the label {label} stands for two different choices",
                why=f"it was among {', '.join(run.among[label])}, and is now among {', '.join(among)}",
                fix="a label of its own for each",
            )
        run.visits[label] += 1
        visit = run.visits[label]
    choice = Choice(label, f"{label}#{visit}", among, seen, sites)
    stack = _stack.get()
    decision = _decided(choice, stack, policy, () if run is None else run.learned)
    decision.check(choice)
    for handler in reversed(stack):
        handler.look(choice, decision)
    if run is not None and run.probe is not None and sites:
        run.probe.note_choice(decision.record(choice))
    return decision.taken


def _decided(
    choice: Choice, stack: tuple[Handler, ...], policy: Policy | None, learned: tuple[Learned, ...]
) -> Decision:
    for handler in reversed(stack):
        decision = handler.decide(choice)
        if decision is not None:
            return decision
    for policies in learned if policy is None else ():
        policy = policies().get(choice.label)
        if policy is not None:
            break
    if policy is not None:
        return policy.decide(choice)
    return Decision(np.zeros(choice.count, dtype=np.int64), UNTRAINED)
