"""The command line: all commands, and what becomes of mistakes.

Every command has --json, and ends with 0 (good), 1 (a mistake), 2 (usage) or 3 (budget refused).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jostle.cli import ledger, schema, trace, vault
from jostle.cli.advise import advise
from jostle.cli.audit import audit
from jostle.cli.check import check
from jostle.cli.evaluate import evaluate
from jostle.cli.example import example
from jostle.cli.explain import explain
from jostle.cli.fmt import fmt
from jostle.cli.options import options
from jostle.cli.run import run
from jostle.cli.saying import MISTAKE, REFUSED, echo, fail, interrupted, report
from jostle.cli.train import train
from jostle.cli.trainable import Evaluating, SeveralEpsilons, filled
from jostle.errors import AmountError, BudgetError, JostleError, ProgramError
from jostle.visible import visible

__all__ = ["main"]


class Commands(TyperGroup):
    """All commands. Ctrl-C is answered here: further out, it would have become an exit status without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            interrupted()


app = typer.Typer(
    cls=Commands,
    help="Differential privacy that chooses the algorithm for you, and accounts for the choice.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
schema_app = typer.Typer(help="Public facts about tables.", no_args_is_help=True)
ledger_app = typer.Typer(help="What was spent.", no_args_is_help=True)
trace_app = typer.Typer(help="What a run did.", no_args_is_help=True)
vault_app = typer.Typer(help="What is promised.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")
app.add_typer(trace_app, name="trace")
app.add_typer(vault_app, name="vault")

app.command(cls=SeveralEpsilons)(train)
app.command(cls=Evaluating)(evaluate)
app.command(cls=SeveralEpsilons)(advise)
app.command()(example)
app.command()(run)
app.command()(check)
app.command()(fmt)
app.command()(explain)
app.command()(audit)
app.command()(options)
schema_app.command("infer")(schema.infer)
ledger_app.command("show")(ledger.show)
trace_app.command("show")(trace.show)
trace_app.command("json")(trace.as_json)
trace_app.command("why")(trace.why)
vault_app.command("create")(vault.create)
vault_app.command("show")(vault.show)
vault_app.command("raise")(vault.raise_promise)
vault_app.command("backup")(vault.backup)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - a flag
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - commands load what they need

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


def main() -> None:
    """Run a command; whatever goes wrong becomes a sentence and an exit status."""
    as_json = _wants_json(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what it cannot write is written as \\u2603: it may have been paid for
            stream.reconfigure(errors="backslashreplace")
    try:
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
