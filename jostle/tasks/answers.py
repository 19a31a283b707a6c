"""What answers of all tasks share: their type, frames and files, figures, and levels of confidence."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from jostle.errors import OptionError, shown

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Answer = TypeVar("Answer", default=Any)
else:
    from typing import TypeVar  # whose variables have no defaults before Python 3.13

    Answer = TypeVar("Answer")


def new_figure(width: float, height: float, *, layout: Literal["tight", "constrained"] = "tight") -> Any:
    """An empty matplotlib figure, of so many inches; needs the `report` extra."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - matplotlib is an extra
    except ImportError:
        raise OptionError("matplotlib is not installed", fix='pip install "jostle[report]"') from None
    return Figure(figsize=(width, height), layout=layout)


def level_of(given: object, *, fix: str = "interval(0.95)") -> float:
    """A level of confidence as a number; refuse what is no chance."""
    if not (found := _number(given)) or not 0 < found < 1:
        raise OptionError(f"the level of an interval is {shown(given)}", why="it is a chance between 0 and 1", fix=fix)
    return found


def rate_of(given: object) -> float:
    """A share of rows as a number, from 0 to 1; refuse what is none."""
    if (found := _number(given)) is None or not 0 <= found <= 1:
        raise OptionError(f"a rate is {shown(given)}", why="it is a share of rows, from 0 to 1", fix="0.1")
    return found


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, float | int | Fraction | Decimal):
        return None
    return float(given)
