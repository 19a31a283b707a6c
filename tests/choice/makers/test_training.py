"""Training: what matters is found, what does not is left alone, and nobody is on both sides of a split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
from attrs import evolve
from small import METAFEATURES, attributes, budget, by_rows, first_share, known_by_rows, options, planted, size

from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.learning.history import History, KnownDatabase, KnownInstance, Line, Runs, judged_key
from jostle.choice.learning.learners import ForestLearner, TreeLearner
from jostle.choice.learning.regret import split_groups
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of
from jostle.choice.makers.trained import Trained, trained_on
from jostle.choice.makers.training import (
    SINGLE_BEST,
    Judged,
    Way,
    best_way,
    judge,
    judge_all,
    most_careful,
    nested,
    unlike,
)
from jostle.errors import ChoiceError, Source
from jostle.lang.program import load_source
from jostle.options import get
from jostle.options.base import Option
from jostle.tasks import Judge
from jostle.tasks.metafeature import Metafeature

AMONG = options()
SHARES = (Fraction(1, 50), Fraction(1, 10))


def judged(history: History, metafeatures: Sequence[Metafeature] = METAFEATURES) -> tuple[Cases, list[Judged]]:
    cases = cases_of(history, AMONG)
    return cases, judge_all(cases, metafeatures, shares=SHARES, learners=(TreeLearner(),), folds=6, draws=2)


def test_what_decides_is_found_and_bought() -> None:
    """Losses depend on the number of rows alone, which is bought: looking at it beats all that is free."""
    cases, tried = judged(known_by_rows())
    best = best_way(cases, tried)
    assert size in best.way.metafeatures
    assert best.way.share in SHARES
    found = nested(cases, tried, folds=6).figures(cases)
    assert found.gap_closed > 0.7
    assert found.regret_mean < 1.2
    free = judge(cases, Way((budget, attributes), Fraction(0), TreeLearner()), folds=6)
    assert free.score(cases) > best.score(cases) + 0.2


def test_rules_say_what_is_run_where_and_can_be_pasted_into_a_program() -> None:
    rules = trained_on(*_learned(known_by_rows())).rules()
    assert re.search(r"#   Majority where size <= 3\.\d+\n#   NaiveBayes where size > 3\.\d+\n", rules)
    bodies = dict(re.findall(r"# In the class of (\w+):\n((?:    .*\n?)+)", rules))
    classes = [
        f"class My{name}(Option):\n    def answer(db):\n        return {name}(db)\n\n{body}\n"
        for name, body in bodies.items()
    ]
    text = "\n".join(
        [
            "from classifiers import Majority, NaiveBayes\n",
            "def size(db):\n    return {{ len(db) }}\n",
            *classes,
            "choice = MkChoiceMaker among {MyMajority, MyNaiveBayes} informed by {size}\n",
            "def main(db):\n    return choice(db)\n",
        ]
    )
    maker = load_source(Source("p.jst", text)).makers["choice"]
    predicted = [[prior({"size": rows}) for prior in maker.priors() if prior] for rows in (2.0, 5.0)]
    assert predicted == [[1, 2], [2, 1]]


def _learned(history: History) -> tuple[Cases, tuple[Option, ...], list[Judged]]:
    cases, tried = judged(history)
    return cases, AMONG, tried


def test_what_decides_in_public_is_not_paid_for() -> None:
    def by_budget(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.4, 0.1) if epsilon >= 1 else (0.4, 0.9)

    cases, tried = judged(planted(by_budget, AMONG))
    best = best_way(cases, tried)
    assert best.way.share == 0
    assert not set(best.way.metafeatures) & {size, first_share}
    assert nested(cases, tried, folds=6).figures(cases).gap_closed > 0.9


def test_where_nothing_helps_nothing_is_spent_and_the_single_best_is_run() -> None:
    """Which Option wins is a coin thrown for each database: nothing that can be seen tells."""
    chance = np.random.default_rng(1)
    coins = chance.random(40) < 0.6

    def by_chance(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.2, 0.3) if coins[number] else (0.3, 0.2)

    cases, tried = judged(planted(by_chance, AMONG, count=40))
    best = best_way(cases, tried)
    assert best.way.share == 0
    trained = trained_on(cases, AMONG, tried)
    shares = best.taken.mean(axis=0)
    assert best.way.learner.name == "single best" or shares[0] > 0.5
    assert trained.options[trained.single][0] == "Majority"


def test_the_single_best_option_is_run_where_another_has_the_lower_log_regret() -> None:
    """The first errs half as much again on three of four databases, and a third as much on the rest."""
    cases = cases_of(known_by_rows(), AMONG)
    seldom = (np.unique(cases.databases, return_inverse=True)[1] % 4 == 0)[:, None]
    losses = np.ones((len(cases), len(AMONG)))
    losses[:, :2] = np.where(seldom, [[0.3, 0.9]], [[0.29, 0.2]])
    cases = evolve(cases, losses=np.repeat(losses[:, :, None], cases.losses.shape[2], axis=2))
    judged = judge(cases, SINGLE_BEST, folds=20)
    regrets = losses / losses.min(axis=1, keepdims=True)
    assert regrets.mean(axis=0).argmin() == 0
    assert np.log(regrets).mean(axis=0).argmin() == 1
    assert judged.taken[:, 0].tolist() == [1.0] * len(cases)


def test_ways_about_as_good_cost_as_little_as_can_be() -> None:
    cases = cases_of(known_by_rows(), AMONG)
    way = SINGLE_BEST
    first = judge(cases, way, folds=4)
    second = Judged(evolve(way, share=Fraction(1, 10)), first.losses * 0.9999, first.single, first.taken)
    better = Judged(way, first.losses * 0.9, first.single, first.taken)
    assert best_way(cases, [first, second]) is first
    assert best_way(cases, [first, second, better]) is better


def test_a_gain_is_clear_if_it_is_larger_than_its_standard_error_over_groups() -> None:
    cases = cases_of(known_by_rows(), AMONG)
    first = judge(cases, SINGLE_BEST, folds=4)
    _, group = np.unique(cases.groups, return_inverse=True)
    steady = evolve(first, losses=first.losses * 0.9)
    wavering = evolve(first, losses=first.losses * np.where(group % 2, 0.5, 2.0))

    gain, error = steady.gain(first, cases)
    assert gain > 3 * error
    assert gain == pytest.approx(first.score(cases) - steady.score(cases))
    gain, error = wavering.gain(first, cases)
    assert 0 < gain < error
    assert wavering.gain(wavering, cases) == (0, 0)


def test_groups_are_on_one_side_of_every_split() -> None:
    groups = np.array([f"group {number % 7}" for number in range(60)])
    folds = list(split_groups(groups, 3))
    assert len(folds) == 3
    assert (np.sum(folds, axis=0) == 1).all(), "each case is left out once"
    for left_out in folds:
        assert not set(groups[left_out]) & set(groups[~left_out])
    assert [fold.tolist() for fold in split_groups(groups, 3)] == [fold.tolist() for fold in folds]
    assert len(list(split_groups(groups[:3], 10))) == 3, "no more folds than groups"


def test_where_several_kinds_of_questions_are_asked_ways_are_tried_on_kinds_and_sizes_left_out() -> None:
    cases = cases_of(rehearsals_of("ranges"), [get(name) for name in SHIPPED["ranges"].among])
    times = np.zeros(len(cases))
    for kept, tried in unlike(cases, 10):
        times += tried
        for facts in (
            cases.groups,
            cases.kinds,
            *(np.floor(np.log10(each)) for each in (cases.records_epsilon, cases.cells)),
        ):
            assert not set(facts[kept].tolist()) & set(facts[tried].tolist())
    assert (times == 1).all()


def test_nobody_is_judged_by_what_they_were_learned_from() -> None:
    """Databases come in twins, of which one Option is best for no reason: learning from a twin would be perfect."""
    chance = np.random.default_rng(2)
    coins = chance.random(20) < 0.5

    def by_twins(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.1, 0.4) if coins[number // 2] else (0.4, 0.1)

    def regret(group: int) -> float:
        history = planted(by_twins, AMONG, count=40, group=lambda number: f"group {number // group}")
        cases = cases_of(twins(history), AMONG)
        way = Way((attributes, first_share), Fraction(1, 10), ForestLearner(rows=1))
        return judge(cases, way, folds=20, exact=True).score(cases)

    assert regret(1) < 1.2, "twins on two sides: what is seen of one tells about the other"
    assert regret(2) > 1.6, "twins together: nothing tells"


def twins(history: History) -> History:
    """Return the same history where each second database looks just like the one before it."""
    lines = list(history.lines())
    looks = list(history.instances.values())
    pairs = {looks[place].key: looks[place - place % 2] for place in range(len(looks))}
    return History(
        evolve(line, sketch=pairs[line.key].sketch, read=pairs[line.key].read)
        if isinstance(line, KnownInstance)
        else line
        for line in lines
    )


def test_what_is_learned_hangs_on_no_order_in_which_rehearsals_ended() -> None:
    """Workers hand losses in as they end: what is learned from is in the order in which it is named."""
    history = known_by_rows()
    lines = list(history.lines())[::-1]
    turned = History(
        [line for kind in (KnownDatabase, KnownInstance, Runs) for line in lines if isinstance(line, kind)]
    )
    first, second = (cases_of(each.of(history.instances), AMONG) for each in (history, turned))
    assert second.instances == first.instances
    assert second.databases.tolist() == first.databases.tolist()
    np.testing.assert_array_equal(second.losses, first.losses)


def test_what_is_trained_reads_back_and_remembers_what_it_learned_from() -> None:
    cases, tried = judged(known_by_rows())
    trained = trained_on(cases, AMONG, tried)
    again = Trained.from_json(trained.to_json())
    assert again.to_json() == trained.to_json()
    assert again.mark == trained.mark
    assert set(trained.digests) == {instance.database[:8] for instance in cases.instances}
    assert trained.options[trained.single][0] == "NaiveBayes", "1.5 times the best on average; the other one twice"
    assert trained.rehearsals == 24 * 3 * 2 * 2
    assert (trained.databases, trained.groups) == (24, 24)
    looked_at = trained.check(AMONG, METAFEATURES)
    assert [each.name for each in looked_at] == [name for name, _ in trained.metafeatures]
    few, many = ([0.0, 4.0, rows, 0.5] for rows in (2.2, 4.8))
    for seen, taken, words in ((few, 0, "there are few rows"), (many, 1, "there are many rows")):
        row = [seen[METAFEATURES.index(each)] for each in looked_at]
        assert trained.predict(row).order[0] == taken
        assert words in trained.why(row, looked_at, taken, trained.predict(row))


def test_losses_of_one_judge_are_not_learned_from_by_another() -> None:
    maker = ChoiceMaker(among=AMONG, informed_by=METAFEATURES)
    marked: list[Line] = []
    for line in planted(by_rows, AMONG, count=3).lines():
        if isinstance(line, KnownInstance):
            marked.append(evolve(line, key=judged_key(line.key, "speed")))
        elif isinstance(line, Runs):
            marked.append(evolve(line, instance=judged_key(line.instance, "speed")))
        else:
            marked.append(line)
    mixed = History([*known_by_rows().lines(), *marked])
    plain = Training(history=mixed).rehearsed(maker)
    assert len(plain) == len(known_by_rows())
    judge = Judge("speed", lambda instance, answer: 0.0)
    assert len(Training(history=mixed, judged_by=judge).rehearsed(maker)) == 3 * 2 * 2 * 3
    with pytest.raises(ChoiceError, match="nothing in the history was judged by speed"):
        Training(history=known_by_rows(), judged_by=judge).rehearsed(maker)


def test_of_leads_that_are_about_as_good_the_most_careful_is_taken() -> None:
    cases = cases_of(planted(lambda *_: (0.2, 0.4), options(), count=40), options())
    noise = np.random.default_rng(1).normal(0, 0.05, len(cases))
    taken, single = np.zeros((len(cases), 2)), np.full(len(cases), 0.4)
    bold = Judged(evolve(SINGLE_BEST, lead=0.0), np.full(len(cases), 0.25), single, taken)
    about = Judged(evolve(SINGLE_BEST, lead=0.1), 0.252 + noise - noise.mean(), single, taken)
    worse = Judged(evolve(SINGLE_BEST, lead=0.2), 0.35 + noise, single, taken)
    assert most_careful(cases, [worse, about, bold]) is about
    assert most_careful(cases, [worse, bold]) is bold
    assert most_careful(cases, [worse]) is worse
