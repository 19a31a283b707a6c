"""What is known of losses by public facts: a band for each Option, in a file that comes with Jostle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import asdict, frozen

from jostle.advice.bands import Band, Scale
from jostle.errors import ChoiceError
from jostle.files.kinds import FileKind
from jostle.learned.places import shipped_folder

__all__ = ["Expectations", "OptionBands", "kept_expectations", "write_expectations"]

VERSION = 1
ADVICE = FileKind("file of expected losses", ChoiceError, "python benchmarks/ship_advice.py makes it anew", VERSION)


@frozen
class OptionBands:
    """What is expected of an Option."""

    version: int
    """Of the Option."""
    plain: Band
    told: Band | None
    """Where it is known how common the commonest class is."""
    beside_guess: Band
    """How far its loss is from that of guessing, on the same databases."""


@frozen
class Expectations:
    """What is expected of the Options that a maker which came with Jostle chooses among, and others of its task."""

    scale: Scale
    judge: str
    guess: str
    """The Option that looks at nothing but how many rows there are of what."""
    maker: str
    cells: tuple[int, ...]
    """Numbers of cells that the grids had."""
    least: float
    most: float
    """Logarithms of records times epsilon that were rehearsed."""
    digests: tuple[str, ...]
    """The beginnings of the digests of the databases it was learned from."""
    groups: int
    options: Mapping[str, OptionBands]

    @property
    def databases(self) -> int:
        """How many databases it was learned from."""
        return len(self.digests)


def path() -> Path:
    """Where the file is."""
    return shipped_folder() / "advice.json"


@cache
def kept_expectations() -> Mapping[str, Expectations]:
    """What is expected, by the name of the maker."""
    file = ADVICE.at(path())
    facts = file.facts(file.text())
    return {name: file.made(Expectations, fact) for name, fact in facts.items()}


def write_expectations(found: Mapping[str, Expectations]) -> None:
    """Write the file."""
    facts = {"version": VERSION, **{name: asdict(each) for name, each in found.items()}}
    path().write_text(json.dumps(_short(facts), indent=1) + "\n", encoding="utf-8")
    kept_expectations.cache_clear()


def _short(value: object) -> object:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
