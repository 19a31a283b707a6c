"""The wire: what goes between an asker's process and the owner's, in one form.

A request is a question of the door's closed table (`QUESTIONS`) and what it is asked with: members of closed lists,
written `{"kind": ..., fields}`, and plain values. It is read in two steps. Bytes become builtins, within bounds on how
many there are, how deep they lie and how long their arrays are; then builtins become members by their constructors,
whose converters take what can be read in one way only. Nothing else is ever made of what a client sends: no class that
is not in a list, no code, and neither a seed nor a noise, for which there is no field.

Fractions are texts, "1/3". An array has a type, its sides, and its numbers: as bytes in msgpack, as a list in JSON. An
amount of budget is for a row: whoever answers multiplies by the rows of a person. A message has a version, and one of
another version is answered with a sentence.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import attrs
import msgspec
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

import jostle.errors
from jostle.errors import JostleError, ProbeError, WireError, shown
from jostle.privacy.amounts import epsilon_amount
from jostle.privacy.chains import Refinable
from jostle.privacy.door import Facts
from jostle.privacy.events import EVENTS
from jostle.privacy.evidence import Look
from jostle.privacy.fields import fraction
from jostle.privacy.ledger import Charge
from jostle.privacy.measured import Measured
from jostle.privacy.mechanisms import NoisyNumbers, SparseAnswer
from jostle.privacy.room import QUESTIONS
from jostle.tables.closed import Closed, Places
from jostle.tables.fields import wholes
from jostle.tasks.classification import Model

__all__ = [
    "JSON",
    "MSGPACK",
    "NO_COLLUSION",
    "VERSION",
    "Form",
    "asked",
    "canonical",
    "error_of",
    "form_of",
    "made",
    "plainly",
    "said",
]

VERSION = 1
MOST_BYTES = 1 << 24
"""Of a request. (An answer is as long as what was asked for, which is bounded before anything is charged.)"""
MOST_DEPTH = 100
"""Lists in lists. The deepest expression that is looked at has 60."""
MOST_PARTS = 1 << 18
"""Builtins in a request, the items of arrays left out."""
MOST_CELLS = 1 << 21
"""Numbers in all arrays of a request."""
LARGEST = 1 << 63
NO_COLLUSION = (
    "assume_no_collusion = true: everybody may spend the whole promise. What two people are told about the same rows "
    "adds up as soon as they tell each other, and then the promise does not hold."
)
"""What is said to owners and askers of a server that takes nobody to tell anybody else."""
DTYPES = {"int64": np.dtype("<i8"), "bool": np.dtype("|b1"), "float64": np.dtype("<f8")}
"""The types of arrays: of whole numbers and truths in questions, and of any of them in answers."""

Kinds = Mapping[str, type]


# Bytes


@frozen
class Form:
    """One way in which builtins are written as bytes."""

    content: str
    """What HTTP calls it."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    bytewise: bool
    """Whether arrays are written as their bytes."""

    def read(self, data: bytes, most_bytes: int | None = MOST_BYTES) -> dict[str, Any]:
        """A message of this version, by name; refuse what is none, before anything is made of it."""
        if most_bytes is not None and len(data) > most_bytes:
            raise WireError(
                f"a message has {len(data):,} bytes", why=f"at most {most_bytes:,} are read", fix="ask less"
            )
        try:
            message = self.decode(data)
        except (msgspec.DecodeError, ValueError, TypeError, OverflowError, RecursionError):
            raise WireError(f"a message is no {self.content}", fix="send it with jostle.connect") from None
        if not isinstance(message, dict) or not all(isinstance(name, str) for name in message):
            raise WireError("a message holds no names and values", fix="send it with jostle.connect")
        check_version(message.get("version"))
        if most_bytes is not None:
            _check_bounds(message)
        return message

    def write(self, message: Mapping[str, Any]) -> bytes:
        """A message's bytes."""
        return self.encode({"version": VERSION, **message})


JSON = Form("application/json", msgspec.json.encode, msgspec.json.decode, bytewise=False)
MSGPACK = Form("application/msgpack", msgspec.msgpack.encode, msgspec.msgpack.decode, bytewise=True)


def form_of(content: str) -> Form:
    """The form that a header names; JSON where it names none."""
    return MSGPACK if content.partition(";")[0].strip().lower() == MSGPACK.content else JSON


def check_version(version: object) -> None:
    """Refuse a message of another version, and say which end is the older one."""
    if type(version) is int and version == VERSION:
        return
    older = type(version) is not int or version < VERSION
    raise WireError(
        f"a message is of version {shown(version)}, and this end reads version {VERSION}",
        why="both ends have to mean the same by a question",
        fix=f"pip install --upgrade jostle, at {'the end that sent it' if older else 'this end'}",
    )


def _check_bounds(message: object) -> None:
    """Refuse what lies too deep, is too much, or is of no builtin type that a message has."""
    waiting, parts, depth = [message], 0, 0
    while waiting:
        parts, depth = parts + len(waiting), depth + 1
        if parts > MOST_PARTS or depth > MOST_DEPTH:
            raise WireError(
                "a message is too long or too deep",
                why=f"at most {MOST_PARTS:,} parts are read, nested at most {MOST_DEPTH} deep",
                fix="ask in several questions; send arrays as arrays",
            )
        inside: list[object] = []
        for part in waiting:
            kind = type(part)
            if kind is dict:
                names, values = cast("dict[object, object]", part).keys(), cast("dict[object, object]", part).values()
                if not all(type(name) is str for name in names):
                    raise WireError("a message has a name that is no text", fix="send it with jostle.connect")
                # Numbers of an array are counted where it is made.
                inside += [value for name, value in zip(names, values, strict=True) if name != "data"]
            elif kind is list:
                inside += cast("list[object]", part)
            elif kind is int and not -LARGEST <= cast("int", part) < LARGEST:
                raise WireError("a message has a whole number of more than 64 bits", fix='amounts are texts: "1/3"')
            elif part is not None and kind not in {str, int, float, bool}:
                raise WireError(f"a message has a part of type {kind.__name__}", fix="send it with jostle.connect")
        waiting = inside


# From values to builtins


def plainly(value: Any, form: Form = JSON) -> Any:  # noqa: C901, PLR0911 - one for each type
    """A value as builtins: the one canonical form of it."""
    if value is None or isinstance(value, bool | str):
        return str.__str__(value) if isinstance(value, str) else value
    if isinstance(value, Measured):
        return plainly(value.value, form)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray):
        return _array_written(value, form)
    if isinstance(value, np.generic):
        return plainly(value.item(), form)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise WireError(f"{value} is no number that is sent", fix="a finite number")
        return float(value)
    if isinstance(value, tuple | list):
        return [plainly(each, form) for each in value]
    if isinstance(value, Model):
        return {"kind": "Model", "json": value.to_json()}
    kind: Any = type(value)
    if attrs.has(kind):
        fields = {name: plainly(getattr(value, field.name), form) for name, field in fields_of(kind).items()}
        return {"kind": kind.__name__, **fields}
    raise WireError(f"{shown(value)} is not sent", why="a question is made of plain values and Jostle's own kinds")


@cache
def fields_of(kind: type[Any]) -> Mapping[str, attrs.Attribute[Any]]:
    """What a class is made of, by the names that are sent."""
    names = {"kind": "its_kind"}  # which says of which class something is
    return {names.get(attribute.name, attribute.name): attribute for attribute in attrs.fields(kind) if attribute.init}


def _array_written(array: NDArray[Any], form: Form) -> dict[str, Any]:
    name = {"i": "int64", "u": "int64", "b": "bool", "f": "float64"}.get(array.dtype.kind)
    if name is None or (array.dtype.kind == "u" and array.size and int(array.max()) >= LARGEST):
        raise WireError(f"an array of {array.dtype} is not sent", fix="an array of numbers")
    kept = np.ascontiguousarray(array, dtype=DTYPES[name])
    if name == "float64" and not np.isfinite(kept).all():
        raise WireError("an array with numbers that are not finite is not sent", fix="finite numbers")
    numbers = kept.tobytes() if form.bytewise else kept.ravel().tolist()
    return {"dtype": name, "shape": list(array.shape), "data": numbers}


def canonical(value: Any) -> bytes:
    """The bytes by which a request, or a part of one, is known."""
    return msgspec.json.encode(value, order="sorted")


# From builtins to values


def kinds_of(closed: Closed | Places) -> Kinds:
    """The classes of a closed list, and of the parts of its members, by name."""
    now = closed.now() if isinstance(closed, Places) else closed
    return _by_name(tuple(now.kinds))


@cache
def _by_name(kinds: tuple[type, ...]) -> Kinds:
    by_name = {kind.__name__: kind for kind in kinds}
    if len(by_name) < len(kinds):
        raise TypeError("two classes of a closed list have one name")
    return MappingProxyType(by_name)


class Making:
    """Makes values of builtins that were looked at for bounds."""

    def __init__(self, kinds: Kinds, most_cells: int | None = MOST_CELLS) -> None:
        self._kinds = kinds
        self._left = most_cells

    def build(self, data: Any) -> Any:
        """A value: of a known class, made by its constructor; an array; a tuple; or a builtin as it is."""
        if type(data) is list:
            return tuple(map(self.build, data))
        if type(data) is not dict:
            return data
        return self._array(data) if "dtype" in data else self._made(data)

    def _made(self, data: dict[str, Any]) -> Any:
        name = data.get("kind")
        if name == "Model" and self._left is None:  # in answers alone
            return Model.from_json(data["json"])
        kind = self._kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise WireError(f"{shown(name)} is no kind that is asked for here", fix=f"one of {', '.join(self._kinds)}")
        fields = fields_of(kind)
        if strange := data.keys() - fields.keys() - {"kind"}:
            raise WireError(f"{kind.__name__} has no field {shown(min(strange))}", fix=", ".join(fields))
        reads = READERS.get(kind, {})
        given = {name: self.build(part) for name, part in data.items() if name != "kind"}
        try:
            return kind(**{str(fields[name].alias): reads.get(name, _as_is)(part) for name, part in given.items()})
        except JostleError:
            raise
        except Exception:  # noqa: BLE001 - whatever a constructor makes of builtins that it was never meant to see
            raise WireError(
                f"this is no {kind.__name__}", why="its fields do not fit it", fix=", ".join(fields)
            ) from None

    def _array(self, data: dict[str, Any]) -> NDArray[Any]:
        kind, shape, numbers = (
            DTYPES.get(data["dtype"] if isinstance(data["dtype"], str) else ""),
            data.get("shape"),
            data.get("data"),
        )
        if kind is None or data.keys() != {"dtype", "shape", "data"}:
            raise WireError("an array is of no type that is read", fix=f"one of {', '.join(DTYPES)}")
        if type(shape) is not list or len(shape) > 32 or any(type(side) is not int or side < 0 for side in shape):
            raise WireError("an array has no sides that are whole numbers", fix='"shape": [2, 3]')
        size = math.prod(shape)
        self._count(size)
        if type(numbers) is bytes and len(numbers) == size * kind.itemsize:
            flat = np.frombuffer(numbers, dtype=kind)
            if kind.kind == "b" and (np.frombuffer(numbers, dtype=np.uint8) > 1).any():
                raise WireError("an array of truths has other bytes than 0 and 1", fix="send it with jostle.connect")
        elif type(numbers) is list and len(numbers) == size and set(map(type, numbers)) <= ALLOWED[kind.kind]:
            try:
                flat = np.array(numbers, dtype=kind)
            except OverflowError:
                raise WireError("an array has a whole number of more than 64 bits", fix="smaller numbers") from None
        else:
            raise WireError(
                "an array does not have as many numbers as its sides say", fix='"shape": [2], "data": [0, 1]'
            )
        if kind.kind == "f" and not np.isfinite(flat).all():
            raise WireError("an array has numbers that are not finite", fix="finite numbers")
        array: NDArray[Any] = flat.reshape(shape).copy()
        return array

    def _count(self, size: int) -> None:
        if self._left is None:
            return
        self._left -= size
        if self._left < 0:
            raise WireError(f"a message has arrays of more than {MOST_CELLS:,} numbers in all", fix="ask about less")


def _as_is(value: Any) -> Any:
    return value


ALLOWED: Mapping[str, set[type]] = {"i": {int}, "b": {bool}, "f": {int, float}}
ANSWERS: tuple[type, ...] = (Charge, Facts, Look, NoisyNumbers, Refinable, SparseAnswer, *EVENTS.kinds)
"""What answers are made of, beside numbers, arrays and models."""


def _maybe(value: str | None) -> Fraction | None:
    return None if value is None else fraction(value)


READERS: Mapping[type, Mapping[str, Callable[[Any], Any]]] = {
    Charge: {"epsilon": fraction},
    NoisyNumbers: {"unit": fraction},
    Refinable: {"epsilon": fraction, "cells": wholes},
    Facts: {"promise": _maybe, "spent": fraction, "left": _maybe},
}
"""What reads those fields of answers that have no converter of their own."""


# Questions


def said(question: str, details: tuple[object, ...], unit: int, form: Form = JSON) -> list[Any]:
    """What a question is asked with, as builtins, for one row; refuse what it is not asked with."""
    kinds = QUESTIONS[question]
    sent = []
    for detail, kind in zip(details, kinds, strict=True):
        value: Any = detail
        if isinstance(kind, Closed | Places):
            kind.check(value)
        elif kind is epsilon_amount:
            value = epsilon_amount(cast("Any", value)) / unit
        else:
            value = kind(plainly(value, form) if isinstance(value, Measured) else value)
        sent.append(plainly(value, form))
    return sent


def asked(question: object, details: object) -> tuple[Any, ...]:
    """What a question is asked with, made of builtins by the constructors and converters that it declares."""
    kinds = QUESTIONS.get(question) if isinstance(question, str) else None
    if kinds is None or type(details) is not list or len(details) != len(kinds):
        raise WireError(f"{shown(question)} is no question, or is asked with something else", fix=", ".join(QUESTIONS))
    builder = Making({})
    members = []
    for detail, kind in zip(details, kinds, strict=True):
        if isinstance(kind, Closed | Places):
            builder._kinds = kinds_of(kind)  # noqa: SLF001 - one count of numbers for all details
            value = builder.build(detail)
            kind.check(value)
        else:
            value = _read(kind, builder.build(detail))
        members.append(value)
    return tuple(members)


def _read(kind: Callable[[Any], object], value: Any) -> Any:
    try:
        return kind(value)
    except JostleError:
        raise
    except Exception:  # noqa: BLE001 - as for constructors
        raise WireError(
            "a question is asked with a value that does not fit it", fix="send it with jostle.connect"
        ) from None


# Answers and errors


def made(data: Any) -> Any:
    """The answer that builtins stand for; of a server's making, so that its length is not bounded."""
    return Making(_by_name(ANSWERS), None).build(data)


def error_written(error: JostleError) -> dict[str, Any]:
    """An error as builtins: its kind, what, why, what to do, and amounts."""
    return {"kind": type(error).__name__, **{name: plainly(fact) for name, fact in error.facts().items()}}


def error_of(data: Any) -> JostleError:
    """The error that builtins stand for."""
    facts = dict(data) if isinstance(data, dict) else {}
    kind = getattr(jostle.errors, str(facts.pop("kind", "")), None)
    for name in {"requested", "left", "promise"} & facts.keys():
        facts[name] = fraction(facts[name])
    try:
        if isinstance(kind, type) and issubclass(kind, JostleError):
            return kind(**facts)
        return ProbeError(facts["title"], why=facts.get("why"), fix=facts.get("fix"))
    except (TypeError, KeyError):
        return WireError("the server answered with an error that cannot be read", fix="pip install --upgrade jostle")


def digest(*parts: bytes) -> str:
    """A hash of several texts, of which none can be taken for a part of another."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()
