"""The built-in Options; importing this registers them all."""

from jostle.options.classification import (
    greedy_trees,
    jostled_tree,
    linear_models,
    naive_bayes,
    pooled_tree,
    published_tree,
    random_trees,
    tuning,
)
from jostle.options.evaluation import pri_roc
from jostle.options.publishing import one_grid, privbayes, projected_histogram
from jostle.options.ranges import cells, grids, hierarchies, mwem, partitions, refined_tree, wavelets
from jostle.options.selection import selectors
from jostle.options.statistics import choosing, quantiles, totals, variances

__all__ = [
    "cells",
    "choosing",
    "greedy_trees",
    "grids",
    "hierarchies",
    "jostled_tree",
    "linear_models",
    "mwem",
    "naive_bayes",
    "one_grid",
    "partitions",
    "pooled_tree",
    "pri_roc",
    "privbayes",
    "projected_histogram",
    "published_tree",
    "quantiles",
    "random_trees",
    "refined_tree",
    "selectors",
    "totals",
    "tuning",
    "variances",
    "wavelets",
]
