"""What JSON holds becomes a value of the declared type, or a sentence that names the place where it does not fit."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError, OptionError
from jostle.files.damage import DamageError
from jostle.files.kinds import FileKind
from jostle.files.structure import AnyFloat, LongInteger, structured


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
    long: LongInteger
    number: float
    any_number: AnyFloat
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
    "whole": 3,
    "long": 10**400,
    "number": 2,
    "any_number": float("inf"),
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
    made = structured(json.loads(json.dumps(GOOD)), Everything)
    assert (made.number, type(made.number), made.amount, made.perhaps) == (2.0, float, Fraction(1, 3), None)
    assert (made.names, made.pair, made.spans) == (("a", "b"), ("a", 0.5), {"a": (1.0, 2.5)})
    assert made.leaf == Leaf("root", 1.0, (Leaf("a", 0.5),))
    assert (made.codes.dtype, made.codes.tolist(), made.shares.shape) == (np.dtype(np.int64), [1, 2], (2, 2))
    assert made.rest == {"what": ["ever"]}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no such types")
def test_what_a_type_alias_stands_for_is_read() -> None:
    names: dict[str, Any] = {}
    exec("type Pair[A, B] = tuple[B, A]\ntype Some[T] = tuple[T, ...]\ntype Word = str", names)  # noqa: S102 - 3.11's grammar has no such line
    pair, some, word = names["Pair"], names["Some"], names["Word"]
    assert structured([[1, "a"]], some[pair[word, int]]) == ((1, "a"),)
    with pytest.raises(DamageError, match=r"^\[0\]\[1\] is not a text"):
        structured([[1, 2]], some[pair[word, int]])


WRONG = [
    ("text", 3, "text is not a text"),
    ("text", "\ud800", "text is a text with half a character"),
    ("truth", 1, "truth is not true or false"),
    ("whole", True, "whole is not a whole number of 64 bits"),
    ("whole", 2.0, "whole is not a whole number of 64 bits"),
    ("whole", 2**63, "whole is not a whole number of 64 bits"),
    ("whole", 13, "does not fit together: thirteen brings bad luck"),
    ("long", "1", "long is not a whole number"),
    ("number", "0.5", "number is not a number"),
    ("number", float("nan"), "number is not a finite number"),
    ("number", 10**400, "number is not a number"),
    ("any_number", None, "any_number is not a number"),
    ("amount", 0.5, "amount is not a text"),
    ("amount", "1/0", 'amount is not an amount such as "1/3"'),
    ("amount", "1e999999999", 'amount is not an amount such as "1/3"'),
    ("perhaps", "", "perhaps is not a whole number of 64 bits"),
    ("way", "toss", "way is not 'vote' or 'mean'"),
    ("way", ["vote"], "way is not 'vote' or 'mean'"),
    ("names", "ab", "names is not a list"),
    ("names", ["a", None], "names[1] is not a text"),
    ("pair", ["a"], "pair is not a list of 2"),
    ("pair", ["a", "b"], "pair[1] is not a number"),
    ("spans", [1], "spans is not a mapping from names to values"),
    ("spans", {"a": [1], "b": [None]}, "spans.b[0] is not a number"),
    ("spans", {"\x1b[2J" + "b" * 99: 0}, r"spans.'\x1b[2Jbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' is not a list"),
    ("codes", [1, 2.5], "codes is not a list of whole numbers of 64 bits"),
    ("codes", [1, 2**63], "codes is not a list of whole numbers of 64 bits"),
    ("codes", [True], "codes is not a list of whole numbers of 64 bits"),
    ("codes", ["a" * 10**6, *range(10**5)], "codes is not a list of whole numbers of 64 bits"),
    ("shares", [[1], [2, 3]], "shares is not lists of one length"),
    ("shares", [[1], 2], "shares is not a list of finite numbers"),
    ("shares", [float("inf")], "shares is not a list of finite numbers"),
    ("shares", [10**400], "shares is not a list of finite numbers"),
    ("leaf", {"name": "a", "share": 1, "below": [{"name": "b"}]}, "leaf.below[0].share is missing"),
    ("leaf", {"name": "a", "share": 1, "odd": 2}, "leaf has an entry odd that is not known"),
    ("leaf", [], "leaf is not a mapping from names to values"),
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
    with pytest.raises(OptionError, match=r"m\.json is damaged: share is missing\n  fix: save it anew"):
        file.made(Leaf, file.facts('{"version": 1, "name": "a"}'))
    with pytest.raises(OptionError, match="the model is not JSON: Expecting value, line 1, column 1"):
        KIND.facts("")
    assert file.made(Leaf, file.facts('{"version": 1, "name": "a", "share": 0}')) == Leaf("a", 0.0)


def test_a_file_without_an_end_is_not_read_without_end() -> None:
    with pytest.raises(OptionError, match="has more than 1,000 bytes"):
        KIND.at("/dev/zero").text()
