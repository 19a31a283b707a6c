"""Options of the grid task: estimates of a grid's cells, for answering range queries.

An Option is called with a probe on a table whose columns are the grid's axes, and a `Workload`; what comes back is an
`Estimate`. The parts they are made of serve other work too: noisy wavelets (`noisy_wavelet`), trees fitted by least
squares (`least_squares`, `top_down`, `nonnegative`, with `grid_tree` for trees over any grid), private partitions
(`private_parts`).
"""

from jostle.options.ranges.base import GridOption, TreeCounts, count_tree
from jostle.options.ranges.partitions import private_parts
from jostle.options.ranges.tree import Tree, grid_tree, halving_tree, least_squares, nonnegative, top_down, tree_shares
from jostle.options.ranges.wavelets import haar_variances, inverse_haar, noisy_wavelet
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate, Workload

__all__ = [
    "Estimate",
    "GridOption",
    "SparseEstimate",
    "Tree",
    "TreeCounts",
    "Workload",
    "count_tree",
    "grid_tree",
    "haar_variances",
    "halving_tree",
    "inverse_haar",
    "least_squares",
    "noisy_wavelet",
    "nonnegative",
    "private_parts",
    "top_down",
    "tree_shares",
]
