"""The one door to private data: charge, tally, release; and let nothing else through.

A probe holds a key, and a key holds three functions that answer: what they answer from, a room with the rows, is known
to their closures alone. (Not a table of rooms with weak keys: a weak reference can be asked for its callback, and that
for the table.) What a caller hands in is rebuilt from plain values first (see `plain`), so that nothing of a caller's
making runs where rows are; and each part is of the type that the question declares (`QUESTIONS`). Answers are what a
mechanism from a closed list releases; public facts go out as copies, so that nobody outside holds a part of a schema or
a budget. What goes wrong inside comes out as a new error made from public facts: the one that was raised carries a
traceback, and a traceback carries every local variable of the frames it passed. Whether something goes wrong among the
rows may depend on them; so once it does, a private room and all that was made from it answer nothing any more.

This guards against accidents and against what Python code ordinarily reaches: attributes, copies, pickles, reprs,
arguments that run code, exceptions, a second copy of the process made by a fork. It does not guard against code in the
same process that

- takes the interpreter apart: `gc`, `ctypes`, what function closures hold (`__closure__`);
- opens tables as private where nobody can tell that it is not their owner: in a thread that it starts, or once it is
  done;
- looks at the frames of code that is running: `sys._getframe` from a finaliser or a signal handler,
  `sys._current_frames`, hooks of the interpreter (trace, profile, audit, unraisable errors);
- finds what the data's owner left lying about: a frame in a module's variables, or in the function that called it;
- rewrites Jostle, Python or a library: assigns to their classes, functions, modules or lists of known kinds;
- reads memory that was freed and not yet written over: `numpy.empty` will do, and may show un-noised tallies and codes
  of rows;
- reads the file the rows are in, or writes the vault's, with the rights of the process; or asks the cluster that they
  are on, as who may ask it anything may, for what its workers keep;
- measures how long a question takes, or how much memory, which depends on rows.

An Option that is not trusted to keep from all this belongs in another process, without those rights.
"""

from __future__ import annotations

import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import FrameType
from typing import Any, NoReturn, TypeVar

import numpy as np
from attrs import evolve, frozen

from jostle.errors import MOST_WORDS, JostleError, ProbeError
from jostle.privacy.chains import Refinable
from jostle.privacy.fields import positive
from jostle.privacy.plain import plain
from jostle.privacy.room import QUESTIONS, Asked, Room, candidate, kept_back
from jostle.tables.closed import Closed, Places
from jostle.tables.schema import Schema

__all__ = ["Facts", "Key", "Room", "admit", "ask", "look", "schema_of"]

Result = TypeVar("Result")
CALLS, OF_A_CANDIDATE = 160, 80
"""Calls that an answer takes at most, one inside the other, and those in which a candidate of a selection asks. (The
deepest expression takes 140, any other question 30.) How many there are can hang on rows."""
STRIDE = 4
Answer = tuple[Any, BaseException | None]
"""An answer, or the error that the asker is to raise where no rows are in sight."""


@frozen
class Facts:
    """What may be known without asking the rows; nothing in it is shared with a room."""

    schema: Schema
    rows: int | None
    promise: Fraction | None
    spent: Fraction
    left: Fraction | None
    unit: int
    """How many rows of a person amounts are for."""
    divided: bool
    """Whether it is a part, or in one."""


class Key:
    """Opens one room. It is not copied."""

    __slots__ = ("enter", "look_in", "look_up")

    def __init__(
        self, enter: Callable[..., Answer], look_in: Callable[[], Facts], look_up: Callable[[], Schema]
    ) -> None:
        self.enter = enter
        self.look_in = look_in
        self.look_up = look_up

    def __reduce__(self) -> NoReturn:
        raise ProbeError("a key is not copied or pickled", why="it opens the one room it was made for")


def _sealed(
    inside: Callable[..., Result], taken: Callable[[tuple[object, ...]], tuple[Any, ...]]
) -> Callable[..., Result]:
    """A function that takes in what *taken* makes plain, and lets nothing out that *inside* raises.

    Even code that handles every error can be stopped at an instant when it does not: by an interrupt, or at its first
    call where the caller has used up the depth of recursion. The frames of such an error are dropped here, in two
    branches that call nothing, so that nothing can stop them in turn; the error raised instead begins on this frame,
    which holds only what the caller gave.
    """

    def outside(*details: object) -> Result:
        handed_in = taken(details)
        try:
            return inside(*handed_in)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:  # noqa: BLE001 - whatever it is
            interrupted = False
        _fail(interrupted=interrupted)

    return outside


def _fail(*, interrupted: bool) -> NoReturn:
    if interrupted:
        raise KeyboardInterrupt
    raise _no_room()


def _no_room() -> ProbeError:
    return ProbeError(
        "a question could not be put",
        why="there was no room on the stack, or in memory",
        fix="ask from less far down in functions that call each other",
    )


def admit(room: Room) -> Key:
    """A key to a room."""

    def enter(question: str, *details: Any) -> Answer:
        answer, error = _attempt(room, question, details)
        if isinstance(answer, Room):
            answer = admit(answer)
        elif question in {"split", "portions"} and error is None:
            answer = tuple(map(admit, answer))
        return answer, error

    def look_in() -> Facts:
        with np.errstate(all="ignore"):  # as below
            rows = room.rows
        ledger, unit = room.ledger, room.unit
        ledger.look_up()
        promise, left = (None if each is None else each * unit for each in (ledger.promise, ledger.left))
        return Facts(room.public, rows, promise, ledger.spent * unit, left, unit, room.divided)

    def look_up() -> Schema:
        return room.public

    return Key(_sealed(enter, _question), _sealed(look_in, tuple), _sealed(look_up, tuple))


def _question(asked: tuple[object, ...]) -> tuple[Any, ...]:
    """A question and what it is asked with, each of its declared type and made anew; refuse any other."""
    question, details = (asked[0], asked[1:]) if asked else (None, ())
    kinds = QUESTIONS.get(question) if type(question) is str else None
    if kinds is None or len(kinds) != len(details):
        raise _nothing()
    return question, *(_made_anew(detail, kind) for detail, kind in zip(details, kinds, strict=True))


def _made_anew(detail: object, kind: Asked) -> object:
    if isinstance(kind, Closed | Places):
        kind.check(detail)
        return plain(detail, kind.knows)
    return kind(plain(detail, _none))


def _none(_: type) -> bool:
    return False


def _go_down(calls: int) -> None:
    if calls % STRIDE:
        _go_down(calls - 1)
    elif calls:
        operator.call(_go_down, calls - 1)  # by way of C, whose calls have a limit of their own in some Pythons


def _fits(calls: int) -> bool:
    """Whether so many calls, one inside the other, fit on the stack.

    An asker says how much of it is left. With too little, a question could be answered where a part of a table has no
    row, and end in the middle where it has one: so nothing is begun that may not come to its end.
    """
    try:
        _go_down(calls)
    except RecursionError:
        return False
    return True


def _in_the_middle(frame: FrameType | None) -> bool:
    """Whether a question is being answered by what led to a frame, other than by a candidate of a selection.

    Finalisers and handlers of signals run in the middle of whatever runs, also where a lock is held that another
    question would wait for. (The stack says so in any case: a mark could be left behind by an interrupt.)
    """
    while frame is not None and frame.f_code is not candidate.__code__:
        if frame.f_code is _attempt.__code__:
            return True
        frame = frame.f_back
    return False


def _attempt(room: Room, question: str, details: tuple[Any, ...]) -> Answer:  # noqa: PLR0911 - one per kind of end
    if _in_the_middle(sys._getframe(1)):  # noqa: SLF001 - there is no other way to see who calls
        return None, ProbeError(
            "a question is asked in the middle of another",
            why="the one could wait for the other without end",
            fix="ask from no finaliser and no handler of signals",
        )
    if not _fits(CALLS + OF_A_CANDIDATE if question == "select" else CALLS):
        return None, _no_room()
    try:
        if question != "charges":  # what was spent can be looked up in any state
            room.check_open()
        # Whatever numbers do in there, it raises, warns and calls nothing: the caller may have asked numpy for that.
        with np.errstate(all="ignore"):
            answer = getattr(room, question)(*_in_rows(question, details, room.unit))
            return evolve(answer, epsilon=answer.epsilon * room.unit) if type(answer) is Refinable else answer, None
    except JostleError as error:
        return None, error.anew()  # this one's traceback leads to the rows
    except KeyboardInterrupt:
        return None, KeyboardInterrupt()
    except MemoryError:
        return None, ProbeError("there is not enough memory for this question", fix="use fewer cells")
    except BaseException:  # noqa: BLE001 - whatever it is, its traceback leads to the rows
        if room.private:
            return None, kept_back(question)
        # As text, since frames lead on to those of whoever asked; of a long one its end, which says what it came to.
        return None, ProbeError(f"{question} failed inside the probe", why=traceback.format_exc()[-MOST_WORDS:])


def _in_rows(question: str, details: tuple[Any, ...], unit: int) -> Iterator[Any]:
    """What a question is asked with, its amounts being of a row, and no longer of all that a person has."""
    for detail, kind in zip(details, QUESTIONS[question], strict=True):
        yield detail / unit if kind is positive else detail


def ask(key: Key, question: str, *details: object) -> Answer:
    """The answer, or the error that the asker is to raise where no rows are in sight."""
    if type(key) is not Key:
        return None, _nothing()
    try:
        return key.enter(question, *details)
    except JostleError as refusal:  # of what was asked, before it went in
        return None, refusal.anew()


def look(key: Key) -> Facts:
    """The facts that may be known of a room without asking the rows."""
    if type(key) is not Key:
        raise _nothing()
    return key.look_in()


def schema_of(key: Key) -> Schema:
    """The public facts about a room's table, without adding up what was spent."""
    if type(key) is not Key:
        raise _nothing()
    return key.look_up()


def _nothing() -> ProbeError:
    return ProbeError("this key opens nothing", why="a probe is not copied or sent elsewhere")
