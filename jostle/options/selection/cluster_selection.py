"""Cluster selection: features with like counts are scored together, so that noise averages out.

Stoddard, Chen, Machanavajjhala 2014, section 3.3, made private. As published, k-means runs on the features' own counts
and releases the noisy sum and size of each cluster as if a record moved a sum by what it holds. But a record can move a
feature into another cluster, and with it the feature's whole count: that is not private (the auditor's control
ClusterSums). Here counts get noise once, and clusters are made of the noisy
counts; a cluster scores as its features do in the mean.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.selection.base import ScoredSelector, noisy_counts
from jostle.parameters import whole
from jostle.privacy.events import Event, Laplace
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["ClusterSelection", "clustered"]

ROUNDS = 10
"""Of k-means."""
Floats = NDArray[np.float64]


@option
@frozen(kw_only=True)
class ClusterSelection(ScoredSelector):
    """Selects features by scores of clusters of features with like counts.

    Privacy: noisy counts of every feature by class, in one tally that costs epsilon; all else is computed from these.
    """

    paper = "Stoddard, Chen, Machanavajjhala 2014"

    clusters: int = whole(8, least=1)

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally."""
        return Laplace(epsilon)

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:
        """The features of the best clusters; of the last one, those with the best noisy scores."""
        scores, having = noisy_counts(db, self.score, self.most, epsilon)
        cluster = clustered(having.astype(np.float64), self.clusters)
        sizes = np.maximum(np.bincount(cluster, minlength=self.clusters), 1)
        means = np.rint(np.bincount(cluster, scores, minlength=self.clusters) / sizes).astype(np.int64)
        least = self.threshold * FeatureScore(self.score, self.most).units
        passing = np.flatnonzero(means[cluster] >= least) if least else np.arange(len(scores))
        order = np.lexsort((-scores[passing], -means[cluster[passing]]))
        return np.asarray(passing[order][: self.top])


def clustered(points: Floats, count: int) -> NDArray[np.intp]:
    """The cluster of each point: Lloyd's k-means, begun at points evenly spread in order of their sums."""
    order = np.argsort(points.sum(axis=1), kind="stable")
    centres = points[order[np.linspace(0, len(points) - 1, min(count, len(points))).astype(int)]]
    nearest = np.zeros(len(points), dtype=np.intp)
    for _ in range(ROUNDS):
        nearest = np.argmin(((points[:, None, :] - centres) ** 2).sum(axis=2), axis=1)
        for place in range(len(centres)):
            if np.any(nearest == place):
                centres[place] = points[nearest == place].mean(axis=0)
    return nearest
