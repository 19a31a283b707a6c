"""One tally released again with less noise: the law of all releases together, what they cost, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from enumeration import exponential
from goodness import FALSE_ALARM, fit_laplace, fit_outcomes
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import jostle
from jostle import Categorical, Probe, Schema, Table
from jostle.audit.counting import RefinedCount
from jostle.audit.forks import enumerated_runs
from jostle.audit.subjects import Sampler
from jostle.errors import BudgetError, JostleError, NoiseError, ProbeError
from jostle.privacy import chains
from jostle.privacy.events import Laplace, Refined, price
from jostle.privacy.evidence import noise_variance
from jostle.privacy.ledger import Ledger
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.picks import Pick
from jostle.privacy.reals import Exponential, NoLater
from jostle.privacy.scores import Fullest
from jostle.privacy.vault import FileVault
from jostle.tables.kernels import Counts
from jostle.tables.schema import Neighbours
from jostle.trace.records import Charged, Released, Trace

HALF = Fraction(1, 2)
RATIOS = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)
PEOPLE = Table.from_frame(
    pd.DataFrame({"region": ["north", "south", "south", "east"], "smokes": ["no", "yes", "no", "no"]}),
    Schema({"region": Categorical(["north", "south", "east"]), "smokes": Categorical(["no", "yes"])}, label="smokes"),
)


def probe(epsilon: Any = 10, seed: int = 1) -> Probe:
    return jostle.rehearse(PEOPLE, epsilon=epsilon, seed=seed)


# The law


def laplace(ratio: Fraction, value: int) -> Fraction:
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def stay(a: Fraction, b: Fraction) -> Fraction:
    """Return the chance that nothing is added to noise of ratio b to make that of ratio a."""
    return (1 - a) ** 2 * b / ((1 - b) ** 2 * a)


def characteristic(ratio: Fraction, cosine: Fraction) -> Fraction:
    return (1 - ratio) ** 2 / (1 - 2 * ratio * cosine + ratio**2)


@given(RATIOS, RATIOS, st.fractions(min_value=-1, max_value=1, max_denominator=20))
def test_noise_is_made_of_less_noise_and_more_that_is_nothing_with_some_chance(
    one: Fraction, other: Fraction, cosine: Fraction
) -> None:
    """By characteristic functions, in fractions: both are equal at every angle, whatever the ratios."""
    a, b = max(one, other), min(one, other)
    chance = stay(a, b)

    assert 0 < chance <= 1
    more = chance + (1 - chance) * characteristic(a, cosine)
    assert characteristic(a, cosine) == characteristic(b, cosine) * more


def law(a: Fraction, b: Fraction, drawn: int, value: int) -> Fraction:
    """Return the chance that noise of ratio a was made of this noise of ratio b, by Bayes's rule."""
    chance = stay(a, b)
    more = (1 - chance) * laplace(a, drawn - value) + (chance if drawn == value else 0)
    return laplace(b, value) * more / laplace(a, drawn)


@given(st.lists(RATIOS, min_size=5, max_size=5, unique=True), st.lists(st.integers(-4, 4), min_size=5, max_size=5))
def test_chains_in_turn_tell_neighbours_apart_by_their_last_releases_alone(
    ratios: list[Fraction], seen: list[int]
) -> None:
    """Two chains of one number, each refined as the other says, and one of them twice: in fractions, by Bayes's rule.

    The second release of each lies on a rung that the other's last release picks.
    """
    first, *rungs = sorted(ratios, reverse=True)
    _, other, finer_one, *_ = seen

    def chance(number: int) -> tuple[Fraction, Fraction]:
        """Return how likely all five releases are, and by how much a step of the number may change that."""
        second = rungs[0] if other < 0 else rungs[1]
        third = rungs[0] if finer_one < 0 else rungs[2]
        drawn = [each - number for each in seen]
        likely = laplace(first, drawn[0]) * laplace(first, drawn[1])
        likely *= law(first, second, drawn[0], drawn[2]) * law(first, third, drawn[1], drawn[3])
        return likely * law(second, rungs[3], drawn[2], drawn[4]), rungs[3] * third

    (likely, most), (beside, _) = chance(0), chance(1)
    assert most <= likely / beside <= 1 / most


@pytest.mark.parametrize(("first", "second"), [("1", "2"), ("2", "7/3")])
@pytest.mark.parametrize("drawn", [0, 1, -4])
def test_less_noise_is_drawn_given_the_noise_that_is_made_of_it(first: str, second: str, drawn: int) -> None:
    """All that the sampler does, run through every draw there is, against Bayes's rule."""
    epsilons = Fraction(first), Fraction(second)
    scale, less = (1 / each for each in epsilons)
    found = enumerated_runs(lambda noise: int(noise.less_laplace(np.array([drawn]), scale, less)[0]), cut=1e-7)

    a, b = map(exponential, epsilons)
    for value in range(-15, 16):
        assert found.chances.get(value, 0.0) == pytest.approx(float(law(a, b, drawn, value)), abs=1e-6)


def made_of(drawn: NDArray[np.int64], noise: Sampler) -> int:
    return 3 + int(noise.less_laplace(drawn, 1, HALF)[0])


def test_the_auditors_table_is_what_the_sampler_does() -> None:
    subject, epsilon = RefinedCount(), Fraction(2)
    table = subject.distribution((3,), epsilon)
    for first in (3, 1):
        drawn = np.array([first - 3])
        found = enumerated_runs(partial(made_of, drawn), cut=1e-7)
        (second,) = table.parts[first]
        for value, chance in second.chances.items():
            assert chance == pytest.approx(found.chances.get(value, 0.0), abs=1e-6)


@pytest.mark.parametrize(("scale", "less"), [("3/2", "1/2"), ("40", "39"), ("5", "1/20"), ("70000/3", "100")])
def test_drawn_noise_has_the_smaller_scale_and_what_was_added_to_it_has_nothing_to_do_with_it(
    scale: str, less: str
) -> None:
    noise, size = Noise(SeededBits(7)), 30_000
    first = noise.discrete_laplace(scale, size)
    second = noise.less_laplace(first, scale, less)

    assert fit_laplace(second, float(Fraction(less))) > FALSE_ALARM
    a, b = (math.exp(-1 / Fraction(each)) for each in (scale, less))
    stays = (1 - a) ** 2 * b / ((1 - b) ** 2 * a)
    middle = int(np.median(np.abs(second)))
    seen = Counter(zip((second == first).tolist(), (np.abs(second) <= middle).tolist(), strict=True))
    near = 1 - 2 * b ** (middle + 1) / (1 + b)
    same = stays + (1 - stays) * (1 - a) / (1 + a)
    chances: dict[tuple[int, ...], float] = {
        (int(one), int(other)): (same if one else 1 - same) * (near if other else 1 - near)
        for one in (False, True)
        for other in (False, True)
    }
    assert fit_outcomes({(int(one), int(other)): count for (one, other), count in seen.items()}, chances) > FALSE_ALARM


def test_the_fit_sees_noise_that_never_stays_the_same() -> None:
    """A test that cannot fail shows nothing."""
    subject, noise = RefinedCount(may_stay=False), Noise(SeededBits(3))
    drawn = np.asarray(subject.sample(noise, (0,), Fraction(1), 30_000))[:, 1]
    assert fit_laplace(drawn, 1.0) < FALSE_ALARM


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=2**52, max_denominator=100),
    st.fractions(min_value=Fraction(1, 100), max_value=2**52, max_denominator=100),
    st.sampled_from([8, 64, 200]),
)
def test_a_race_of_two_geometric_variables_is_enclosed(first: Fraction, second: Fraction, bits: int) -> None:
    low, high = NoLater(Exponential(first), Exponential(second)).enclose(bits)
    x, y = exponential(1 / first), exponential(1 / second)
    chance = (1 - x) / (1 - x * y)

    assert low <= chance * 2**bits <= high
    assert high - low <= 4


def test_noise_is_not_made_of_more_noise() -> None:
    for scale, less in (("1", "1"), ("1", "2"), ("0", "1"), ("1", "0")):
        with pytest.raises(NoiseError):
            Noise().less_laplace(np.zeros(2, dtype=np.int64), scale, less)


# What it costs


@given(st.lists(st.fractions(min_value=Fraction(1, 100), max_value=9), min_size=1, max_size=5, unique=True))
def test_a_chain_costs_what_its_last_release_costs(levels: list[Fraction]) -> None:
    ledger = Ledger(None, "replace_one")
    first, *more = sorted(levels)
    line = ledger.enter(Laplace(first), "count")
    ledger.charge(Laplace(1), "between")
    for place, _ in enumerate(more):
        line = ledger.extend(line, Refined(sorted(levels)[: place + 2]), "finer")

    assert ledger.spent == max(levels) + 1 == price(ledger.event, "replace_one")
    assert [charge.epsilon for charge in ledger.charges] == [max(levels), 1]


@pytest.mark.parametrize("levels", [(), (1, 1), (2, 1), (0, 1), (-1, 1)])
def test_levels_rise(levels: tuple[int, ...]) -> None:
    with pytest.raises(JostleError):
        Refined(levels)


@pytest.mark.parametrize(("neighbours", "cost"), [("add_remove", 2), ("replace_one", 3)])
def test_a_part_is_refined_from_its_own_budget(neighbours: Neighbours, cost: int) -> None:
    ledger = Ledger(Fraction(3), neighbours)
    one, other = ledger.split(2)
    line = one.enter(Laplace(1), "one")
    other.charge(Laplace(1), "other")
    line = one.extend(line, Refined((1, 2)), "finer")

    assert ledger.spent == cost
    with pytest.raises(BudgetError, match="another budget"):
        other.extend(line, Refined((1, 2, 3)), "other")
    with pytest.raises(BudgetError, match=r"left"):
        one.extend(line, Refined((1, 2, 4)), "finer")
    with pytest.raises(BudgetError, match="never given back"):
        one.extend(line, Laplace(1), "less")
    assert ledger.spent == cost


def test_an_answer_is_refined_for_the_difference() -> None:
    trace = Trace()
    db = jostle.rehearse(PEOPLE, epsilon=10, seed=1, trace=trace)
    first = db.count(HALF)
    db.count(1, site="between")
    second = first.refine(epsilon=2)
    third = second.refine(epsilon=6, site="third")

    assert [first.cost, second.cost, third.cost] == [HALF, 2, 6]
    assert [first.scale, second.scale, third.scale] == [2, 0.5, pytest.approx(1 / 6)]
    assert db.spent == 7
    assert [charge.event for charge in db.charges] == [Refined((HALF, 2, 6)), Laplace(1)]
    charged = [record for record in trace.records if isinstance(record, Charged)]
    assert [(each.site, each.epsilon, each.spent) for each in charged] == [
        ("count", HALF, HALF),
        ("between", 1, Fraction(3, 2)),
        ("count", Fraction(3, 2), 3),
        ("third", 4, 7),
    ]
    released = [record for record in trace.records if isinstance(record, Released)]
    assert [each.values for each in (released[0], *released[2:])] == [(first,), (second,), (third,)]  # noqa: PD011 - no frame
    low, high = third.interval()
    assert low <= third <= high


def test_a_histogram_is_refined_whole() -> None:
    db = probe(10**7)
    found = db.where("smokes", "no").histogram("region", epsilon=1)
    finer = found.refine(epsilon=10**6)

    assert finer.value.tolist() == [1, 1, 1]
    assert (finer.columns, finer.labels, finer.shape) == (found.columns, found.labels, found.shape)
    with pytest.raises(ProbeError, match="parts of an answer"):
        (found + 0).view(type(found)).refine(epsilon=3)


def test_what_is_known_afterwards_is_the_refined_answer_alone() -> None:
    """Both together would count the noise of the last release twice."""
    db = probe(10)
    found = db.measure_refinable(Counts.of("region"), 1)
    found = db.refine(found, 2)
    db.where("smokes", "no").refine(found, 4)
    (look,) = db.allot(1).known(Counts.of("region"))

    assert look is not None
    assert look.variance.tolist() == [pytest.approx(noise_variance(Fraction(1, 4)))] * 3
    assert db.where("smokes", "no").allot(1).known(Counts.of("region")) == (None,)


def test_a_refined_answer_tells_what_one_bought_at_once_tells() -> None:
    """As far off as the last release alone: the first one, with more noise, leaves nothing behind."""
    db = probe(10**4)
    off = np.array([db.count("1/4").refine(epsilon=1).value - 4 for _ in range(1500)])
    assert fit_laplace(off, 1.0) > FALSE_ALARM


def test_the_vault_knows_of_the_difference_before_the_answer_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = jostle.protect(PEOPLE, epsilon=3, vault=tmp_path / "people.vault")
    found = db.count(HALF)
    seen: list[Fraction] = []
    draw = chains.Chain.next

    def watched(*arguments: Any) -> Any:
        account = FileVault(tmp_path / "people.vault").account()
        assert account is not None
        seen.append(account.spent)
        return draw(*arguments)

    monkeypatch.setattr(chains.Chain, "next", watched)
    found.refine(epsilon=2)
    assert seen == [2]
    again = jostle.protect(PEOPLE, vault=tmp_path / "people.vault")
    assert again.left == 1


# What is refused, and costs nothing


def refused(db: Probe, ask: Any, match: str) -> None:
    """Check that something is refused in these words, for nothing."""
    before = db.spent, db.charges
    with pytest.raises(JostleError, match=match):
        ask()
    assert (db.spent, db.charges) == before


def test_what_cannot_be_refined_is_refused_for_nothing() -> None:
    db = probe(10)
    found = db.count(1)
    finer = found.refine(epsilon=2)
    refused(db, lambda: found.refine(epsilon=3), "no longer be refined")
    for epsilon in (2, 1, "1/3"):
        refused(db, lambda epsilon=epsilon: finer.refine(epsilon=epsilon), "is to be refined to")
    refused(db, lambda: finer.refine(epsilon=100), "is left")
    refused(db, lambda: finer.refine(epsilon=2 + Fraction(1, 2**60)), "scale")
    refused(db, lambda: finer.refine(epsilon=float("nan")), "epsilon")
    refused(db, lambda: db.median("region", epsilon=1), "region")
    for lost in (pickle.loads(pickle.dumps(finer)), copy.deepcopy(finer)):
        refused(db, lambda lost=lost: lost.refine(epsilon=3), "cannot be refined")
    top = db.top_k("region", 1, epsilon=1)
    refused(db, lambda: top.refine(epsilon=2), "cannot be refined")
    refused(db, lambda: top[0][1].refine(epsilon=2), "cannot be refined")
    refused(db, lambda: db.refine(3, 2), "is to be refined")  # type: ignore[arg-type]  # that is the mistake
    refused(db, lambda: db._ask("begin", Pick(Fullest("region")), Fraction(1), "x"), "Pick is not refined")

    assert finer.refine(epsilon=3).cost == 3  # none of these took the chain away


def test_a_refusal_says_how_far_an_answer_can_be_refined() -> None:
    """Of parts as well, which cost together what the dearest does."""
    db = probe(3)
    found = db.count(HALF)
    aside = db.reserve(1)
    refused(db, lambda: found.refine(epsilon=4), "fix: epsilon=2 at most")
    aside.settle()
    assert found.refine(epsilon=2).cost == 2
    for neighbours, most in (("add_remove", 3), ("replace_one", 2)):
        rows = None if neighbours == "add_remove" else 4
        schema = evolve(PEOPLE.schema, neighbours=neighbours, rows=rows)
        frame = {"region": ["north"] * 4, "smokes": ["no", "yes", "no", "no"]}
        whole = jostle.rehearse(Table.from_frame(pd.DataFrame(frame), schema), epsilon=3, seed=1)
        one, other = whole.parts("smokes")
        one.count(most - 1)
        found = other.count(1)
        refused(whole, lambda found=found: found.refine(epsilon=5), f"fix: epsilon={most} at most")
        assert found.refine(epsilon=most).cost == most
        assert whole.spent == 3


def test_a_chain_stays_on_its_budget() -> None:
    db = probe(10)
    found, inner = db.measure_refinable(Counts.of(), 1), db.allot(5)
    refused(inner, lambda: inner.refine(found, 2), "another budget")
    aside = inner.measure_refinable(Counts.of(), 1)
    refused(db, lambda: db.refine(aside, 2), "another budget")
    refused(db, lambda: db.parts("smokes")[0].refine(found, 2), "another budget")
    refused(db, lambda: probe().refine(found, 2), "no longer be refined")

    assert inner.refine(aside, 2).epsilon == 2
    assert db.where("smokes", "no").refine(found, 3).epsilon == 3  # the same budget; and the same tally as before
    assert db.spent == 8
    assert inner.spent == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_chain_goes_on_with_the_rows_it_began_with_and_is_none_of_a_table_that_changed(
    tmp_path: Path, *, stream: bool
) -> None:
    """The second release is the first tally with less noise, whatever the file holds by then; a new probe asks anew."""
    place, vault = tmp_path / "people.csv", tmp_path / "people.vault"
    place.write_text("sex\n" + "f\n" * 40)
    schema = Schema({"sex": Categorical(["f", "m"])})
    db = jostle.protect(Table.read(place, schema, stream=stream), epsilon=10**6, vault=vault)
    found = db.measure_refinable(Counts.of(), 10)
    place.write_text("sex\n" + "f\n" * 7)
    changed = jostle.protect(Table.read(place, schema, stream=stream), vault=vault)
    refused(changed, lambda: changed.refine(found, 20), "no longer be refined")
    assert db.refine(found, 10**5).cells == (40,)
    assert changed.count(10) < 30


def test_only_one_of_many_that_ask_at_once_carries_a_chain_on() -> None:
    db = probe(10**6)
    found = db.measure_refinable(Counts.of(), 1)
    answers: list[Any] = []

    def ask(place: int) -> None:
        try:
            answers.append(db.refine(found, 2 + place).epsilon)
        except ProbeError as refusal:
            answers.append(refusal.title)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)

    assert answers.count("this answer can no longer be refined") == 7
    assert db.spent == next(each for each in answers if not isinstance(each, str))


def test_a_failure_while_less_noise_is_drawn_closes_a_private_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.from_frame(pd.DataFrame({"sex": ["f"] * 5}), Schema({"sex": Categorical(["f", "m"])}))
    db = jostle.protect(table, epsilon=3)
    found = db.count(1)

    def broken(*_: object) -> None:
        raise ValueError("the tally is 5")

    monkeypatch.setattr(Noise, "less_laplace", broken)
    with pytest.raises(ProbeError, match="refine failed inside the probe") as caught:
        found.refine(epsilon=2)
    assert "5" not in str(caught.value)
    assert db.spent == 2
    with pytest.raises(ProbeError, match="no more are answered"):
        db.count(1)
