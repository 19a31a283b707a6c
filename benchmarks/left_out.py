"""Makers that came with Jostle, as they would be without a group of databases; of a module, so that workers find it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from attrs import evolve

from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.learners import LEARNERS
from jostle.choice.learning.regret import single_best
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of
from jostle.choice.makers.training import SINGLE_BEST, Way, fit_way
from jostle.corpora.corpus import known
from jostle.programs import shipped_choice

__all__ = ["maker"]


@lru_cache(maxsize=64)
def maker(name: str, without: str) -> ChoiceMaker:
    """Return a maker that came with Jostle; if it learned from a group, as it would be without that."""
    made, shipped = shipped_choice(name), SHIPPED[name]
    trained, history = made.trained, rehearsals_of(name)
    of_group = {digest for digest in history.databases if known()[digest].group == without}
    if not of_group:
        return made
    cases = cases_of(history, made.among, epsilons=None, judge=shipped.judge)
    kept = cases.only(lambda instance: instance.database not in of_group)
    everything = np.ones(len(kept), dtype=np.bool_)
    single = single_best(kept.spent(Fraction(0)), kept.weights(everything), kept.floor)
    looked_at = trained.check(made.among, made.informed_by)
    learner = {each.name: each for each in (*LEARNERS, SINGLE_BEST.learner)}[trained.learner]
    fitted = fit_way(kept, Way(looked_at, trained.share, learner, trained.lead))
    return made.with_trained(evolve(trained, fitted=fitted, single=single))
