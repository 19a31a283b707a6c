"""The built-in Options; importing this registers them all."""

from jostle.options.classifiers import (
    bayes_tree,
    majority,
    naive_bayes,
)
from jostle.options.histograms import (
    adaptive_grid,
    ahp,
    dawa,
    greedy_h,
    hierarchical_b,
    identity,
    mwem,
    perturbed_histogram,
    privelet,
    quad_tree,
    shrunk_tree,
    thresholded_histogram,
    uniform,
    uniform_grid,
)
from jostle.options.trees import (
    fletcher_islam,
    friedman_schuster,
    jagannathan,
    mohammed,
    patil_singh,
    random_forest,
)

__all__ = [
    "adaptive_grid",
    "ahp",
    "bayes_tree",
    "dawa",
    "fletcher_islam",
    "friedman_schuster",
    "greedy_h",
    "hierarchical_b",
    "identity",
    "jagannathan",
    "majority",
    "mohammed",
    "mwem",
    "naive_bayes",
    "patil_singh",
    "perturbed_histogram",
    "privelet",
    "quad_tree",
    "random_forest",
    "shrunk_tree",
    "thresholded_histogram",
    "uniform",
    "uniform_grid",
]
