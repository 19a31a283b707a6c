"""What Options can be given as parameters: of which kind each is, and within which bounds.

One description serves the attrs field that holds a parameter, which converts or refuses what it is given, and the check
of programs, which loads no algorithm: it reads what is written down for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Rational, Real
from types import MappingProxyType
from typing import Any, Literal, get_args

from attrs import Attribute, Converter, field, fields, frozen

from jostle.errors import BudgetError, OptionError
from jostle.privacy.amounts import exact, show_amount

Kind = Literal["whole", "positive", "share", "choice", "flag"]
Value = int | float | Fraction | str | bool
HELD = "parameter"
"""Under which key a field's metadata holds its description."""
MOST_SHOWN = 40


@frozen
class Parameter:
    """What one parameter of an Option can be."""

    kind: Kind
    default: Value
    least: int = 0
    """The smallest whole number that it can be."""
    zero: bool = False
    """Whether a share can be 0."""
    choices: tuple[str, ...] = ()
    """What it is one of."""

    @property
    def words(self) -> str:
        """The values that it can have, in words: what it has to be."""
        match self.kind:
            case "whole":
                return f"a whole number from {self.least}"
            case "positive":
                return "a number above 0"
            case "share":
                return "a share from 0 up to below 1" if self.zero else "a share above 0 and below 1"
            case "choice":
                *rest, last = (f'"{each}"' for each in self.choices)
                return f"{', '.join(rest)} or {last}"
            case "flag":
                return "True or False"

    @property
    def written(self) -> str:
        """The default as it is written."""
        return f'"{self.default}"' if isinstance(self.default, str) else shown(self.default)

    def read(self, value: object, name: str) -> Value:
        """A value of the parameter as one plain type; refuse it."""
        read = self.fitted(value)
        if read is None:
            raise OptionError(f"{name} is {shown(value)}, but must be {self.words}", fix=f"{name}={self.written}")
        return read

    def fitted(self, value: object) -> Value | None:
        """A value of the parameter as one plain type, or None where it is none."""
        if self.kind == "choice":
            return str(value) if isinstance(value, str) and value in self.choices else None
        if self.kind == "flag":
            return value if isinstance(value, bool) else None
        if isinstance(value, bool):
            return None
        match self.kind:
            case "whole":
                whole = isinstance(value, Integral) or (isinstance(value, Rational) and value.denominator == 1)
                return int(value) if whole and value >= self.least else None  # type: ignore[call-overload, operator]  # as just seen
            case "positive":
                number = _double(value)
                return number if number is not None and number > 0 else None
            case _:
                return self._share(value)

    def _share(self, value: object) -> Fraction | None:
        try:
            amount = exact(value, "a share")  # type: ignore[arg-type]  # what is no number is refused there
        except BudgetError:
            return None
        return amount if 0 < amount < 1 or (self.zero and amount == 0) else None


def _double(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def shown(value: object) -> str:
    """A value as it is written, where it is short."""
    if isinstance(value, str):
        text = f'"{value}"'
    elif value is None or isinstance(value, bool | int | float):
        text = str(value)
    else:
        text = show_amount(value) if isinstance(value, Fraction) else f"a {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def _field(parameter: Parameter) -> Any:
    def read(value: object, attribute: Any) -> Value:
        return parameter.read(value, attribute.name)

    return field(default=parameter.default, converter=Converter(read, takes_field=True), metadata={HELD: parameter})


def whole(default: int, *, least: int) -> Any:
    """An attrs field for a whole number."""
    return _field(Parameter("whole", default, least=least))


def positive(default: float) -> Any:
    """An attrs field for a number above 0."""
    return _field(Parameter("positive", default))


def share(default: str, *, zero: bool = False) -> Any:
    """An attrs field for a share of a budget: an exact fraction below 1 and above 0, or also 0."""
    return _field(Parameter("share", Fraction(default), zero=zero))


def choice(default: str, among: Any) -> Any:
    """An attrs field for one of several words: a literal type, or the words."""
    return _field(Parameter("choice", default, choices=get_args(among)))


def flag(*, default: bool) -> Any:
    """An attrs field for what is so or not."""
    return _field(Parameter("flag", default))


def is_parameter(attribute: Attribute[Any]) -> bool:
    """Whether a field is read by a parameter's description."""
    return isinstance(attribute.metadata.get(HELD), Parameter)


def parameters_of(kind: type) -> Mapping[str, Parameter]:
    """The parameters of an Option's class, in order."""
    held = {attribute.name: attribute.metadata.get(HELD) for attribute in fields(kind)}
    return MappingProxyType({name: attribute for name, attribute in held.items() if isinstance(attribute, Parameter)})
