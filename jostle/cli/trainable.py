"""What `train` and `evaluate` are called with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

__all__ = ["Entry", "Evaluating", "Maker", "Program", "Public", "SeveralEpsilons", "Workers", "filled", "spread"]

AMOUNT = re.compile(r"\d[\d.]*(e-?\d+)?(/\d+)?%?|\.\d+")
"""What is a further value of --epsilon rather than the next argument."""
PROGRAMS = (".jst", ".py")
Program = Annotated[
    str,
    typer.Argument(
        help="A .jst or .py file with a maker or labelled choices, or a maker that came with Jostle: "
        '"classification", "classification-auc", "ranges-1d", "ranges-2d", "publishing", "selection", "selection-auc".'
    ),
]
Entry = Annotated[str | None, typer.Option("--entry", help="The function or Option whose labelled choices are meant.")]
Maker = Annotated[str | None, typer.Option("--maker", help="Which maker, if the program has several.")]
Public = Annotated[
    list[Path] | None,
    typer.Option("--public", help="A folder, or a file, that the program may read; may be given several times."),
]
Workers = Annotated[int | None, typer.Option(help="Processes; one per processor if left out.", min=1)]


def spread(words: Sequence[str], flag: str) -> list[str]:
    """A command's words, the flag repeated before each of several values that follow it.

    >>> spread(["p.jst", "--epsilon", "0.1", "1/3", "--trials", "2"], "--epsilon")
    ['p.jst', '--epsilon', '0.1', '--epsilon', '1/3', '--trials', '2']
    """
    found: list[str] = []
    taking = False
    for place, word in enumerate(words):
        after_flag = place > 0 and words[place - 1] == flag
        taking = after_flag or (taking and AMOUNT.fullmatch(word) is not None)
        found += [flag, word] if taking and not after_flag else [word]
    return found


def filled(words: Sequence[str], flag: str) -> list[str]:
    """A command's words, with - after a flag that may have a file after it and has none.

    >>> filled(["--json", "p.jst", "--trials", "2"], "--json")
    ['--json', '-', 'p.jst', '--trials', '2']
    """
    found: list[str] = []
    for place, word in enumerate(words):
        found.append(word)
        after = words[place + 1] if place + 1 < len(words) else "--"
        if word == flag and after != "-" and (after.startswith("-") or after.endswith(PROGRAMS)):
            found.append("-")
    return found


class SeveralEpsilons(TyperCommand):
    """A command whose --epsilon takes several values, after one flag or each after its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words."""
        return super().parse_args(ctx, spread(args, "--epsilon"))


class Evaluating(SeveralEpsilons):
    """A command of that kind whose --json is a flag, like any other's, or has a file after it to be written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words."""
        return super().parse_args(ctx, filled(args, "--json"))
