"""Real numbers enclosed as tightly as asked, in integer arithmetic.

A sampler may stop looking at random bits as soon as they decide its answer. To know when that is, it needs the
probabilities it compares with as intervals that can be narrowed without end: an *enclosure* of r at b bits is
a pair of integers (low, high) with low <= r * 2**b <= high.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from attrs import Attribute, field, frozen

from jostle.errors import NoiseError
from jostle.privacy.amounts import show_amount

Enclosure = tuple[int, int]

GUARD = 32
"""Bits carried beyond those asked for, so that rounding rarely costs a bit of the answer."""


class Ratio(Protocol):
    """A number in (0, 1) whose powers can be enclosed: the ratio of a geometric distribution."""

    @property
    def length(self) -> int:
        """Roughly 1 / -log(ratio): how far the distribution reaches. Only speed depends on it."""

    def power(self, exponent: int, bits: int) -> Enclosure:
        """Enclose ratio ** exponent."""

    def __hash__(self) -> int:
        """Tables made for a ratio are kept, so equal ones are told by their hash."""


class Chance(Protocol):
    """A probability that can be enclosed."""

    def enclose(self, bits: int) -> Enclosure:
        """Enclose the probability."""

    def __hash__(self) -> int:
        """As for a ratio."""


def enclose_exponential(x: Fraction, bits: int) -> Enclosure:
    """Enclose exp(-x) for a rational x >= 0.

    Where x >= bits, exp(-x) <= 2**-bits, and the truth lies between 0 and 1 unit. Else halve x until it is at most
    1/2, sum the alternating series in fixed point, square back. A term is off by less than 2 units of the last place
    (its own rounding and at most half of the error before it), what is cut off is smaller than the last term; squaring
    rounds outwards, so the interval always holds the truth. A squaring at most doubles the width and adds a unit; one
    more place is carried for each.
    """
    if x < 0:
        raise NoiseError(f"x is {show_amount(x)}, but exp(-x) is enclosed only from 0 on")
    if x >= bits:
        return 0, 1
    halvings = (x.numerator // x.denominator).bit_length() + 1
    places = bits + halvings + GUARD
    numerator, denominator = x.numerator, x.denominator << halvings
    term = total = 1 << places
    count = 0
    while term:
        count += 1
        term = term * numerator // (denominator * count)
        total += -term if count % 2 else term
    slack = 2 * count + 2
    low, high = max(0, total - slack), min(1 << places, total + slack)
    for _ in range(halvings):
        low, high = low * low >> places, -(-high * high >> places)
    return low >> (places - bits), -(-high >> (places - bits))


def _positive(_: object, attribute: Attribute[Fraction], value: Fraction) -> None:
    if value <= 0:
        raise NoiseError(f"{attribute.name} is {show_amount(value)}, but must be above 0")


def _chance(_: object, __: Attribute[Fraction], value: Fraction) -> None:
    if not 0 <= value <= 1:
        raise NoiseError(f"chance is {show_amount(value)}, but must lie between 0 and 1")


@frozen
class Exponential:
    """The number exp(-1/scale): a ratio, and a chance as well."""

    scale: Fraction = field(validator=_positive)

    @property
    def length(self) -> int:
        """The scale, rounded up."""
        return -(-self.scale.numerator // self.scale.denominator)

    def power(self, exponent: int, bits: int) -> Enclosure:
        """Enclose exp(-exponent/scale)."""
        return enclose_exponential(exponent / self.scale, bits)

    def enclose(self, bits: int) -> Enclosure:
        """Enclose exp(-1/scale)."""
        return self.power(1, bits)


@frozen
class RationalChance:
    """A rational probability."""

    value: Fraction = field(validator=_chance)

    def enclose(self, bits: int) -> Enclosure:
        """Enclose the value."""
        scaled = self.value * (1 << bits)
        return scaled.numerator // scaled.denominator, -(-scaled.numerator // scaled.denominator)


@frozen
class Tail:
    """The probability that discrete-Laplace noise exceeds a whole number."""

    scale: Fraction = field(validator=_positive)
    threshold: int

    def enclose(self, bits: int) -> Enclosure:
        """Enclose q**(t+1) / (1+q) for t >= 0, and 1 - q**-t / (1+q) for t < 0; q is exp(-1/scale)."""
        places = bits + GUARD
        one = 1 << places
        ratio = Exponential(self.scale)
        q_low, q_high = ratio.power(1, places)
        steps = self.threshold + 1 if self.threshold >= 0 else -self.threshold
        power_low, power_high = ratio.power(steps, places)
        low = (power_low << places) // (one + q_high)
        high = -(-(power_high << places) // (one + q_low))
        if self.threshold < 0:
            low, high = one - high, one - low
        return low >> GUARD, -(-high >> GUARD)


@frozen
class NoLater:
    """The probability that of two geometric variables, the first is no greater than the second."""

    first: Exponential
    second: Exponential

    def enclose(self, bits: int) -> Enclosure:
        """Enclose (1 - x) / (1 - x y), x and y being the ratios."""
        both = Exponential(1 / (1 / self.first.scale + 1 / self.second.scale))
        # As many more places as 1 - x y has zeros at its beginning.
        places = bits + GUARD + both.length.bit_length()
        one = 1 << places
        first_low, first_high = self.first.power(1, places)
        both_low, both_high = both.power(1, places)
        low = ((one - first_high) << bits) // (one - both_low)
        high = -(-((one - first_low) << bits) // (one - both_high)) if both_high < one else 1 << bits
        return low, min(1 << bits, high)


@frozen
class Miss:
    """The ratio 1 - chance: how the wait for the first success of many trials shrinks."""

    chance: Chance

    @property
    def length(self) -> int:
        """About 1 / chance, rounded up; 2**64 where the chance is smaller still."""
        _, high = self.chance.enclose(64)
        return -(-(1 << 64) // max(high, 1))

    def power(self, exponent: int, bits: int) -> Enclosure:
        """Enclose (1 - chance) ** exponent by repeated squaring, rounding outwards."""
        places = bits + exponent.bit_length() + GUARD
        one = 1 << places
        chance_low, chance_high = self.chance.enclose(places)
        square_low, square_high = one - chance_high, one - chance_low
        low = high = one
        while exponent:
            if exponent & 1:
                low, high = low * square_low >> places, -(-high * square_high >> places)
            square_low, square_high = square_low**2 >> places, -(-(square_high**2) >> places)
            exponent >>= 1
        return low >> (places - bits), -(-high >> (places - bits))
