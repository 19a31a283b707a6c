"""What can be audited: a mechanism, its claim, and the inputs to try it on.

Registering a mechanism makes it a *subject*. Only two things are asked of it: a way to run it, and neighbouring
inputs. If its distribution can be worked out as well, the auditor uses that too.

>>> from jostle.audit import Subject, histogram_pairs, lifted, register
>>> def run(noise, data, epsilon):
...     return int(noise.discrete_laplace(1 / epsilon, 1)[0]) + data[0]
>>> mine = Subject(
...     name="FirstCellByHand",
...     module=__name__,
...     about="noisy count of the first cell",
...     pairs=histogram_pairs(2, "add_remove"),
...     sample=lifted(run),
... )
>>> mine.claim(mine.epsilon)
Fraction(1, 1)
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from jostle.audit.distributions import Distribution
from jostle.audit.pairs import Pairs
from jostle.errors import AuditError
from jostle.privacy.amounts import Amount
from jostle.privacy.reals import Chance, Ratio

__all__ = ["Fault", "Outputs", "Sampler", "Subject", "lifted", "look_in", "names", "register", "subject"]

Data = TypeVar("Data")
Data_contra = TypeVar("Data_contra", contravariant=True)

Outputs = Sequence[Any] | NDArray[Any]
"""One entry (of a sequence) or one row (of an array) per run."""


class Sampler(Protocol):
    """The samplers a mechanism may draw from: what `Noise` offers, and `Forks` runs through."""

    def discrete_laplace(self, scale: Amount, size: int) -> NDArray[np.int64]:
        """Draws with P(x) proportional to exp(-|x|/scale)."""

    def less_laplace(self, drawn: NDArray[np.int64], scale: Amount, less: Amount) -> NDArray[np.int64]:
        """The noise of a smaller scale that each of *drawn* was made of."""

    def geometric(self, ratio: Ratio, size: int) -> NDArray[np.int64]:
        """Draws of G >= 0 with P(G >= g) = ratio**g."""

    def laplace_above(self, scale: Amount, threshold: int, size: int) -> NDArray[np.int64]:
        """Discrete Laplace draws given that they exceed the threshold."""

    def bernoulli(self, chance: Fraction | Chance, size: int) -> NDArray[np.bool_]:
        """Coins of the given chance."""

    def bernoulli_exponential(self, x: Amount, size: int) -> NDArray[np.bool_]:
        """Coins of chance exp(-x)."""

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Uniform whole numbers from 0 to bound - 1."""

    def distinct(self, population: int, count: int) -> NDArray[np.int64]:
        """Different whole numbers below *population*, in random order."""

    def successes(self, trials: int, chance: Fraction | Chance) -> NDArray[np.int64]:
        """Which of *trials* coins come up."""

    def binomial(self, trials: int, chance: Fraction | Chance) -> int:
        """How many of *trials* coins come up."""

    def permute_and_flip(self, scores: NDArray[np.int64], rate: Amount) -> int:
        """The index picked by permute-and-flip."""


class Sample(Protocol[Data_contra]):
    """Run a mechanism *size* times."""

    def __call__(self, noise: Sampler, data: Data_contra, epsilon: Fraction, size: int, /) -> Outputs:
        """One output per run."""


class Exact(Protocol[Data_contra]):
    """Work out what a mechanism does, without running it."""

    def __call__(self, data: Data_contra, epsilon: Fraction, /) -> Distribution:
        """The distribution of the output."""


@frozen
class Fault:
    """Why a mechanism breaks its claim, for a positive control."""

    how: str
    reference: str


def _itself(output: Any) -> Any:
    return output


def _same(epsilon: Fraction) -> Fraction:
    return epsilon


def _runnable(holder: Subject[Any], _: Attribute[Any], value: object) -> None:
    if value is None and holder.sample is None:
        raise AuditError(f"{holder.name} has neither a sample nor a distribution", fix="give it sample=...")


@frozen(kw_only=True)
class Subject(Generic[Data]):
    """A mechanism to audit."""

    name: str
    module: str
    """The module that registers it, named when another wants the same name."""
    about: str
    """What it releases, in a few words."""
    pairs: Pairs[Data]
    claim: Callable[[Fraction], Fraction] = _same
    """The privacy loss promised when run at epsilon."""
    sample: Sample[Data] | None = None
    """How to run it many times; see `lifted` for a mechanism that only runs once."""
    distribution: Exact[Data] | None = field(default=None, validator=_runnable)
    """The exact distribution of view(output); outputs in the sense of `Distribution.outputs`."""
    view: Callable[[Any], Hashable] = _itself
    """The part of an output that *distribution* is about; a bound on what it tells is one on the whole."""
    features: Callable[[Outputs], NDArray[np.float64]] | None = None
    """Numbers to tell outputs apart by, a row for each; by default all numbers found in them."""
    fault: Fault | None = None
    """For a positive control: what is wrong with it."""
    epsilon: Fraction = Fraction(1)
    """Where it is audited unless told otherwise."""
    samples: int = 100_000
    """How often it is run on each input unless told otherwise."""

    @property
    def is_control(self) -> bool:
        """Whether it is known to break its claim."""
        return self.fault is not None


def lifted(run: Callable[[Sampler, Data, Fraction], Any], reduce: Callable[[Any], Any] = _itself) -> Sample[Data]:
    """*run*, a mechanism that runs once, as one that runs many times; *reduce* makes its output comparable.

    An output may be a number, a tuple, an array, or a nesting of these; reduce a model to one of them first.
    """

    def sample(noise: Sampler, data: Data, epsilon: Fraction, size: int) -> Outputs:
        return [reduce(run(noise, data, epsilon)) for _ in range(size)]

    return sample


_REGISTERED: dict[str, Subject[Any]] = {}


def register(new: Subject[Data]) -> Subject[Data]:
    """The subject *new*, now known to the auditor by its name."""
    holder = _REGISTERED.setdefault(new.name, new)
    if holder is not new:
        raise AuditError(
            f"{new.name} is registered with the auditor already",
            why=f"{holder.module} holds the name",
            fix=f"register what {new.module} brings under another name",
        )
    return new


def names(*, controls: bool | None = None) -> tuple[str, ...]:
    """The names of all subjects, or of the positive controls, or of the others, in order of registration."""
    return tuple(name for name, held in _REGISTERED.items() if controls in (None, held.is_control))


Finder = Callable[[str], Subject[Any] | None]
_FINDERS: list[Finder] = []


def look_in(finder: Finder) -> Finder:
    """Let subjects be found that are not registered, since they come and go: *finder* gives the one of a name."""
    _FINDERS.append(finder)
    return finder


def subject(name: str) -> Subject[Any]:
    """The subject of this name."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    for finder in _FINDERS:
        if (found := finder(name)) is not None:
            return found
    folded = {known.lower(): known for known in _REGISTERED}
    near = [folded[key] for key in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    raise AuditError(
        f"no mechanism called {name!r} is registered with the auditor",
        why=f"similar names are registered: {', '.join(near)}" if near else "no name comes near it",
        fix=f"jostle audit {near[0]}" if near else f"one of {', '.join(_REGISTERED)}",
    )
