"""Formulas that are searched: what is planted is found, and what is printed can be pasted into a program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small import budget, options, planted, size

from jostle.choice.learning.gathering import cases_of
from jostle.choice.makers.synthesis import Formula, FormulaTerm, synthesize
from jostle.errors import Source
from jostle.lang.program import load_source

PROGRAM = Path(__file__).parents[3] / "programs" / "dawa_class.jst"
AMONG = options()


def crossing(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
    """One Option's loss falls with the number of rows, the other's is the same everywhere."""
    return 0.2, float(0.9 * np.exp(-0.7 * (facts["rows"] / 1000)))


def test_what_is_planted_is_found_and_chosen_by() -> None:
    cases = cases_of(planted(crossing, AMONG, count=40), AMONG)
    found = synthesize(cases, [size, budget], Fraction(1, 50))
    constant, falling = found.formulas
    assert constant.terms == (), "nothing explains what does not change"
    assert np.exp(constant.start) == pytest.approx(0.2, rel=0.01)
    assert {name for term in falling.terms for name in term.names} == {"size"}
    assert found.by_formulas < found.by_single - 0.05
    assert found.by_formulas < 1.1


def test_what_is_noise_gives_no_terms() -> None:
    generator = np.random.default_rng(3)
    noise = lambda *_: tuple(generator.uniform(0.2, 0.4, 2))  # noqa: E731 - one line
    cases = cases_of(planted(noise, AMONG, count=40), AMONG)
    found = synthesize(cases, [size, budget], Fraction(1, 50))
    assert sum(len(formula.terms) for formula in found.formulas) <= 1


TERMS = (
    FormulaTerm("itself", ("sparsity",)),
    FormulaTerm("square", ("uniformity",)),
    FormulaTerm("log", ("uniformity",), 0.00125),
    FormulaTerm("above", ("sparsity",), 0.25),
    FormulaTerm("above", ("sparsity",), -0.25),
    FormulaTerm("product", ("uniformity", "sparsity")),
)


@pytest.mark.parametrize("number", range(len(TERMS)))
def test_what_is_printed_is_accepted_and_means_the_same(number: int) -> None:
    """Pasted in the place of the programmer's own predictions, it passes the check and gives the same numbers."""
    formula = Formula(-1.25, (TERMS[number], TERMS[0]), (-0.00004567, 1.5))
    text = PROGRAM.read_text()
    pasted = re.sub(r"    def predict\(F\):\n(        .*\n)+", f"    def predict(F):\n        return {formula}\n", text)
    assert pasted.count(str(formula)) == 2
    program = load_source(Source("pasted.jst", pasted), say=None)
    names = ["uniformity", "sparsity"]
    for row in ([12.5, 0.5], [0.0, 0.0], [3.0, -2.0], [1e9, 1.0]):
        for option in program.makers["histChoice"].priors():
            assert option is not None
            logs = formula.logs(np.array([row]), names)[0]
            assert np.log(option(dict(zip(names, row, strict=True)))) == pytest.approx(logs, rel=1e-3)
