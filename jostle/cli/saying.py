"""What commands share: what they are called with, how they print and write, and how they end."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from jostle.errors import AmountError, BudgetError, ChoiceError, Diagnostic, JostleError, ProgramError, Source, render
from jostle.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="FILE.py", help="Options of your own, which are then imported and named like any others."
    ),
]

MISTAKE, REFUSED, INTERRUPTED = 1, 3, 130


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, whether it is there or not."""
    try:
        return one.samefile(other)
    except OSError:
        return one.absolute() == other.absolute()


def report(source: Source, diagnostics: Sequence[Diagnostic], *, as_json: bool) -> None:
    """Print a program's mistakes, and end if there are any."""
    if as_json:
        status = MISTAKE if diagnostics else 0
        mistakes = [diagnostic.as_data() for diagnostic in diagnostics]
        say_json({"program": source.name, "diagnostics": mistakes, "status": status})
    elif diagnostics:
        show_mistakes(source, diagnostics)
    if diagnostics:
        raise SystemExit(MISTAKE)


def show_mistakes(source: Source, diagnostics: Sequence[Diagnostic]) -> None:
    """Print a program's mistakes for people."""
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    typer.echo(render(source, diagnostics, colour=colour), err=True)  # paints, and shows what it quotes itself


def load_with(files: Sequence[Path] | None) -> None:
    """Register the Options in the files that a command is given."""
    if files:
        from jostle.options.registry import load_own

        for file in files:
            load_own(file)


def echo(line: str, *, err: bool = False) -> None:
    """Print a line, in which nothing steers the screen, nor ends it."""
    typer.echo(visible(line), err=err)


def echo_lines(text: str, *, err: bool = False) -> None:
    """Print a text of several lines; names in it are on one line already."""
    typer.echo(visible_lines(text), err=err)


def say(line: str, data: Any, as_json: bool) -> None:  # noqa: FBT001 - which of the two to print
    """Print a line, or what it says as JSON."""
    if as_json:
        say_json(data)
    else:
        echo(line)


def say_json(data: Any, *, indent: int | None = 2) -> None:
    """Print JSON, in which escapes stand for all that is not plain ASCII."""
    written = json.dumps(data, indent=indent, default=str)  # amounts as 1/3
    typer.echo(written.replace("\x7f", "\\u007f"))  # the one control that JSON writes as it is


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; columns of numbers are set to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in head:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    for row in rows:
        # As Text: a name in square brackets would be taken for a style.
        table.add_row(*(Text(visible(cell)) for cell in row))
    show(table)


def print_page(page: str) -> None:
    """Print a web page, whose texts are visible."""
    typer.echo(page, nl=False)


def headline(line: str) -> None:
    """Print a line that stands out."""
    from rich.text import Text

    show(Text(visible(line), style="bold"), soft_wrap=True)


def show(made: RenderableType, *, soft_wrap: bool = False) -> None:
    """Print what was made for a screen: a table, say, whose texts are visible."""
    from rich.console import Console

    Console().print(made, soft_wrap=soft_wrap)


def failure(problem: BaseException) -> tuple[dict[str, Any], int | None]:
    """A failure as data, and the status that a command ends with; None for a mistake of ours."""
    if isinstance(problem, KeyboardInterrupt):
        return {"error": {"title": "stopped", "why": None, "fix": None}}, INTERRUPTED
    status = REFUSED if isinstance(problem, BudgetError) and not isinstance(problem, AmountError) else MISTAKE
    if isinstance(problem, ProgramError):
        mistakes = [diagnostic.as_data() for diagnostic in problem.diagnostics]
        return {"error": problem.facts(), "diagnostics": mistakes}, status
    if isinstance(problem, JostleError):
        return {"error": problem.facts()}, status
    return {"error": {"title": f"a mistake of ours: {type(problem).__name__}", "why": None, "fix": "report it"}}, None


def fail(text: str, status: int, *, as_json: bool, error: JostleError | None = None) -> NoReturn:
    """Say what went wrong, and end with a status."""
    if as_json and error is not None:
        say_json({"error": error.facts(), "status": status}, indent=None)
    else:
        echo_lines(text, err=True)
    raise SystemExit(status)


def interrupted() -> NoReturn:
    """Say that Ctrl-C was heard, and end."""
    fail("stopped; what was released until then stays recorded", INTERRUPTED, as_json=False)


DEVICES = Path("/dev")
"""Pipes in here are the shell's own, which are read from: `--out >(gzip > a.json.gz)`."""


def check_kept(out: Path | None, option: str, named: Mapping[str, Path | None]) -> None:
    """Refuse to write over what the command goes by, private data or a vault, and into a pipe nobody may read from."""
    if out is None:
        return
    over = next((what for what, path in named.items() if path is not None and is_same_file(out, path)), _kept(out))
    if over is not None:
        raise ChoiceError(
            f"{option} {out} would be written over {over}",
            why="what is in it now would be lost",
            fix=f"{option} another file",
        )
    if out.is_fifo() and DEVICES not in out.absolute().parents:
        raise ChoiceError(
            f"cannot write {out}",
            why="it is a pipe: where nobody reads from it, what is written would wait there",
            fix=f"{option} a file",
        )


def _kept(out: Path) -> str | None:
    """What a file is, in words, if nothing is ever to be written over it: whatever command it is named to."""
    if not out.is_file():
        return None
    from jostle.privacy.vault_file import is_vault
    from jostle.tables.origins import known_vault

    if is_vault(out):
        return "a vault"
    vault = known_vault(out)
    return None if vault is None else f"private data, whose vault is {vault}"


AMOUNT = re.compile(r"\d[\d.]*(e-?\d+)?(/\d+)?%?|\.\d+")
"""What is a further value of --epsilon rather than the next argument."""
PROGRAMS = (".jst", ".py")
Program = Annotated[
    str,
    typer.Argument(
        help="A .jst or .py file with a maker or labelled choices, or a maker that came with Jostle: "
        '"classification", "classification-balanced-error", "classification-log-loss", "classification-auc", "ranges", '
        '"publishing", "selection", "selection-auc".'
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
    repeated: list[str] = []
    taking = False
    for number, word in enumerate(words):
        after_flag = number > 0 and words[number - 1] == flag
        taking = after_flag or (taking and AMOUNT.fullmatch(word) is not None)
        repeated += [flag, word] if taking and not after_flag else [word]
    return repeated


def filled(words: Sequence[str], flag: str) -> list[str]:
    """A command's words, with - after a flag that may have a file after it and has none.

    >>> filled(["--json", "p.jst", "--trials", "2"], "--json")
    ['--json', '-', 'p.jst', '--trials', '2']
    """
    complete: list[str] = []
    for number, word in enumerate(words):
        complete.append(word)
        after = words[number + 1] if number + 1 < len(words) else "--"
        if word == flag and after != "-" and (after.startswith("-") or after.endswith(PROGRAMS)):
            complete.append("-")
    return complete


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
