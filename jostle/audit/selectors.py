"""Every Option of the selection task as it is called, audited through the door.

Each subject rehearses on made-up tables of two features and a label, and selects one of them; of what trains on it, the
output is also how far the model leans to a class. The selector that is not
private is a positive control, run as it would be on rows it was let at.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from jostle.audit.classifiers import Labelled, adjacent, labelled_pairs, labelled_table
from jostle.audit.pairs import Pair, Relation, Vector, chosen_pairs, histograms_adjacent
from jostle.audit.selections import ClusterSums, Mirrored
from jostle.audit.subjects import Fault, Outputs, Sampler, Subject, register
from jostle.options.base import Option
from jostle.options.registry import built_in, get
from jostle.options.selection import ScoredSelector, Selector
from jostle.privacy.opening import rehearse
from jostle.tasks import SELECTION

__all__ = ["SELECTORS", "SELECTOR_CONTROLS"]

RUNS = 2_000
NONE = -1
"""In place of a feature that was not selected."""
STEPS, MOST_STEPS = 4, 8
"""How finely it is told how far a model leans to a class, and how far at most."""


def _selected(option: Any, relation: Relation, most: int) -> Any:
    """The sample that runs an Option again and again in one rehearsal."""

    def sample(noise: Sampler, data: Labelled, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(labelled_table(data, relation), seed=int(noise.below(2**62, 1)[0]))
        trains = isinstance(option, Selector) and option.trains_with(epsilon) > 0
        found = np.full((size, most + trains), NONE, dtype=np.int64)
        for run in found:
            selected = option(db, epsilon=epsilon)
            run[: len(selected.places)] = sorted(selected.places)
            if trains:
                leaning = STEPS * (selected.model.start[-1] - selected.model.start[0])
                run[most] = np.clip(np.rint(leaning), -MOST_STEPS, MOST_STEPS)
        return found

    return sample


def selector_subjects(option: Option, name: str) -> Iterator[Subject[Any]]:
    """Yield a selector as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        how = "replaced" if relation == "replace_one" else "added"
        yield Subject(
            name=name + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"one of two features by {option.name}, a record {how}",
            pairs=labelled_pairs(relation),
            sample=_selected(option, relation, 1),
            samples=RUNS,
        )


def _one_feature(kind: type[Option]) -> Option:
    """A selector of one feature, by a score whose noise does not go by how many records there are."""
    scored = issubclass(kind, ScoredSelector)
    return get(f"{kind.__name__}(top=1{', score=DC' if scored else ''})")


SELECTORS: tuple[Subject[Any], ...] = tuple(
    subject
    for kind in built_in()
    if kind.task is SELECTION and kind.private
    for subject in selector_subjects(_one_feature(kind), kind.__name__)
) + tuple(selector_subjects(get("Peeling(top=1, training=1/2)"), "TrainedPeeling"))


def _added(first: Vector, second: Vector) -> bool:
    return histograms_adjacent(first, second, "add_remove")


def _swapped(first: Vector, second: Vector) -> bool:
    """Whether two lists of scores change places, no score moving by more than 1."""
    half = len(first) // 2
    moved = max(abs(one - other) for one, other in zip(first[:half], first[half:], strict=True))
    return second == (*first[half:], *first[:half]) and moved <= 1


_sums, _mirrored = ClusterSums(cut=10), Mirrored()
_one_word: Labelled = (("x", "v", "n"),)

SELECTOR_CONTROLS: tuple[Subject[Any], ...] = (
    Subject(
        name="PrivateThresholdTesting",
        module=__name__,
        about="features whose score reaches a noisy threshold, by the Option itself",
        pairs=chosen_pairs(
            "add_remove",
            lambda first, second: adjacent(first, second, "add_remove"),
            Pair(_one_word, (*_one_word, ("y", "u", "n")), "one feature has a record; one comes that has the other"),
        ),
        sample=_selected(get("PrivateThresholdTesting(score=TC, threshold=1)"), "add_remove", 2),
        samples=RUNS,
        fault=Fault(
            "scores get no noise: those with one feature alone above the threshold are told from those with both",
            "Stoddard, Chen, Machanavajjhala, 2014; refuted by Lyu, Su, Li, PVLDB 10(6), 2017",
        ),
    ),
    Subject(
        name="ClusterSums",
        module=__name__,
        about="the noisy sum of the counts of a cluster of features, of sensitivity 1 as published",
        pairs=chosen_pairs("add_remove", _added, Pair((9, 20), (10, 20), "a feature comes into the cluster")),
        sample=_sums.sample,
        distribution=_sums.distribution,
        fault=Fault(
            "a record moves a feature into the cluster, and the sum by all that the feature counts",
            "Stoddard, Chen, Machanavajjhala, 2014, section 3.3",
        ),
    ),
    Subject(
        name="PermuteAndFlipBoundedRange",
        module=__name__,
        about="two picks by permute-and-flip that a record moves opposite ways, claimed as one exponential mechanism",
        pairs=chosen_pairs(
            "add_remove", _swapped, Pair((0, 1, 1, 0), (1, 0, 0, 1), "the better one becomes the other")
        ),
        sample=_mirrored.sample,
        distribution=_mirrored.distribution,
        fault=Fault(
            "log-ratios of the exponential mechanism lie within epsilon of each other, hence its epsilon**2/8 of "
            "concentrated privacy; those of permute-and-flip lie further apart, and it has no such claim",
            "Dong, Durfee, Rogers, 2020, on bounded range; McKenna, Sheldon, NeurIPS 2020",
        ),
    ),
)

for _subject in (*SELECTORS, *SELECTOR_CONTROLS):
    register(_subject)
