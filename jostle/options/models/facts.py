"""What a model's file says, read part by part: anybody may have written it."""

from __future__ import annotations

import json
from math import prod
from typing import Any, NoReturn, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.tables.fields import int64s

__all__ = ["Facts"]

LARGEST = 1e100
"""Numbers that a model adds up: sums over all of its parts stay finite."""

Kind = TypeVar("Kind")


@frozen
class Facts:
    """Named parts, each of which is of the type that is asked for, or refused."""

    held: dict[str, Any]

    @classmethod
    def read(cls, text: str) -> Facts:
        """Return the parts that a text of JSON holds."""
        try:
            held = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise OptionError("the model is not JSON", fix="save it anew with model.save(path)") from None
        if not isinstance(held, dict):
            raise _odd("it")
        return cls(held)

    def text(self, name: str) -> str:
        """Return a text."""
        return self._as(str, name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        texts = self._as(list, name)
        if not all(isinstance(each, str) for each in texts):
            raise _odd(name)
        return tuple(texts)

    def whole(self, name: str) -> int:
        """Return a whole number."""
        return self._as(int, name)

    def wholes(self, name: str) -> NDArray[np.int64]:
        """Return an array of whole numbers."""
        return int64s(self._as(list, name))

    def floats(self, name: str, *shape: int) -> NDArray[np.float64]:
        """Return an array of numbers, of this shape."""
        try:
            given = np.asarray(self._as(list, name))
        except ValueError:  # sides of different lengths
            raise _odd(name) from None
        if not prod(shape) and not given.size:
            return np.empty(shape)
        if given.dtype.kind not in "if" or given.shape != shape or np.abs(given).max() > LARGEST:
            raise _odd(name)
        return given.astype(np.float64)

    def part(self, name: str) -> dict[str, Any]:
        """Return parts of a part."""
        return self._as(dict, name)

    def parts(self, name: str) -> tuple[Facts, ...]:
        """Return a list of parts of a part."""
        parts = self._as(list, name)
        if not all(isinstance(each, dict) for each in parts):
            raise _odd(name)
        return tuple(map(Facts, parts))

    def _as(self, kind: type[Kind], name: str) -> Kind:
        value = self.held.get(name)
        if type(value) is not kind:
            raise _odd(name)
        return value


def _odd(name: str) -> OptionError:
    return OptionError(
        f"the file holds no model: its part {name!r} is missing, or does not fit the others",
        fix="save it anew with model.save(path)",
    )


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
