"""The stack of handlers, and the two operations that send messages through it: `choose` and `choose_each`.

The stack belongs to a context, as Python's `contextvars` have it: what runs in another thread or process has a stack
of its own, which is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError, described
from jostle.given import given_as, given_items
from jostle.privacy.probe import Probe
from jostle.sites.messages import Choice, Decision, Policy, numbers

__all__ = ["Handler", "Learned", "choices_noted", "choose", "choose_each"]

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
    """

    def __init__(self) -> None:
        self._tokens: list[tuple[Token[tuple[Handler, ...]], Token[_Run | None] | None]] = []

    def decide(self, choice: Choice) -> Decision | None:  # noqa: ARG002 - most kinds look at it
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

    Args:
        label: the name of the choice, the same wherever the same is chosen.
        among: the alternatives.
        informed_by: public or released numbers, by name.
        policy: what decides where no handler does.

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
