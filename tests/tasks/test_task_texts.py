"""What stands for a function that is in no file: the same in every process, and another once anything in it changes."""

from __future__ import annotations

import os
from typing import Any

import pytest
from processes import ran

import jostle
from jostle.tasks.metafeature import text_of

TEXT = """def size(db):
    kinds = db.kind in {"few", "some", "many", "most"}
    return max((each for each in (1, 2)), key=lambda each: each + 10) + kinds
"""


def made(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "nowhere", "exec"), names)  # noqa: S102 - so it is in no file
    return names["size"]


@pytest.mark.parametrize(
    ("old", "new"), [("+ 10", "+ 11"), ('"most"', '"more"'), ("(1, 2)", "(1, 3)"), ("max", "min"), ("each + 10", "10")]
)
def test_whatever_changes_in_a_function_changes_its_text(old: str, new: str) -> None:
    assert text_of(made(TEXT)) == text_of(made(TEXT))
    assert text_of(made(TEXT)) != text_of(made(TEXT.replace(old, new)))


TYPED = f"""import jostle

{TEXT}

@jostle.option(task="grid")
def Typed(db, *, epsilon):
    return [size(each) for each in "ab" if each in {{"x", "y", "z"}}]

print(jostle.metafeature(size).version, Typed.version, Typed.mark)
"""


@pytest.mark.slow
def test_an_option_and_a_metafeature_typed_in_have_the_same_marks_in_every_process() -> None:
    printed = {
        ran("-c", TYPED, env={**os.environ, "PYTHONHASHSEED": seed}, check=True).stdout for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_the_version_of_a_metafeature_goes_by_all_of_it() -> None:
    one, other = (jostle.metafeature(made(text)).version for text in (TEXT, TEXT.replace("+ 10", "+ 11")))
    assert one != other
