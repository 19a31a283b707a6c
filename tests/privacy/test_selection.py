"""Private selection: what it costs, worked out exactly; and that nothing of a losing candidate is seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import count, product
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from enumeration import enumerated
from hypothesis import given, settings
from hypothesis import strategies as st
from openings import protected, room, table

import jostle
from jostle import Probe, Schema, options
from jostle.errors import BudgetError, ChoiceError, JostleError, ProbeError
from jostle.options.classification.tuning import TriedClassifiers
from jostle.privacy.events import Allotment, Disjoint, Event, InTurn, Laplace, Selected, price
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.noise import BitSource, Noise, SeededBits
from jostle.privacy.selection import NumberOfRuns, Scored, Selection, best_of
from jostle.sites import choose, record
from jostle.tables.kernels import Counts
from jostle.tables.schema import Neighbours
from jostle.trace.records import Charged, Chosen, Released, Trace

HALF = Fraction(1, 2)
SHAPES = (Fraction(-1, 2), Fraction(0), HALF, Fraction(1))
Chances = list[Fraction]

# The theorem


def best_of_all(runs: int, chances: Chances, scores: list[int]) -> Chances:
    """Return how likely each output is to be the best of so many runs: the loop, on every sequence of outputs."""
    found = [Fraction(0)] * len(chances)
    for sequence in product(range(len(chances)), repeat=runs):
        best = sequence[0]
        for output in sequence[1:]:
            if scores[output] > scores[best]:
                best = output
        found[best] += math.prod(chances[output] for output in sequence)
    return found


def levels(chances: Chances, scores: list[int]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return for each output its part of those with its score, the chance of a lower score, and of at most its own."""
    found = []
    for output, score in enumerate(scores):
        lower = sum((chances[each] for each, other in enumerate(scores) if other < score), Fraction(0))
        equal = sum((chances[each] for each, other in enumerate(scores) if other == score), Fraction(0))
        found.append((chances[output] / equal, lower, lower + equal))
    return found


def best_of_by_formula(runs: int, chances: Chances, scores: list[int]) -> Chances:
    """Return the same as `best_of_all`, from the chances of lower and equal scores."""
    return [part * (upto**runs - lower**runs) for part, lower, upto in levels(chances, scores)]


mechanisms = st.integers(2, 5).flatmap(
    lambda size: st.tuples(
        *(st.lists(st.integers(1, 9), min_size=size, max_size=size) for _ in range(2)),
        st.lists(st.integers(0, 3), min_size=size, max_size=size),
    )
)
"""A candidate's output distributions on two neighbours, as weights, and the score within each output."""


def normal(weights: list[int]) -> Chances:
    return [Fraction(weight, sum(weights)) for weight in weights]


@settings(max_examples=30, deadline=None)
@given(mechanisms, st.integers(1, 4))
def test_the_formula_for_the_best_of_some_runs_is_the_loop_on_every_sequence(
    mechanism: tuple[list[int], list[int], list[int]], runs: int
) -> None:
    weights, _, scores = mechanism

    assert best_of_by_formula(runs, normal(weights), scores) == best_of_all(runs, normal(weights), scores)


MOST_RUNS = 60


@cache
def weights_of(stopping: NumberOfRuns) -> Chances:
    """Return the weights of 1 to MOST_RUNS runs."""
    return [stopping.weight(runs) for runs in range(1, MOST_RUNS + 1)]


def generated(stopping: NumberOfRuns, x: Fraction) -> Fraction:
    """Return the sum of weights times x^runs: the generating function, times a constant."""
    total = Fraction(0)
    for weight in reversed(weights_of(stopping)):
        total = (total + weight) * x
    return total


def selected(stopping: NumberOfRuns, chances: Chances, scores: list[int]) -> Chances:
    """Return the chances of each output, times that constant; beyond MOST_RUNS there is little."""
    return [
        part * (generated(stopping, upto) - generated(stopping, lower)) for part, lower, upto in levels(chances, scores)
    ]


def worst_ratio(stopping: NumberOfRuns, first: Chances, second: Chances, scores: list[int]) -> Fraction:
    """Return how much likelier an output is on the first at most, rounded up for what is beyond MOST_RUNS."""
    beyond = (1 - stopping.gamma) ** MOST_RUNS / stopping.gamma
    one, other = selected(stopping, first, scores), selected(stopping, second, scores)
    return max((mine + beyond) / theirs for mine, theirs in zip(one, other, strict=True))


@pytest.mark.representative
@pytest.mark.parametrize("eta", SHAPES, ids=str)
@settings(max_examples=40, deadline=None)
@given(mechanisms)
def test_no_output_of_a_selection_tells_neighbours_apart_by_more_than_is_charged(
    eta: Fraction, mechanism: tuple[list[int], list[int], list[int]]
) -> None:
    """Exactly, in fractions: if a run's ratio is at most r = exp(epsilon_1), the selection's is at most r^(2 + eta)."""
    stopping = NumberOfRuns(HALF, eta)
    first, second, scores = normal(mechanism[0]), normal(mechanism[1]), mechanism[2]
    ratio = max(max(one / other, other / one) for one, other in zip(first, second, strict=True))
    for ways in ((first, second), (second, first)):
        power = 2 + eta
        most = Fraction(1 + Fraction(1, 10**12)) * ratio**power.numerator
        assert worst_ratio(stopping, *ways, scores) ** power.denominator <= most


@pytest.mark.parametrize("eta", [Fraction(0), Fraction(1)], ids=str)
def test_the_charge_is_needed(eta: Fraction) -> None:
    """A rare output beaten only by rarely seen ones, all e times likelier here or there: 0.97 (2 + eta) is reached."""
    stopping = NumberOfRuns(Fraction(1, 10_000), eta)

    def generating(x: float) -> float:
        """Return E[x^K]; see `test_the_generating_function`."""
        gamma = float(stopping.gamma)
        return gamma * x / (1 - (1 - gamma) * x) if eta else math.log1p(-(1 - gamma) * x) / math.log(gamma)

    def chance(rare: float, better: float) -> float:
        """Return the chance that the rare output wins."""
        return generating(1 - better) - generating(1 - better - rare)

    better, rare = 0.004, 1e-7
    one = chance(rare * math.e, better)
    other = chance(rare, better * math.e)

    assert 0.97 * (2 + eta) < math.log(one / other) < 2 + eta


# The number of runs


@pytest.mark.parametrize("eta", SHAPES, ids=str)
def test_the_generating_function(eta: Fraction) -> None:
    """The proof's step 2: the weights add up to a multiple of (1 - (1 - gamma) x)^-eta - 1, or of its logarithm."""
    stopping = NumberOfRuns(HALF, eta)

    def added(x: Fraction) -> float:
        return float(sum(stopping.weight(runs) * x**runs for runs in range(1, MOST_RUNS)))

    def formula(x: Fraction) -> float:
        rest = float(1 - (1 - stopping.gamma) * x)
        return (rest ** -float(eta) - 1) / float(eta) if eta else -math.log(rest)

    for x in (Fraction(1, 3), HALF, Fraction(9, 10)):
        assert added(x) / added(Fraction(1)) == pytest.approx(formula(x) / formula(Fraction(1)), rel=1e-12)


def chance_of(stopping: NumberOfRuns, runs: int) -> Fraction:
    """Return P(K = runs); the weights add up to (gamma^-eta - 1)/eta, or to its limit for eta = 0, -ln gamma."""
    gamma, eta = float(stopping.gamma), float(stopping.eta)
    return stopping.weight(runs) / Fraction((gamma**-eta - 1) / eta if eta else -math.log(gamma))


@pytest.mark.parametrize("eta", SHAPES, ids=str)
def test_no_string_of_bits_contradicts_the_distribution_of_the_number_of_runs(eta: Fraction) -> None:
    """Every string of up to 14 random bits: what is decided on them is no more than the formula, and not much less."""
    stopping = NumberOfRuns(Fraction(1, 4), eta)

    def draw(source: BitSource) -> int:
        return stopping.draw(Noise(source))

    found = enumerated(draw, 14)

    assert found.undecided < Fraction(1, 2)
    for runs in range(1, 9):
        assert found.brackets(runs, chance_of(stopping, runs), tolerance=Fraction(1, 10**12))


@pytest.mark.representative
@pytest.mark.parametrize("eta", SHAPES, ids=str)
def test_the_number_of_runs_has_its_distribution(eta: Fraction) -> None:
    """5,000 seeded draws: a chi-square test of 1 to 9 runs, and more, with false alarms of 1e-6."""
    stopping, noise = NumberOfRuns(Fraction(1, 4), eta), Noise(SeededBits(17))
    drawn = Counter(min(stopping.draw(noise), 10) for _ in range(5000))
    chances = [float(chance_of(stopping, runs)) for runs in range(1, 10)]
    expected = 5000 * np.array([*chances, 1 - sum(chances)])
    found = np.array([drawn[runs] for runs in range(1, 11)])

    assert ((found - expected) ** 2 / expected).sum() < 45.1  # 9 degrees of freedom, 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {"gamma": 0},
        {"gamma": 1},
        {"gamma": "1/100000"},
        {"eta": -1},
        {"eta": "11/10"},
        {"gamma": "x"},
        {"gamma": Fraction(10**6, 10**7 + 1)},
        {"eta": Fraction(1, 2**62)},
        {"eta": True},
        {"gamma": float("nan")},
        {"gamma": np.array(["1/2"])},
    ],
    ids=str,
)
def test_numbers_of_runs_that_the_proof_does_not_cover_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        NumberOfRuns(**wrong)


# The event


def test_a_selection_costs_2_plus_eta_runs() -> None:
    run = InTurn([Allotment("0.3"), Laplace("0.1")])
    event = Selected(run, HALF)

    assert price(event, "add_remove") == price(event, "replace_one") == 1
    assert price(Selected(Disjoint([Laplace(1), Laplace(2)]), Fraction(0)), "replace_one") == 6


@pytest.mark.parametrize("eta", [-1, Fraction(-1), Fraction(2), 1.5, "all", None])
def test_an_event_of_no_known_shape_is_refused(eta: Any) -> None:
    with pytest.raises(JostleError):
        Selected(Laplace(1), eta)


# What is seen

SEEDS = count(5000)


def fresh(neighbours: Neighbours = "add_remove") -> Probe:
    """Return a probe on people that no other test has seen, with a budget of 1."""
    return protected(1, seed=next(SEEDS), neighbours=neighbours)


MAJORITY, NAIVE = options.get("Majority"), options.get("NaiveBayes")
ASKED = TriedClassifiers([MAJORITY, NAIVE], stopping=NumberOfRuns("1/5", 0))


@frozen
class Trial(Selection[Probe]):
    """Candidates of the test's own, for rooms of its own: the door lets none in."""

    does: Callable[[Probe], Scored]
    stopping: NumberOfRuns = ASKED.stopping
    size: int = 1

    def check(self, schema: Schema, each: Fraction) -> None:
        """Refuse nothing."""

    def candidate(self, each: Fraction) -> Event:
        """Return all that a run may spend."""
        return Allotment(each)

    def run(self, db: Probe, place: int, each: Fraction) -> Scored:
        """Do what the test says."""
        return self.does(db)


def test_candidates_leave_no_chain_behind() -> None:
    """Numbers of chains that went up with the number of candidates would tell how many there were."""
    owner = room(private=False, seed=2)
    runs: list[Probe] = []

    def does(db: Probe) -> Scored:
        runs.append(db)
        db.count("1/100").refine(epsilon="1/50")
        return Scored(0, 0)

    numbers = []
    for _ in range(4):
        owner.select(Trial(does), Fraction(1, 5), "try")
        numbers.append(owner.begin(AddNoise(Counts.of()), Fraction(1, 100), "count").number)
    assert len(runs) > 4
    assert numbers == [1, 2, 3, 4]


def test_a_selection_is_charged_once_and_shows_one_run() -> None:
    """With these seeds, runs are 1 to 25; the trace has the same lines for all."""
    numbers = set()
    for seed in range(20):
        trace = Trace()
        db = jostle.rehearse(table(), epsilon=1, seed=seed, trace=trace)
        (place, model), score = db.select(ASKED, 1, site="try")
        numbers.add(ASKED.stopping.draw(Noise(SeededBits(seed))))
        charged = [each for each in trace.records if isinstance(each, Charged)]
        released = [each.site for each in trace.records if isinstance(each, Released)]

        assert charged == [Charged("try", "Selected", Fraction(1), Fraction(1), Fraction(0))]
        assert [each.event for each in db.charges] == [ASKED.event(HALF)]
        assert db.spent == 1
        assert released == [f"try/{ASKED.among[place].name}/{'classes' if place == 0 else 'counts'}", "try/score"]
        assert trace.records[-1].values == (score,)  # type: ignore[union-attr]
        assert ASKED.among[place].name in model.made_by
    assert len(numbers) > 3
    assert max(numbers) > 5


def test_the_winner_has_the_distribution_that_was_proved() -> None:
    """Candidates with known outputs: 4,000 seeded selections, a chi-square test with false alarms of 1e-6."""
    scores = [0, 1, 1, 2]
    chances = normal([5, 3, 4, 1])
    stopping, noise = NumberOfRuns(HALF, 0), Noise(SeededBits(11))
    places = np.repeat(np.arange(4), [5, 3, 4, 1])

    def run() -> tuple[Scored, None]:
        output = int(places[noise.below(13, 1)[0]])
        return Scored(output, scores[output]), None

    counts = Counter(best_of(stopping, noise, run)[0].answer for _ in range(4000))
    weights = selected(stopping, chances, scores)
    expected = np.array([float(4000 * weight / sum(weights)) for weight in weights])
    found = np.array([counts[output] for output in range(4)])

    assert ((found - expected) ** 2 / expected).sum() < 30.7  # 3 degrees of freedom, 1e-6


def test_real_candidates_win_as_often_as_was_proved() -> None:
    """Two trees on people whose rows they predict alike: the score is a count with noise, whatever was drawn.

    So of two equally likely Options each wins half of the times: 200 selections, with false alarms of 1e-6.
    """
    asked = TriedClassifiers([MAJORITY, options.get("Majority")], stopping=NumberOfRuns(HALF, 0))
    db = jostle.rehearse(table(seed=99), seed=5)
    first = sum(db.select(asked, 300, site="try")[0][0] == 0 for _ in range(200))

    assert 66 <= first <= 134


def test_a_candidate_is_out_of_reach_once_it_was_run() -> None:
    """Its probe answers nothing any more; else its budget could be spent, and its charges read."""
    kept: list[Probe] = []

    def does(db: Probe) -> Scored:
        assert db.left == HALF
        kept.append(db)
        return Scored(0, db.count("1/4"))

    owner = room()
    owner.select(Trial(does), Fraction(1), "try")

    assert kept
    for db in kept:
        with pytest.raises(ProbeError, match="no more are answered"):
            db.count("1/4")
    assert owner.ledger.spent == 1
    with pytest.raises(BudgetError):  # while the table itself is open, but spent
        owner.probe(owner).count("1/4")


def test_a_candidate_cannot_spend_more_than_was_charged_for_it() -> None:
    def does(db: Probe) -> Scored:
        db.count(HALF)
        return Scored(0, db.count("1/100"))

    with pytest.raises(BudgetError, match="0 is left"):
        room(private=False).select(Trial(does), Fraction(1), "try")


def test_handlers_of_choices_see_no_candidate() -> None:
    """A recorder stands around the selection. Inside, nobody stands around anything."""
    taken: list[str] = []

    def does(db: Probe) -> Scored:
        noisy = db.count("1/10")
        taken.append(choose("Inside", among=("few", "many"), informed_by={"n": noisy}))
        return Scored(0, noisy)

    with record() as recorder:
        choose("Outside", among=("few", "many"), informed_by={"n": 3})
        room().select(Trial(does), Fraction(1), "try")

    assert taken
    assert [each.label for each in recorder.lines] == ["Outside"]


def test_what_goes_wrong_with_a_candidate_is_kept_back() -> None:
    """Its words could be a loser's; and where a run can fail, whether it did would be seen again and again."""

    def does(db: Probe) -> Scored:
        raise JostleError(f"there are about {db.count('1/10')} rows")

    owner = room()
    with pytest.raises(ProbeError, match="a candidate failed") as caught:
        owner.select(Trial(does), Fraction(1), "try")
    assert "about" not in str(caught.value)
    with pytest.raises(ProbeError, match="no more are answered"):
        owner.probe(owner).count("1/10")


# What is refused


@frozen
class Open(TriedClassifiers):
    """Gives everything away."""

    def run(self, db: Probe, place: int, each: Fraction) -> Scored:
        return Scored([db.count(each / 10) for _ in range(10)], 0)


def test_a_selection_of_ones_own_is_refused() -> None:
    db = fresh()
    twin = type("TriedClassifiers", (Open,), {"__module__": TriedClassifiers.__module__})
    trial = Trial(lambda db: Scored(0, 0))
    for wrong in (Open([MAJORITY]), twin([MAJORITY]), trial, "Majority", None, Laplace(1)):
        with pytest.raises(ProbeError):
            db.select(wrong, HALF)  # type: ignore[arg-type]
    assert db.spent == 0
    with pytest.raises(ChoiceError, match="run unseen"):
        TriedClassifiers([options.get("JostledTree")])


def test_a_budget_that_does_not_suffice_is_refused_before_anything_is_run() -> None:
    ran: list[Probe] = []

    def does(db: Probe) -> Scored:
        ran.append(db)
        return Scored(0, 0)

    owner = room()
    owner.probe(owner).count("1/10")
    with pytest.raises(BudgetError, match=r"0\.9 is left"):
        owner.select(Trial(does), Fraction(1), "try")
    assert not ran
    assert owner.ledger.spent == Fraction(1, 10)


def test_selections_on_parts_of_a_table_cost_the_dearest() -> None:
    costs: list[tuple[Neighbours, Fraction | int]] = [("add_remove", HALF), ("replace_one", 1)]
    for neighbours, cost in costs:
        db = fresh(neighbours)
        for part in db.parts("region"):
            part.select(ASKED, HALF)
        assert db.spent == cost


def test_choices_of_the_winner_are_in_the_trace() -> None:
    def does(db: Probe) -> Scored:
        db.note_choice(Chosen.one("here", "Inside", "few"))
        return Scored(0, 0)

    trace = Trace()
    room(private=False, trace=trace).select(Trial(does), Fraction(1), "try")

    assert [each.site for each in trace.records if isinstance(each, Chosen)] == ["try/here"]
