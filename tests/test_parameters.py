"""Parameters of Options: each value is converted to one plain type, or refused with what it has to be."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables_of_labels import correlated, table_of

import jostle
from jostle import JostleError, options
from jostle.options import get, names
from jostle.options.base import is_built_in
from jostle.parameters import Parameter, parameters_of

ALL = [(name, key, each) for name in names() for key, each in parameters_of(type(get(name))).items()]
NONSENSE: tuple[Any, ...] = (None, "", "x", [], {}, (1,), object(), float("nan"), float("inf"), -float("inf"), 1j, -1)
FITS: dict[str, tuple[tuple[Any, Any], ...]] = {
    "whole": ((7, 7), (np.int64(7), 7), (Fraction(7), 7)),
    "positive": ((7, 7.0), (0.5, 0.5), (Fraction(1, 4), 0.25), (np.float32(0.5), 0.5)),
    "share": ((Fraction(1, 3), Fraction(1, 3)), (0.1, Fraction(1, 10)), ("1/3", Fraction(1, 3))),
    "flag": ((True, True), (False, False)),
    "choice": (),
}
MISFITS: dict[str, tuple[Any, ...]] = {
    "whole": (2.5, Fraction(1, 2), True, "2", 2.0),
    "positive": (0, 0.0, -0.0, "2", True, 10**400),
    "share": (1, 1.5, True, Fraction(7, 2)),
    "flag": (0, 1, "True", np.bool_(1)),
    "choice": (1, True, "max", "CUTS"),
}


@pytest.mark.parametrize(("option", "name", "parameter"), ALL, ids=[f"{option}-{name}" for option, name, _ in ALL])
def test_a_parameter_is_one_plain_value_or_refused(option: str, name: str, parameter: Parameter) -> None:
    kind: Any = type(get(option))
    fits = (
        *FITS[parameter.kind],
        *((each, each) for each in parameter.choices),
        (parameter.default, parameter.default),
    )
    for value, expected in fits:
        found = getattr(kind(**{name: value}), name)
        assert (type(found), found) == (type(expected), expected)
    low = (parameter.least - 1,) if parameter.kind == "whole" else (0,) if parameter.kind == "share" else ()
    for value in (*NONSENSE, *MISFITS[parameter.kind], *(low if not parameter.zero else (-1,))):
        with pytest.raises(JostleError) as caught:
            kind(**{name: value})
        assert caught.value.title.endswith(f"but must be {parameter.words}")
        assert name in str(caught.value.fix)


def test_every_field_of_an_option_is_such_a_parameter() -> None:
    for name in names():
        kind = type(get(name))
        others = {"among", "eta"} if name == "SelectPrivately" else set()
        asked = {each.name for each in kind.__attrs_attrs__ if each.init}  # type: ignore[attr-defined]  # an attrs class
        assert set(parameters_of(kind)) | others == asked


def test_a_preset_answers_as_its_option_with_what_is_settled() -> None:
    schema, rows = correlated(200)
    whole, one_tree = get("PatilSingh(depth=2, trees=1)"), get("FriedmanSchuster(depth=2)")
    answers: list[Any] = [
        json.loads(option(jostle.rehearse(table_of(rows, schema), seed=3), epsilon=2).to_json())
        for option in (whole, one_tree)
    ]
    assert [each.pop("made_by") for each in answers] == [whole.name, "FriedmanSchuster(depth=2)"]
    assert answers[0] == answers[1]
    assert pickle.loads(pickle.dumps(one_tree)) == one_tree != whole
    assert is_built_in(type(one_tree))
    with pytest.raises(JostleError, match="FriedmanSchuster has no parameter 'trees'") as refused:
        get("FriedmanSchuster(trees=3)")
    assert refused.value.fix == "one of depth, utility, numeric, prune"


def test_an_edge_is_told_in_words() -> None:
    with pytest.raises(JostleError, match="depth is 0, but must be a whole number from 1"):
        options.get("Mohammed(depth=0)")
    with pytest.raises(JostleError, match='utility is "gini", but must be "Max", "Gini" or "InfoGain"'):
        options.get("Mohammed(utility=gini)")
    with pytest.raises(JostleError, match="cells_share is 1, but must be a share above 0 and below 1"):
        options.get("AHP(cells_share=1)")
