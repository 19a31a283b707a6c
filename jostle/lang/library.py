"""What programs can import, by module: names only, so that checking loads no algorithm."""

from __future__ import annotations

__all__ = ["MODULES"]

MODULES: dict[str, tuple[str, ...]] = {
    "histograms": (
        "AHP",
        "AdaptiveGrid",
        "DAWA",
        "GreedyH",
        "HierarchicalB",
        "Identity",
        "MWEM",
        "PerturbedHistogram",
        "Privelet",
        "QuadTree",
        "ShrunkTree",
        "ThresholdedHistogram",
        "Uniform",
        "UniformGrid",
    ),
    "trees": (
        "FletcherIslam",
        "FriedmanSchuster",
        "Jagannathan",
        "JostledTree",
        "Mohammed",
        "PatilSingh",
        "RandomForest",
    ),
    "classifiers": ("BayesTree", "Majority", "NaiveBayes", "PooledBayes", "PooledTree"),
    "public": ("gridCorpus", "tableCorpus"),
}
"""The Options by kind, and public databases."""
