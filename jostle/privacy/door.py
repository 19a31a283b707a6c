"""The one door to private data: what is asked goes in as plain values, and nothing but released answers comes out.

A probe holds a key, and a key has three functions: one that answers a question, two that tell public facts. What they
answer from, a room with the rows, may be in this process (`admit`) or in another one. Each part of a question is of the
type that the question declares (`QUESTIONS`). Answers are what a mechanism from a closed list releases.

What goes wrong inside comes out as a new error, made of public facts: the one that was raised carries a traceback, and
a traceback carries the variables of the frames it passed. Whether something goes wrong among the rows may depend on
them. So once it does, a private room and all that was made from it answer nothing any more.

This catches mistakes, and not malice. In the process that holds the rows, any Python code can reach them: who asks
there is their owner, or trusted by them. Strangers ask from a process of their own (`jostle serve`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

import numpy as np
from attrs import evolve, frozen

from jostle.errors import MOST_WORDS, JostleError, ProbeError
from jostle.privacy.amounts import epsilon_amount
from jostle.privacy.chains import Refinable
from jostle.privacy.room import QUESTIONS, Room, kept_back
from jostle.tables.closed import Closed, Places
from jostle.tables.schema import Schema

Answer = tuple[Any, BaseException | None]
"""An answer, or the error that the asker is to raise where no rows are in sight."""


@frozen
class Facts:
    """What may be known without asking the rows."""

    rows: int | None
    promise: Fraction | None
    spent: Fraction
    left: Fraction | None
    unit: int
    """How many rows of a person amounts are for."""
    divided: bool
    """Whether it is a part, or in one."""


@frozen(eq=False, repr=False)
class Key:
    """Opens one room, here or in another process. It is not copied."""

    enter: Callable[..., Answer]
    """Answer a question with its details."""
    look_in: Callable[[], Facts]
    look_up: Callable[[], Schema]

    def __reduce__(self) -> NoReturn:
        raise ProbeError("a key is not copied or pickled", why="it opens the one room it was made for")


def admit(room: Room) -> Key:
    """A key to a room of this process."""
    return Key(partial(_enter, room), partial(_facts, room), lambda: room.public)


def _facts(room: Room) -> Facts:
    ledger, unit = room.ledger, room.unit
    ledger.look_up()
    promise, left = ledger.promise, ledger.left
    if promise is not None and left is not None:
        promise, left = promise * unit, left * unit
    with np.errstate(all="ignore"):  # as below
        return Facts(room.rows, promise, ledger.spent * unit, left, unit, room.divided)


def _taken(question: str, details: tuple[Any, ...], unit: int) -> list[Any]:
    """What a question is asked with, each of its declared type; refuse any other.

    Amounts are of a row from here on, and no longer of all that a person has.
    """
    kinds = QUESTIONS.get(question)
    if kinds is None or len(kinds) != len(details):
        raise ProbeError(f"nothing answers the question {question} with {len(details)} details")
    taken = []
    for detail, kind in zip(details, kinds, strict=True):
        if isinstance(kind, Closed | Places):
            kind.check(detail)
            taken.append(detail)
        else:
            taken.append(kind(detail) / unit if kind is epsilon_amount else kind(detail))
    return taken


def _enter(room: Room, question: str, *details: Any) -> Answer:
    try:
        taken = _taken(question, details, room.unit)
        if question not in {"charges", "settle"}:  # what was spent can be looked up, and settled, in any state
            room.check_open()
        # Whatever numbers do in there, it raises and warns of nothing: the caller may have asked numpy for that.
        with np.errstate(all="ignore"):
            answer = getattr(room, question)(*taken)
        if isinstance(answer, Room):
            answer = admit(answer)
        elif question in {"split", "portions"}:
            answer = tuple(map(admit, answer))
        elif type(answer) is Refinable:
            answer = evolve(answer, epsilon=answer.epsilon * room.unit)
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
    return answer, None
