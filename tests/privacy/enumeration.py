"""Run a sampler through every string of random bits it could be given, and add up what it answers.

A string of n bits has probability 2**-n, so what is added up are exact probabilities: if the strings on which a sampler
answers j weigh m, and those on which it has not answered yet weigh u, then it answers j with a probability between m
and m + u. Nothing here is statistical.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from attrs import Factory, define

from jostle.privacy.noise import BitSource, Words

DIGITS = Context(prec=200)


def exponential(x: Fraction) -> Fraction:
    """Return exp(-x) to 195 digits at least, by other means than those under test."""
    return Fraction(DIGITS.exp(DIGITS.divide(Decimal(-x.numerator), Decimal(x.denominator))))


class _OutOfBitsError(Exception):
    def __init__(self, missing: int) -> None:
        self.missing = missing


@define
class Script:
    """A bit source that reads out one given string of bits."""

    bits: int
    length: int

    def words(self, count: int, bits: int) -> Words:
        """Return the next *count* words of the string."""
        if count * bits > self.length:
            raise _OutOfBitsError(count * bits - self.length)
        found = []
        for _ in range(count):
            self.length -= bits
            found.append(self.bits >> self.length & ((1 << bits) - 1))
        return np.array(found, dtype=np.uint64)


@define
class Enumeration:
    """What a sampler answers on all strings of at most so many bits."""

    measure: dict[Hashable, Fraction] = Factory(dict)
    """The weight of the strings on which it gave each answer."""
    undecided: Fraction = Fraction(0)
    """The weight of the strings on which it wanted more bits than there could be."""
    lengths: Counter[int] = Factory(Counter)
    """How many strings of each length it answered on."""

    def brackets(self, outcome: Hashable, probability: Fraction, tolerance: Fraction = Fraction(1, 10**150)) -> bool:
        """Return whether the answer's probability can be this one, given to 150 digits."""
        least = self.measure.get(outcome, Fraction(0))
        return least - tolerance <= probability <= least + self.undecided + tolerance


def enumerated(run: Callable[[BitSource], Hashable], most_bits: int) -> Enumeration:
    """Return what *run* answers on all strings, each read only as far as it must be, and at most *most_bits* bits."""
    found = Enumeration()
    waiting = [(0, 0)]
    while waiting:
        bits, length = waiting.pop()
        try:
            answer = run(Script(bits, length))
        except _OutOfBitsError as stop:
            if length + stop.missing > most_bits:
                found.undecided += Fraction(1, 1 << length)
            else:
                waiting += [(bits << stop.missing | more, length + stop.missing) for more in range(1 << stop.missing)]
        else:
            found.measure[answer] = found.measure.get(answer, Fraction(0)) + Fraction(1, 1 << length)
            found.lengths[length] += 1
    return found


def literal_permute_and_flip(gaps: list[int], rate: Fraction) -> list[Fraction]:
    """Return the chances of each candidate, walking every order and throwing the coins one by one."""
    chances = [Fraction(0)] * len(gaps)
    orders = list(itertools.permutations(range(len(gaps))))
    for order in orders:
        reached = Fraction(1, len(orders))
        for candidate in order:
            coin = exponential(gaps[candidate] * rate)
            chances[candidate] += reached * coin
            reached *= 1 - coin
    return chances
