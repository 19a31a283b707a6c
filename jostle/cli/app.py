"""The command line: all commands, and what becomes of mistakes.

Every command has --json, and ends with 0 (good), 1 (a mistake), 2 (usage) or 3 (budget refused).
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Sequence
from copy import copy
from io import TextIOWrapper
from itertools import pairwise
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from jostle.cli.saying import MISTAKE, REFUSED, Evaluating, SeveralEpsilons, echo, fail, filled, interrupted, report
from jostle.errors import AmountError, BudgetError, JostleError, ProgramError
from jostle.visible import visible

OBJECTS = 50_000
"""New ones after which Python looks for garbage."""
COMMANDS = {
    "train": "learning:train",
    "evaluate": "learning:evaluate",
    "advise": "learning:advise",
    "example": "tables:example",
    "run": "run:run",
    "check": "check:check",
    "fmt": "check:fmt",
    "explain": "check:explain",
    "audit": "algorithms:audit",
    "options": "algorithms:options",
    "reproduce": "algorithms:reproduce",
    "schema": "tables:schemas",
    "ledger": "vault:ledgers",
    "trace": "run:traces",
    "vault": "vault:vaults",
    "serve": "owner:serve",
    "connect": "owner:connect",
    "key": "owner:keys",
    "share": "owner:shares",
    "approve": "owner:approve",
    "audit-log": "owner:audit_logs",
}
"""All commands, in the order of the help: where each is, a function or a group of them, loaded when it is called."""
KINDS = {"train": SeveralEpsilons, "advise": SeveralEpsilons, "evaluate": Evaluating}
"""Commands whose words are read in a way of their own."""


class Commands(TyperGroup):
    """All commands. Ctrl-C is answered here: further out, it would have become an exit status without a word."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)  # None for one that is not loaded yet

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the group's own signature
        """A command by its name, or None."""
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, for which nobody has to know what each command is called with."""
        listing = copy(self)
        listing.commands = {name: TyperCommand(name=name, help=_command(name).help) for name in COMMANDS}
        super(Commands, listing).format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            interrupted()


def _command(name: str) -> Any:
    loaded = resolve_name(f"jostle.cli.{COMMANDS[name]}")
    if isinstance(loaded, typer.Typer):
        made: Any = get_group(loaded)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(cls=KINDS.get(name))(loaded)
        made = get_command(alone)
    made.name = name
    return made


app = typer.Typer(
    cls=Commands,
    help="Differential privacy that chooses the algorithm for you, and accounts for the choice.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - a flag
    if asked:
        from importlib.metadata import version

        echo(f"jostle {version('jostle')}")
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Say which version this is."),
    ] = False,
) -> None:
    """Answer what is asked of Jostle itself, rather than of a command."""


def _wants_json(words: Sequence[str]) -> bool:
    """Whether mistakes are to be told in JSON; `evaluate` may have a file after --json, and prints it for -."""
    if words[:1] == ["evaluate"]:
        return "--json=-" in words or any(pair == ("--json", "-") for pair in pairwise(filled(words, "--json")))
    return "--json" in words


def _warned(message: Warning | str, *_: object) -> None:
    """Print what is warned of as a line, without the place in the code that warns."""
    echo(f"warning: {message}", err=True)


def main() -> None:
    """Run a command; whatever goes wrong becomes a sentence and an exit status."""
    # What is loaded stays: to look through it for garbage again and again would take a twentieth of a short command.
    gc.set_threshold(OBJECTS)
    as_json = _wants_json(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what it cannot write is written as \\u2603: it may have been paid for
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned  # type: ignore[assignment]  # which is given all by position
            app()
    except AmountError as mistake:  # nothing was asked for yet
        fail(f"error: {mistake}", MISTAKE, as_json=as_json, error=mistake)
    except BudgetError as refusal:
        fail(f"refused: {refusal}", REFUSED, as_json=as_json, error=refusal)
    except ProgramError as mistake:
        report(mistake.source, mistake.diagnostics, as_json=as_json)
    except JostleError as mistake:
        fail(f"error: {mistake}", MISTAKE, as_json=as_json, error=mistake)
    except OSError as mistake:
        name = f" {visible(str(mistake.filename))}" if mistake.filename else ""
        fail(f"error: cannot write{name}: {mistake.strerror}", MISTAKE, as_json=as_json)
    except KeyboardInterrupt:
        interrupted()
