"""Formulas that are searched: what is planted is found, and what is printed can be pasted into a program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small import budget, first_share, options, planted, size

from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.formulas import Formula, FormulaTerm, TermSum, synthesize
from jostle.errors import ProgramError, Source
from jostle.lang.program import load_source
from jostle.tasks.metafeature import ChangedMetafeature, Metafeature

PROGRAM = Path(__file__).parents[3] / "programs" / "dawa_class.jst"
AMONG = options()


def crossing(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
    """One Option's loss falls with the number of rows, the other's is the same everywhere."""
    return 0.2, float(0.9 * np.exp(-0.7 * (facts["rows"] / 1000)))


def test_what_is_planted_is_found_and_chosen_by() -> None:
    cases = cases_of(planted(crossing, AMONG, count=40), AMONG)
    found = synthesize(cases, [size, budget], Fraction(1, 50))
    constant, falling = found.formulas
    assert constant.log.terms == (), "nothing explains what does not change"
    assert np.exp(constant.log.start) == pytest.approx(0.2, rel=0.01)
    assert {name for term in falling.log.terms for name in term.names} == {"size"}
    (over_single,) = found.gains
    assert found.by_formulas < over_single.loss - 0.05
    assert over_single.gain > 3 * over_single.error
    assert found.by_formulas < 1.1


def test_what_is_noise_gives_no_terms() -> None:
    generator = np.random.default_rng(3)
    noise = lambda *_: tuple(generator.uniform(0.2, 0.4, 2))  # noqa: E731 - one line
    cases = cases_of(planted(noise, AMONG, count=40), AMONG)
    found = synthesize(cases, [size, budget], Fraction(1, 50))
    assert sum(len(formula.log.terms) for formula in found.formulas) <= 1


def test_a_definition_is_changed_where_formulas_fit_much_better_with_the_other() -> None:
    """Losses hang on the first class's share; the number of rows is looked at, and may be that share instead."""

    def by_share(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return 0.2, float(0.05 * np.exp(3 * facts["first"]))

    other = Metafeature(size.name, first_share.measure, low="", high="", version="changed")
    change = ChangedMetafeature(other, "the share in the place of the number", "def size(db):")
    found = synthesize(cases_of(planted(by_share, AMONG, count=40), AMONG), [size], Fraction(1, 50), (), [change])
    assert found.changes == (change,)
    over_single, as_it_is = found.gains
    assert over_single.gain > 0.05
    assert as_it_is.gain > 0.05
    assert "# In the place of size: the share in the place of the number\ndef size(db):" in found.as_text()
    kept = synthesize(cases_of(planted(crossing, AMONG, count=40), AMONG), [size], Fraction(1, 50), (), [change])
    assert kept.changes == ()
    assert "None of 1 small changes" in kept.as_text()


def test_small_changes_of_a_definition_are_programs_that_pass_the_check() -> None:
    """Numbers, aggregates and widths; what is changed is named, and stands in the text."""
    program = load_source(Source("dawa_class.jst", PROGRAM.read_text()), say=None)
    changes = [change for each in program.makers["histChoice"].informed_by for change in each.changes()]
    assert {change.metafeature.name for change in changes} == {"uniformity", "sparsity"}
    assert len({change.metafeature.version for change in changes}) == len(changes)
    said = {change.what: change.definition for change in changes}
    assert "where values > 3 }}" in said["3 in the place of 0"]
    assert any("xgrp = sqrt(db.x_range) / 2\n    ygrp = sqrt(db.y_range) / 2" in each for each in said.values())
    assert any("{{ max(select sum(values)" in each for each in said.values())


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
    formula = Formula(TermSum(-1.25, (TERMS[number], TERMS[0]), (-0.00004567, 1.5)))
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


def test_a_prediction_may_look_at_public_facts_of_its_task_without_a_definition() -> None:
    """Formulas may have found them: makers have them for nothing. Facts of other tasks are no metafeatures here."""
    text = PROGRAM.read_text()
    load_source(
        Source("facts.jst", text.replace("max(1 - F.sparsity ** 2, 0)", "F.log_cells - F.log_epsilon")), say=None
    )
    with pytest.raises(ProgramError, match="no metafeature `log_classes`"):
        load_source(Source("facts.jst", text.replace("max(1 - F.sparsity ** 2, 0)", "F.log_classes")), say=None)
