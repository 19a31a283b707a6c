"""How counts are split among the halves of a node, on public histograms: what a reading expects beforehand.

A node of a tree of halvings is in one of a few states, which it hands down to its children, nearly always the same one.
The state says how common each kind of split is: all in one half, evenly but for chance and a certain unevenness, or
anyhow. Histograms of a few spikes, of rough terrain and of smooth terrain look so different that the noisy counts soon
tell which it is, each part of the histogram for itself.

The numbers were fitted to public histograms, without noise, as `benchmarks/split_model.py` does: a fit today draws
other records, and differs from the second digit on.
"""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

__all__ = ["SPLITS", "SplitModel"]

Floats = NDArray[np.float64]


def _chances(rows: ArrayLike) -> Floats:
    """Rows of chances, each adding up to 1."""
    made = np.asarray(rows, dtype=np.float64)
    scaled: Floats = made / made.sum(axis=-1, keepdims=True)
    return scaled


@frozen(eq=False)
class SplitModel:
    """A hidden Markov tree: states of nodes, what splits they make, and how they are handed down."""

    widths: tuple[float, ...]
    """Kinds of uneven splits: by how much the first half's share deviates from even beside chance, where 1 is most.

    The shares are beta distributed; 0 is chance alone.
    """
    kinds: Floats = field(converter=_chances)
    """Per state, the chances of: nothing in the first half, all in the first half, each width in turn, anyhow."""
    handed_down: Floats = field(converter=_chances)
    """Per state of a node, the chances of its children's states."""
    first: Floats = field(converter=_chances)
    """The chances of the root's states."""
    fitted_on: tuple[str, ...] = ()
    """The digests of the public histograms it was fitted to: Options that read by it name them as theirs."""


SPLITS = SplitModel(
    widths=(0.0, 0.03, 0.08, 0.2, 0.4, 0.7),
    kinds=[
        [0, 0, 0.499, 0.318, 0.1811, 0.0016, 0, 0, 0],
        [0.0018, 0.0018, 0.0016, 0.0013, 0.0022, 0.0037, 0.0047, 0.911, 0.0719],
        [0.0008, 0.0008, 0.0056, 0.0097, 0.0661, 0.1928, 0.6521, 0.0074, 0.0647],
        [0.0009, 0.0009, 0.0015, 0.0018, 0.0028, 0.0203, 0.2069, 0.4704, 0.2944],
        [0.3227, 0.3227, 0.0021, 0.0026, 0.0075, 0.0059, 0.0145, 0.2691, 0.0528],
        [0, 0, 0.0056, 0.0701, 0.1899, 0.6872, 0.0464, 0, 0],
    ],
    handed_down=[
        [0.9991, 0.0001, 0.0002, 0.0001, 0.0001, 0.0005],
        [0.0013, 0.8863, 0.0352, 0.0017, 0.0461, 0.0293],
        [0.0015, 0.066, 0.9157, 0.0113, 0.0009, 0.0046],
        [0.3011, 0.0066, 0.001, 0.6152, 0.0014, 0.0745],
        [0.0002, 0.0109, 0.0004, 0.0013, 0.987, 0.0003],
        [0.001, 0.0002, 0.0105, 0.0004, 0.0001, 0.9878],
    ],
    first=[0.0732, 0.2524, 0.0742, 0.3458, 0.2467, 0.0076],
    fitted_on=(
        "c935929c07c6504e3967b71ac51331f1",  # HEPTH
        "12c17457a90d145c0c2afe27cddb4c18",  # INCOME
        "ead0e4109c689c830cdbd57859dcced5",  # GrossCompenMDSalary1
        "f18ac77ddeb678f568c547d632e79ef6",  # RejectStats_0
        "fe89d0962a76addbd8d1f7efa1fbd0f9",  # RejectStats_4
        "d24f4d087157f0d4896b3cf6befbffc3",  # BeijingTaxiS
        "09b37f9de5465fffc1e3ace1995f0c05",  # Loan
        "b0ab5a93aeece93b52f29217f38afab1",  # MDSalary
    ),
)
