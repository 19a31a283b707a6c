"""Exact amounts of budget: rational numbers, read the way they are written.

Sums of them are exact: three thirds are 1. Only a total that is too long to be written down is rounded, and upwards, to
a multiple of 2**-60: no more is spent than is recorded, and whatever was spent, more can be added.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real

from jostle.errors import AmountError, BudgetError

Amount = Fraction | Decimal | int | float | str
"""What a person may write for a number: 1, 0.1, "1/3", Fraction(1, 3), Decimal("0.1"), and numpy's numbers."""

MOST_BITS = 1 << 16
"""Length of the longest numerator or denominator read: with longer ones, one sum would take seconds."""
RECORDED_BITS = 4096
"""Length of the longest one that is recorded: Python turns no more than 4,300 digits into text, and a difference of two
is as long as both."""
INSIDE_BITS = 2 * RECORDED_BITS
"""Of amounts inside an allotment: whatever budget was recorded, its shares are added up without rounding."""
STEPS_TO_ONE = 1 << 60
"""Totals that are too long are rounded up to a step."""
LARGEST_EPSILON = 1 << 64
MOST_CHARACTERS = 10_000
MOST_EXPONENT_DIGITS = 4
"""Digits of the largest power of ten read, as in "1e-4000": with more, a short text would fill the memory."""
NOT_FINITE = {"nan", "snan", "inf", "infinity"}
SIX_DIGITS = Context(prec=6, Emax=MAX_EMAX, Emin=MIN_EMIN)


def exact(value: Amount, name: str) -> Fraction:
    """*value* as the fraction its shortest decimal writing stands for.

    >>> exact(0.1, "epsilon"), exact("1/3", "epsilon"), exact(Decimal("0.1"), "epsilon")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 10))
    """
    given: object = value
    if isinstance(given, bool) or not isinstance(given, float | Real | Decimal | str):
        raise AmountError(f"{name} is {type(given).__name__}, not a number", fix=_example(name))
    if isinstance(given, Rational):
        # Python's own whole numbers: left as they are, numpy's would overflow.
        number = given if type(given) is Fraction else Fraction(int(given.numerator), int(given.denominator))
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
            raise _no_number(name)
        return number
    # numpy's doubles are floats too, but their own repr names their type.
    text = float.__repr__(given) if isinstance(given, float) else str(given)
    if not isinstance(given, str) and text.lower().lstrip("+-") in NOT_FINITE:
        raise AmountError(f"{name} is {text}, not a finite number", fix=_example(name))
    if len(text) > MOST_CHARACTERS or len(text.lower().partition("e")[2].strip().lstrip("+-")) > MOST_EXPONENT_DIGITS:
        raise _no_number(name)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise AmountError(f"{name} is {text[:40]!r}, not a number", fix=_example(name)) from None


def epsilon_amount(value: Amount, name: str = "epsilon") -> Fraction:
    """*value* as a positive exact fraction, of a size that noise can be drawn for."""
    if type(value) is Fraction and max(value.numerator.bit_length(), value.denominator.bit_length()) <= MOST_BITS:
        amount = value
    else:
        amount = exact(value, name)
    if amount <= 0:
        raise AmountError(
            f"{name} is {show_amount(amount)}, but must be above 0",
            why="a release without noise is not private",
            fix=_example(name),
        )
    if amount > LARGEST_EPSILON:
        raise AmountError(
            f"{name} is {show_amount(amount)}, more than 2**64",
            why="that promises nothing, and what is computed from it has no numbers any more",
            fix=_example(name),
        )
    return amount


def recordable(amount: Fraction, name: str, most_bits: int = RECORDED_BITS) -> Fraction:
    """*amount* if it can be written down; refuse it otherwise."""
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) > most_bits:
        raise AmountError(
            f"{name} is a fraction of more than {most_bits} bits",
            why="amounts are recorded exactly, and this one could not be written down",
            fix="use amounts with fewer digits",
        )
    return amount


def recorded(total: Fraction, most_bits: int = RECORDED_BITS) -> Fraction:
    """*total* as it is recorded: itself, or where it is too long for that, rounded up."""
    if max(total.numerator.bit_length(), total.denominator.bit_length()) <= most_bits:
        return total
    return recordable(_rounded_up(total), "what is spent in all", most_bits)


def left_of(
    promise: Fraction, spent: Fraction, held: Fraction = Fraction(0), most_bits: int = RECORDED_BITS
) -> Fraction:
    """What may still be spent, of which all can be asked for: what is exactly left, or a little less if that is long.

    >>> left_of(Fraction(1), Fraction(1, 3)), left_of(Fraction(1), Fraction(1, 3**2584)) == 1 - Fraction(1, 3**2584)
    (Fraction(2, 3), True)
    """
    left, most = promise - spent - held, promise - held
    longest = max(left.numerator.bit_length(), left.denominator.bit_length())
    if max(longest, most.numerator.bit_length(), most.denominator.bit_length()) <= most_bits:
        return left
    return max(Fraction(0), -_rounded_up(held + _rounded_up(spent) - promise))


def too_long(site: str, left: Fraction, promise: Fraction) -> BudgetError:
    """The refusal of an amount that is left, where the total with it is too long, and rounded up passes the promise."""
    return BudgetError(
        f"{site} asks for an epsilon whose sum with what is spent is a fraction of more than {RECORDED_BITS} bits",
        why="it is recorded rounded up to a multiple of 2**-60, which is more than was promised",
        fix=f"an epsilon of fewer digits, or all of the {show_amount(left)} that is left",
        left=left,
        promise=promise,
    )


def _rounded_up(amount: Fraction) -> Fraction:
    return Fraction(math.ceil(amount * STEPS_TO_ONE), STEPS_TO_ONE)


def _example(name: str) -> str:
    return f'{name}=0.1, or {name}="1/3"'


def _no_number(name: str) -> AmountError:
    return AmountError(
        f"{name} is a number with too many digits, or too large or small a power of ten",
        why="amounts are kept exactly",
        fix=_example(name),
    )


def show_amount(amount: Fraction) -> str:
    """The amount for people: as a decimal where that is exact and short, else as a fraction.

    Where neither is short, six digits follow a "~"; without one, `exact` reads the same amount back.

    >>> show_amount(Fraction(97, 400)), show_amount(Fraction(1, 3)), show_amount(Fraction(2))
    ('0.2425', '1/3', '2')
    >>> show_amount(Fraction(1234567, 7654321))
    '~0.161290'
    """
    if amount.denominator == 1 and abs(amount) < 10**18:
        return str(amount.numerator)
    rounded = SIX_DIGITS.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    decimal = f"{rounded:f}" if -7 < rounded.adjusted() < 6 else f"{SIX_DIGITS.normalize(rounded):e}"
    if Fraction(decimal) == amount and abs(rounded.adjusted()) < 10**MOST_EXPONENT_DIGITS:
        return decimal
    short = abs(amount.numerator) < 10**12 and amount.denominator < 10**12 and len(str(amount)) <= 12
    return str(amount) if short else f"~{decimal}"
