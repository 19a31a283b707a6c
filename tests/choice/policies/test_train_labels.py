"""Labels learn what their Options are worth where they stand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import frozen

import jostle
from jostle import Categorical, Schema, Table
from jostle.choice.learning.formulas import choice_formulas
from jostle.choice.learning.learners import Lesson
from jostle.choice.policies.learn import Grounds, Worth, fit_policies, formula_worths, train_labels
from jostle.choice.trainer import worth_text
from jostle.errors import ChoiceError
from jostle.learned.policies import Forest, LearnedPolicy, read_policies, shipped_policies, write_policies
from jostle.options.classification.jostled_tree import ACTIONS, RULES
from jostle.options.functions import function_option
from jostle.sites import Choice, choose, choose_each, follow

SIDES = ("left", "right")


@frozen
class Public:
    """A public table of so many rows, which are a public fact; an answer is its own loss."""

    rows: int

    @property
    def key(self) -> str:
        return f"public {self.rows}"

    @property
    def table(self) -> Table:
        schema = Schema({"a": Categorical(["x"])}, neighbours="replace_one", rows=self.rows)
        return Table.from_frame(pa.table({"a": ["x"] * self.rows}), schema)

    def loss(self, answer: Any) -> float:
        return float(answer)


SITUATIONS = tuple(map(Public, range(1, 40, 2)))


def sides(db: jostle.Probe, epsilon: Fraction) -> float:
    """Go left where there are more than 20 rows, and right elsewhere: that is best. Noise comes on top."""
    rows = db.schema.rows or 0
    side = choose("Side", among=SIDES, informed_by={"n": rows, "e": epsilon})
    wrong = (side == "left") != (rows > 20)
    return 1 + wrong + float(db.below(100, 1)[0]) / 200


def best(policies: Any, rows: int) -> float:
    """Return what the program does without the noise, its choices made by these policies."""
    with follow(policies):
        return int(sides(jostle.rehearse(Public(rows).table), Fraction(1)))


def test_a_choice_is_learned_and_holds_where_it_was_not_tried() -> None:
    policies = train_labels(sides, SITUATIONS, ["1"], rounds=2, runs=10)
    assert [best(policies, rows) for rows in (2, 8, 14, 26, 32, 38)] == [1] * 6
    assert best({}, 8) == 2


def test_a_choice_as_a_formula_is_what_is_planted_and_its_worth_is_said() -> None:
    """Right below 20 rows and left above: a threshold of what is seen tells it, and either side everywhere is worse."""
    lessons: list[Lesson] = []
    policies = train_labels(sides, SITUATIONS, ["1"], rounds=2, runs=10, heard=lessons.extend)
    (formula,) = choice_formulas(lessons, ["Side"], runs=400)
    assert {name for each in formula.sums for term in each.terms for name in term.names} == {"n"}
    assert [best({"Side": formula}, rows) for rows in (2, 8, 32, 38)] == [1] * 4
    (worth,) = formula_worths(
        Grounds(program=sides, situations=SITUATIONS, epsilons=["1"], seed=(0, 2)), policies, [formula]
    )
    gains = {each.over: (each.gain, each.error) for each in worth.gains}
    assert set(gains) == {"what is followed now", "left everywhere", "right everywhere"}
    assert all(gains[f"{side} everywhere"][0] > 2 * gains[f"{side} everywhere"][1] > 0 for side in SIDES)
    assert worth.as_text(None).splitlines()[-4:-1] == [
        "# In the place of: choose Side among {left, right} informed by {n, e}",
        'left = "left"',
        'right = "right"',
    ]
    assert formula.expression.startswith("left if ")
    assert formula.expression.endswith(" else right")


def test_the_same_seed_learns_the_same() -> None:
    first, again, other = (
        train_labels(sides, SITUATIONS[:10], ["1"], rounds=1, runs=12, seed=seed)["Side"].facts() for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def risky(db: jostle.Probe, epsilon: Fraction) -> float:
    """Safe costs 0.5. Risky costs 0.1 if the second choice is right, and 1 otherwise: one of four is."""
    if choose("First", among=("safe", "risky"), informed_by={"e": epsilon}) == "safe":
        return 0.5
    second = choose("Second", among=("a", "b", "c", "d"), informed_by={"e": epsilon})
    return 0.1 if second == "c" else 1.0


@pytest.mark.slow
def test_later_rounds_see_what_a_choice_is_worth_if_good_ones_follow() -> None:
    """After one round, in which what follows is mostly wrong, the risk looks bad; then it is found out to be good."""
    learn = partial(train_labels, risky, SITUATIONS, ["1"], runs=40, learned_from=1, trials=0)
    for rounds, expected in ((1, 0.5), (3, 0.1)):
        with follow(learn(rounds=rounds)):
            assert risky(jostle.rehearse(Public(1).table), Fraction(1)) == expected


def levels(db: jostle.Probe, epsilon: Fraction) -> float:
    """Choose at ten sites at once; what is lost is the share of sites that go the wrong way."""
    places = choose_each("Site", among=SIDES, informed_by={"n": range_of(10), "e": float(epsilon)})
    return 0.1 + sum(int(place) == (n >= 5) for n, place in enumerate(places)) / 10


def range_of(count: int) -> Sequence[int]:
    return list(range(count))


def test_many_sites_that_choose_at_once_learn_each_their_own() -> None:
    policies = train_labels(levels, SITUATIONS, ["1"], rounds=3, runs=12, inputs={"Site": ["n"]})
    assert policies["Site"].inputs == ("n",)
    with follow(policies):
        assert levels(jostle.rehearse(Public(1).table), Fraction(1)) == pytest.approx(0.1)


def test_lessons_are_losses_relative_to_the_situation() -> None:
    taught = Grounds(program=sides, situations=SITUATIONS[:3], epsilons=[Fraction(1), Fraction(2)]).lessons(
        {}, runs=6, rate=Fraction(1)
    )
    assert len(taught) == 3 * 2 * 6
    assert sum(lesson.loss for lesson in taught) == pytest.approx(len(taught))
    assert {lesson.seen for lesson in taught} == {(n, e) for n in (1, 3, 5) for e in (1, 2)}
    for lesson in taught:
        assert lesson.weight == 1
        assert lesson.label == "Side"


def test_sites_that_see_and_take_the_same_are_one_lesson() -> None:
    taught = Grounds(program=levels, situations=SITUATIONS[:1], epsilons=[Fraction(1)]).lessons(
        {}, runs=1, rate=Fraction(0)
    )
    assert len(taught) == 10
    assert sum(lesson.weight for lesson in taught) == pytest.approx(1)
    alike = Grounds(program=same_everywhere, situations=SITUATIONS[:1], epsilons=[Fraction(1)]).lessons(
        {}, runs=1, rate=Fraction(0)
    )
    assert [lesson.weight for lesson in alike] == [1]


def same_everywhere(db: jostle.Probe, epsilon: Fraction) -> float:
    choose_each("Site", among=SIDES, informed_by={"n": 4}, count=7)
    return 1.0


def no_choice(db: jostle.Probe, epsilon: Fraction) -> float:
    return 1.0


def coin(db: jostle.Probe, epsilon: Fraction) -> float:
    """Heads is better by a little on the whole, wherever; what the choice sees says nothing."""
    side = choose("Coin", among=("tails", "heads"), informed_by={"nothing": db.schema.rows or 0})
    return 1 + 0.1 * (side == "tails") + float(db.below(100, 1)[0]) / 50


def test_where_nothing_is_to_be_learned_the_best_alternative_is_taken_everywhere() -> None:
    policies = train_labels(coin, SITUATIONS, ["1"], rounds=1, runs=10, trials=4)
    assert policies["Coin"].fixed
    assert policies["Coin"].usual == "heads"
    unsettled = train_labels(coin, SITUATIONS, ["1"], rounds=1, runs=10, trials=0)
    assert not unsettled["Coin"].fixed


def test_what_cannot_be_learned_is_refused_in_words() -> None:
    learn = partial(train_labels, epsilons=["1"], rounds=1)
    with pytest.raises(ChoiceError, match="the program made no choice"):
        learn(no_choice, SITUATIONS, runs=2)
    with pytest.raises(ChoiceError, match="choice Side took 'left' only 2 times"):
        learn(sides, SITUATIONS[:1], runs=4)
    with pytest.raises(ChoiceError, match="no choice Sise was met"):
        learn(sides, SITUATIONS, runs=4, caution={"Sise": 1.0})
    with pytest.raises(ChoiceError, match="choice Side does not see 'm'"):
        learn(sides, SITUATIONS, runs=4, inputs={"Side": ["m"]})


def rarely(db: jostle.Probe, epsilon: Fraction) -> float:
    """Come to a second choice in one situation of several."""
    rows = db.schema.rows or 0
    if rows == 1:
        choose("Rare", among=("a", "b", "c", "d"), informed_by={"n": rows})
    return sides(db, epsilon)


def test_a_label_that_is_met_too_rarely_may_be_left_out() -> None:
    learn = partial(train_labels, rarely, SITUATIONS[:8], ["1"], rounds=1, runs=10, trials=0)
    with pytest.raises(ChoiceError, match="choice Rare took"):
        learn()
    assert [*learn(rare_left_out=True)] == ["Side"]
    with pytest.raises(ChoiceError, match="only 1 times"):
        train_labels(sides, SITUATIONS[:1], ["1"], rounds=1, runs=2, rare_left_out=True)


def blind(db: jostle.Probe, epsilon: Fraction) -> float:
    """Choose without looking at anything."""
    return 1 + (choose("Blind", among=SIDES) == "left")


def test_a_choice_that_sees_nothing_is_learned_as_well() -> None:
    policies = train_labels(blind, SITUATIONS[:4], ["1"], rounds=1, runs=12)
    assert policies["Blind"].inputs == ()
    with follow(policies):
        assert blind(jostle.rehearse(Public(1).table), Fraction(1)) == 1


def refusing(db: jostle.Probe, epsilon: Fraction) -> float:
    """Go left, and be refused; go right, and be neither good nor bad."""
    if choose("Side", among=SIDES, informed_by={"e": epsilon}) == "left":
        db.count(epsilon * 2)
    return 1 + float(db.below(100, 1)[0]) / 200


def test_what_is_refused_ends_worse_than_anything_else() -> None:
    told: list[Worth] = []
    policies = train_labels(refusing, SITUATIONS[:6], ["1"], rounds=1, runs=10, told=told.append)
    with follow(policies):
        assert refusing(jostle.rehearse(Public(1).table, epsilon=1), Fraction(1)) >= 1
    (worth,) = told
    losses = {name: loss for name, loss, *_ in worth.losses}
    assert losses["left"] == pytest.approx(2 * losses["right"])


def nowhere(db: jostle.Probe, epsilon: Fraction) -> float:
    """Go anywhere, and have an Option answer another task than its own."""
    choose("Side", among=SIDES, informed_by={"e": epsilon})
    wrong: Any = function_option(misled, task="classification", predict=None)
    return float(wrong(db, epsilon=epsilon))


def misled(db: jostle.Probe, *, epsilon: Fraction) -> str:
    """Give back no model."""
    return f"{db.count(epsilon)} rows"


def test_what_an_option_gives_that_is_no_answer_is_a_crash_for_whole_programs_as_well() -> None:
    ground = Grounds(program=nowhere, situations=SITUATIONS[:1], epsilons=["1"])
    with pytest.raises(ChoiceError, match="can be judged: crashed: misled gives back a value of type str"):
        ground.lessons({}, runs=1, rate=Fraction(1))


def tree(db: jostle.Probe, epsilon: Fraction) -> float:
    """Come to one root, which matters, and to 400 leaves, which do not."""
    root = choose("Go", among=SIDES, informed_by={"depth": 2})
    for _ in range(400):
        choose("Go", among=SIDES, informed_by={"depth": 0})
    return 1 + (root == "left")


@pytest.mark.slow
def test_a_root_is_not_lost_among_its_leaves() -> None:
    taught = Grounds(program=tree, situations=SITUATIONS[:3], epsilons=[Fraction(1)]).lessons(
        {}, runs=10, rate=Fraction(1)
    )
    roots = [lesson for lesson in taught if lesson.seen == (2,)]
    assert len(roots) == 3 * 10
    assert len(taught) < 40 * len(roots)
    with follow(fit_policies(taught)):
        assert tree(jostle.rehearse(Public(1).table), Fraction(1)) == 1


def test_a_label_s_worth_is_told_against_each_alternative() -> None:
    told: list[Worth] = []
    train_labels(sides, SITUATIONS, ["1"], rounds=2, runs=10, told=told.append)
    (worth,) = told
    assert worth.learned
    assert [name for name, *_ in worth.losses] == ["learned", *SIDES]
    (_, learned, one, _), (_, left, more, error), (_, right, *_) = worth.losses
    assert one == 1
    assert learned < min(left, right)
    assert more > 1
    assert 0 < error < math.log(more)


@frozen
class Grouped(Public):
    """A table of people who may be in others."""

    group: str


def test_tables_of_the_same_people_are_one_observation() -> None:
    """However many there are: how sure a worth is, and whether what was learned is kept, is a matter of groups."""
    found = {}
    for groups in (1, 2, 20):
        told: list[Worth] = []
        situations = [Grouped(2 * number + 1, f"g{number % groups}") for number in range(20)]
        train_labels(sides, situations, ["1"], rounds=2, runs=10, told=told.append)
        (found[groups],) = told
    ratios = {groups: {name: ratio for name, _, ratio, _ in worth.losses} for groups, worth in found.items()}
    errors = {groups: {name: error for name, *_, error in worth.losses} for groups, worth in found.items()}
    assert ratios[2]["left"] == pytest.approx(ratios[20]["left"]), "groups of one size"
    assert math.isnan(errors[1]["left"])
    assert not found[1].learned, "one group tells nothing of others"
    assert found[20].learned
    assert errors[20]["left"] > 0
    assert all(error != errors[2]["left"] for error in (errors[1]["left"], errors[20]["left"]))
    kept, tied, unknown = (worth_text(found[groups], settled=True).splitlines() for groups in (20, 2, 1))
    assert kept[0].startswith("  Side: what was learned does better than ")
    assert kept[0].endswith(" everywhere by more than a standard error: it is followed")
    assert re.search(r"left everywhere +mean loss [\d.]+, [\d.]+% more \(standard error [\d.]+%\)$", kept[2])
    assert "standard error" in tied[2]
    assert unknown[0].startswith("  Side: one group of databases does not tell what was learned from ")
    assert not any("standard error" in line for line in unknown)


def test_what_was_best_on_the_whole_is_the_usual_alternative() -> None:
    taught = Grounds(program=sides, situations=SITUATIONS[:8], epsilons=[Fraction(1)]).lessons(
        {}, runs=12, rate=Fraction(1)
    )
    assert fit_policies(taught, caution={"Side": 2.0})["Side"].usual == "right"
    assert fit_policies(taught, caution={"Side": 2.0})["Side"].caution == 2.0


# Learned policies: what they take, how they are kept in files, and what does not fit them.


SIZES = ("small", "large")


def stump(at: float, left: float, right: float, *, inputs: int = 1) -> Forest:
    """Return a forest of one tree that says *left* up to *at* of the first input, and *right* above."""
    return Forest([0], [0, -1, -1], [at, 0, 0], [1, 0, 0], [2, 0, 0], [[left], [right]], inputs=inputs)


def pair(first: float, second: float) -> Forest:
    """Return a forest of two trees that say these, whatever they see: their mean, and half the gap as spread."""
    return Forest([0, 1], [-1, -1], [0, 0], [0, 0], [0, 0], [[first], [second]], inputs=1)


def policy(**changed: Any) -> LearnedPolicy:
    facts: dict[str, Any] = {
        "label": "Size",
        "among": SIZES,
        "inputs": ("n",),
        "forests": (stump(10, 0.8, 1.2), stump(10, 1.1, 0.9)),
        "usual": "small",
    }
    return LearnedPolicy(**{**facts, **changed})


def test_the_least_expected_loss_is_taken_at_each_site() -> None:
    taken = choose_each("Size", among=SIZES, informed_by={"n": [3, 30, 10, 11], "other": 7}, policy=policy())
    assert taken.tolist() == [0, 1, 0, 1]


def test_what_was_expected_is_in_the_decision() -> None:
    decision = policy().decide(Choice("Size", "Size#1", SIZES, {"n": np.array([3.0, 30.0, 3.0])}, 3))
    assert decision.losses is not None
    assert decision.losses.tolist() == [[0.8, 1.1], [1.2, 0.9], [0.8, 1.1]]
    assert decision.why == "least expected loss"


def test_a_cautious_policy_leaves_the_usual_alternative_only_where_another_is_clearly_better() -> None:
    """Large is expected at 0.9 with a spread of 0.05; small, the usual one, at 1."""
    forests = (pair(1, 1), pair(0.85, 0.95))
    for caution, taken in ((0.0, "large"), (1.0, "large"), (3.0, "small")):
        cautious = policy(forests=forests, caution=caution)
        assert choose("Size", among=SIZES, informed_by={"n": 1}, policy=cautious) == taken


def test_a_fixed_policy_takes_the_usual_alternative_everywhere_and_still_says_what_it_expects() -> None:
    fixed = policy(usual="large", fixed=True)
    assert choose_each("Size", among=SIZES, informed_by={"n": [3, 30]}, policy=fixed).tolist() == [1, 1]
    decision = fixed.decide(Choice("Size", "Size#1", SIZES, {"n": np.array([3.0])}, 1))
    assert decision.why == "large everywhere: nothing learned did better"
    assert decision.losses is not None
    assert decision.losses.tolist() == [[0.8, 1.1]]


def test_policies_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "policies.json"
    written = policy(caution=0.5, label="Size")
    write_policies(path, {"Size": written, "Fixed": policy(label="Fixed", fixed=True)}, about="a test")
    read = read_policies(path)["Size"]
    assert read.facts() == written.facts()
    assert read_policies(path)["Fixed"].fixed
    assert json.loads(path.read_text(encoding="utf-8"))["about"] == "a test"
    with follow({"Size": read}):
        assert choose("Size", among=SIZES, informed_by={"n": 30}) == "large"


def test_a_policy_answers_the_choice_it_was_learned_for_and_no_other() -> None:
    with pytest.raises(ChoiceError, match="was learned among small, large, and is asked to choose among huge, tiny"):
        choose("Size", among=("huge", "tiny"), informed_by={"n": 1}, policy=policy())
    with pytest.raises(ChoiceError, match="looks at 'n', which the choice does not see"):
        choose("Size", among=SIZES, informed_by={"m": 1}, policy=policy())


def test_the_policies_that_come_with_jostle_fit_the_tree() -> None:
    policies = shipped_policies("JostledTree")
    assert set(policies) == {"L1", "L2"}
    first, second = policies["L1"], policies["L2"]
    assert isinstance(first, LearnedPolicy)
    assert isinstance(second, LearnedPolicy)
    assert first.among == ACTIONS
    assert second.among == RULES
    assert shipped_policies("no such program") == {}
