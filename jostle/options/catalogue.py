"""The built-in Options; importing this registers them all."""

# ruff: noqa: F401 - imported for what importing does

from jostle.options.classification import (
    descents,
    greedy_trees,
    jostled_tree,
    linear_models,
    naive_bayes,
    pooled_tree,
    priv_gene,
    published_tree,
    random_trees,
    tuning,
)
from jostle.options.evaluation import pri_roc
from jostle.options.publishing import one_grid, privbayes, projected_histogram
from jostle.options.ranges import asked_cells, cells, grids, hierarchies, mwem, partitions, refined_tree, wavelets
from jostle.options.selection import selectors
from jostle.options.statistics import choosing, quantiles, totals, variances
