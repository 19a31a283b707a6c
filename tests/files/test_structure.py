"""What JSON holds becomes a value of the declared type, or a sentence that names the place where it does not fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError, OptionError
from jostle.files.kinds import FileKind
from jostle.files.structure import structured
from jostle.files.texts import DamageError, json_parsed


@frozen
class Leaf:
    """A part of a tree."""

    name: str
    share: float
    below: tuple[Leaf, ...] = ()


@frozen(kw_only=True)
class Everything:
    """A field of every type."""

    text: str
    truth: bool
    whole: int
    number: float
    amount: Fraction
    perhaps: int | None
    way: Literal["vote", "mean"]
    names: tuple[str, ...]
    pair: tuple[str, float]
    spans: Mapping[str, tuple[float, ...]]
    codes: NDArray[np.int64] = field(eq=False)
    shares: NDArray[np.float64] = field(eq=False)
    leaf: Leaf
    rest: Any = None

    def __attrs_post_init__(self) -> None:
        if self.whole == 13:
            raise ChoiceError("thirteen brings bad luck")


GOOD: dict[str, Any] = {
    "text": "a",
    "truth": True,
    "whole": 10**400,
    "number": 2,
    "amount": "1/3",
    "perhaps": None,
    "way": "vote",
    "names": ["a", "b"],
    "pair": ["a", 0.5],
    "spans": {"a": [1, 2.5]},
    "codes": [1, 2],
    "shares": [[0.5, 1], [0, 0.25]],
    "leaf": {"name": "root", "share": 1.0, "below": [{"name": "a", "share": 0.5}]},
    "rest": {"what": ["ever"]},
}


def test_every_type_is_read_as_declared() -> None:
    made = structured(json_parsed(json.dumps(GOOD)), Everything)
    assert (made.whole, made.number, type(made.number), made.amount, made.perhaps) == (
        10**400,
        2.0,
        float,
        Fraction(1, 3),
        None,
    )
    assert (made.names, made.pair, made.spans) == (("a", "b"), ("a", 0.5), {"a": (1.0, 2.5)})
    assert made.leaf == Leaf("root", 1.0, (Leaf("a", 0.5),))
    assert (made.codes.dtype, made.codes.tolist(), made.shares.shape) == (np.dtype(np.int64), [1, 2], (2, 2))
    assert made.rest == {"what": ["ever"]}


WHOLES = "Expected an `array` of whole numbers of 64 bits - at `$.codes`"
NUMBERS = "Expected an `array` of finite numbers of 64 bits - at `$.shares`"
AMOUNT = 'Expected an amount such as "1/3" - at `$.amount`'
WRONG = [
    ("text", 3, "Expected `str`, got `int` - at `$.text`"),
    ("truth", 1, "Expected `bool`, got `int` - at `$.truth`"),
    ("whole", True, "Expected `int`, got `bool` - at `$.whole`"),
    ("whole", 2.0, "Expected `int`, got `float` - at `$.whole`"),
    ("whole", "1", "Expected `int`, got `str` - at `$.whole`"),
    ("whole", 13, "thirteen brings bad luck"),
    ("number", "0.5", "Expected `float`, got `str` - at `$.number`"),
    ("number", 10**400, "Number out of range - at `$.number`"),
    ("amount", 0.5, AMOUNT),
    ("amount", "1/0", AMOUNT),
    ("amount", "1e999999999", AMOUNT),
    ("perhaps", "", "Expected `int | null`, got `str` - at `$.perhaps`"),
    ("way", "toss", "Invalid enum value 'toss' - at `$.way`"),
    ("way", ["vote"], "Expected `str`, got `array` - at `$.way`"),
    ("names", "ab", "Expected `array`, got `str` - at `$.names`"),
    ("names", ["a", None], "Expected `str`, got `null` - at `$.names[1]`"),
    ("pair", ["a"], "Expected `array` of length 2, got 1 - at `$.pair`"),
    ("pair", ["a", "b"], "Expected `float`, got `str` - at `$.pair[1]`"),
    ("spans", [1], "Expected `object`, got `array` - at `$.spans`"),
    ("spans", {"a": [1], "b": [None]}, "Expected `float`, got `null` - at `$.spans[...][0]`"),
    ("codes", [1, 2.5], WHOLES),
    ("codes", [1, 2**63], WHOLES),
    ("codes", [True], WHOLES),
    ("codes", ["a" * 10**6, *range(10**5)], WHOLES),
    ("codes", 1, WHOLES),
    ("shares", [[1], [2, 3]], "Expected lists of one length - at `$.shares`"),
    ("shares", [[1], 2], NUMBERS),
    ("shares", [float("inf")], NUMBERS),
    ("shares", [10**400], NUMBERS),
    (
        "leaf",
        {"name": "a", "share": 1, "below": [{"name": "b"}]},
        "Object missing required field `share` - at `$.leaf.below[0]`",
    ),
    ("leaf", {"name": "a", "share": 1, "below": [{"name": "b", "share": 1, "bellow": []}]}, "Unknown entry 'bellow'"),
    ("leaf", [], "Expected `object`, got `array` - at `$.leaf`"),
]


@pytest.mark.parametrize(("name", "value", "said"), WRONG, ids=lambda part: f"{part!r:.30}")
def test_what_does_not_fit_is_named_with_its_place(name: str, value: object, said: str) -> None:
    with pytest.raises(DamageError) as damage:
        structured({**GOOD, name: value}, Everything)
    assert str(damage.value) == said


KIND = FileKind("model", OptionError, "save it anew", version=1, most_bytes=1000)


def test_a_file_is_read_within_its_bounds_and_named_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    file = KIND.at(path)
    with pytest.raises(
        OptionError, match=r"cannot read the model .*m\.json: No such file or directory\n  fix: check the path"
    ):
        file.text()
    path.write_bytes(b"\xff")
    with pytest.raises(
        OptionError,
        match=r"cannot read the model .*m\.json: it is not UTF-8 text\n  why: byte 0 .*\n  fix: save it anew",
    ):
        file.text()
    path.write_bytes(b" " * 1001)
    with pytest.raises(OptionError, match=r"the model .*m\.json has more than 1,000 bytes"):
        file.text()
    with pytest.raises(OptionError, match=r"the model .*: no such name"):
        KIND.at("a\0b").text()
    with pytest.raises(OptionError, match=r"m\.json holds no names and values"):
        file.facts("[]")
    for other in ('{"version": 2}', '{"version": true}', '{"version": [1]}', "{}"):
        with pytest.raises(
            OptionError, match=r"m\.json is of another version of Jostle, or no model\n  fix: save it anew"
        ):
            file.facts(other)
    with pytest.raises(
        OptionError, match=r"m\.json is damaged: Object missing required field `share`\n  fix: save it anew"
    ):
        file.made(Leaf, file.facts('{"version": 1, "name": "a"}'))
    with pytest.raises(OptionError, match="the model is not JSON: Input data was truncated"):
        KIND.facts("")
    assert file.made(Leaf, file.facts('{"version": 1, "name": "a", "share": 0}')) == Leaf("a", 0.0)


def test_a_file_without_an_end_is_not_read_without_end() -> None:
    with pytest.raises(OptionError, match="has more than 1,000 bytes"):
        KIND.at("/dev/zero").text()
