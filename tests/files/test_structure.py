"""Files are read within bounds, as they are declared, and what cannot be written is refused."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tables_of_labels import correlated, table_of

import jostle
from jostle.errors import ChoiceError, DamageError, JostleError, OptionError
from jostle.files.kinds import FileKind, json_parsed, toml_parsed
from jostle.files.structure import structured


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


# Texts of JSON and TOML: what is too deep or too long is refused before it does harm, and all else is read.


DEEP = 100_000
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
TOO_MUCH_JSON = {
    "lists": "[" * DEEP,
    "whole lists": "[" * DEEP + "]" * DEEP,
    "mappings": '{"a":' * DEEP,
    "lists behind texts": "[" + '"[", "\\"]", ' * 100 + "[" * 60 + "]" * 61,
    "digits": "9" * 5000,
    "unclosed": '"' * (DEEP + 1),
    "escapes": '"\\' * DEEP,
}
TOO_MUCH_TOML = {
    "lists": "a = " + "[" * DEEP,
    "mappings": "a = {b = " * DEEP,
    "a dotted key": "a." * DEEP + "b = 1",
    "a table's name": "[" + "a." * DEEP + "b]",
    "a key after a text": 'a = "' + "." * 1000 + '"\n' + "b ." * 1000 + "c = 1",
    "digits": "a = " + "9" * 5000,
    "quotes": '"""' * (DEEP + 1),
    "escapes": 'a = """' + '\\"""' * DEEP,
}


@given(json_values)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    for indent in (None, 1):
        assert json_parsed(json.dumps(value, indent=indent)) == value


def no_number(said: str) -> None:
    raise ValueError(said)


@given(st.text('[]{}"\\ ,:1a\n') | st.text())
def test_any_text_is_json_or_damaged(text: str) -> None:
    try:
        known = json.loads(text, parse_constant=no_number)
    except ValueError:
        with pytest.raises(DamageError):
            json_parsed(text)
    else:
        assert json_parsed(text) == known


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e999", '"\\ud800"', '"\ud800"', '{"\\udc00": 1}'])
def test_what_is_no_number_or_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(DamageError):
        json_parsed(text)


@pytest.mark.parametrize("text", TOO_MUCH_JSON.values(), ids=TOO_MUCH_JSON.keys())
def test_too_much_json_is_refused_whatever_the_limit_on_calls_in_calls(text: str) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(DamageError) as damage:
            json_parsed(text)
    finally:
        sys.setrecursionlimit(before)
    assert len(str(damage.value)) < 100


def test_brackets_in_texts_do_not_count() -> None:
    text = json.dumps(["[" * 1000, '"{' * 1000, "\\" * 999])
    assert json_parsed(text) == json.loads(text)


@given(st.text("[]{}\"'\\ ,=.#1a\n") | st.text())
def test_any_text_is_toml_or_damaged(text: str) -> None:
    try:
        known = tomllib.loads(text)
    except ValueError:
        with pytest.raises(DamageError):
            toml_parsed(text)
    else:
        assert toml_parsed(text) == known


@pytest.mark.parametrize("text", TOO_MUCH_TOML.values(), ids=TOO_MUCH_TOML.keys())
def test_too_much_toml_is_refused(text: str) -> None:
    with pytest.raises(DamageError) as damage:
        toml_parsed(text)
    assert len(str(damage.value)) < 200


def test_dots_and_brackets_in_texts_and_comments_do_not_count() -> None:
    dots, brackets = "a." * 200, "[" * 200
    text = f'# {dots} {brackets}\na = "{dots}{brackets}\\""\nb = \'{dots}{brackets}\'\n'
    text += f"c = '''\n{dots}''{brackets}'''\n"
    text += f'd = """{dots}""{brackets}\\""""\n' + "".join(f"e{place}.f.g = 1.5\n" for place in range(200))
    assert toml_parsed(text) == tomllib.loads(text)


# What is saved to a file that cannot be written is refused in a sentence, whatever it is and whoever writes it.


SCHEMA, ROWS = correlated(120)
TABLE = table_of(ROWS, SCHEMA)
GRID = jostle.Table.from_grid(np.arange(8))


def estimate(path: str) -> None:
    jostle.options.get("Identity")(jostle.rehearse(GRID, seed=1), epsilon=1).write(path)


def published(path: str) -> None:
    jostle.options.get("PrivPfC")(jostle.rehearse(TABLE, seed=1), epsilon=1).write(path)


def model(path: str) -> None:
    jostle.options.get("Majority")(jostle.rehearse(TABLE, seed=1), epsilon=1).save(path)


def selected(path: str) -> None:
    jostle.options.get("FirstFeatures")(jostle.rehearse(TABLE, seed=1), epsilon=1).save(path)


def schema(path: str) -> None:
    SCHEMA.write(path)


def maker(path: str) -> None:
    jostle.pretrained("classification").trained.save(path)


WRITERS = {
    **{f"estimate{ending}": (estimate, ending) for ending in (".csv", ".parquet", ".npy", ".json")},
    **{f"published{ending}": (published, ending) for ending in (".csv", ".parquet", ".json")},
    **{each.__name__: (each, "") for each in (model, selected, schema, maker)},
}


@pytest.mark.parametrize(("write", "ending"), WRITERS.values(), ids=WRITERS.keys())
def test_what_cannot_be_written_is_refused_in_a_sentence(
    write: Callable[[str], None], ending: str, tmp_path: Path
) -> None:
    (tmp_path / f"folder{ending}").mkdir()
    (tmp_path / "file").write_text("")
    for place in (f"folder{ending}", f"file/a{ending}", f"a\0b{ending}"):
        with pytest.raises(JostleError, match="cannot write"):
            write(str(tmp_path / place))
