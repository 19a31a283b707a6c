"""The names of the built-in Options by task, as types."""

# Written by python -m jostle.lang.library, with the names that programs import.

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = [
    "ClassifierName",
    "EvaluatorName",
    "GridName",
    "MeanName",
    "PublisherName",
    "QuantileName",
    "SelectorName",
    "SumName",
    "VarianceName",
]

ClassifierName: TypeAlias = Literal[
    "AccuracyFirst",
    "BayesTree",
    "FletcherIslam",
    "FriedmanSchuster",
    "FunctionalLogistic",
    "Jagannathan",
    "JostledTree",
    "Majority",
    "MarginalRegression",
    "Mohammed",
    "NaiveBayes",
    "PLR",
    "PatilSingh",
    "PooledBayes",
    "PooledTree",
    "PrivGene",
    "PrivateERM",
    "PublishedTree",
    "RandomForest",
    "SelectPrivately",
    "SuLQID3",
]
EvaluatorName: TypeAlias = Literal["PriROC"]
GridName: TypeAlias = Literal[
    "AHP",
    "AdaptiveGrid",
    "AskedCells",
    "DAWA",
    "GreedyH",
    "HierarchicalB",
    "Identity",
    "MWEM",
    "PerturbedHistogram",
    "Privelet",
    "QuadTree",
    "RefinedTree",
    "ShrunkTree",
    "ThresholdedHistogram",
    "Uniform",
    "UniformGrid",
]
MeanName: TypeAlias = Literal[
    "BoundedMean",
    "ClippedMean",
]
PublisherName: TypeAlias = Literal[
    "DiffGen",
    "PrivBayes",
    "PrivPfC",
    "ProjectedHistogram",
]
QuantileName: TypeAlias = Literal[
    "CountedQuantiles",
    "PickedQuantiles",
]
SelectorName: TypeAlias = Literal[
    "ClusterSelection",
    "FirstFeatures",
    "NoisyCut",
    "Peeling",
    "PrivateKD",
    "PrivateThresholdTesting",
    "ScorePerturbation",
    "SparseVector",
]
SumName: TypeAlias = Literal[
    "BoundedSum",
    "ClippedSum",
]
VarianceName: TypeAlias = Literal[
    "MomentVariance",
    "SpreadVariance",
]
