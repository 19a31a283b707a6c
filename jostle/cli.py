"""The command line.

Every command has --json, and ends with 0 (good), 1 (a mistake), 2 (usage) or 3 (budget refused).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup

from jostle.cli_choice import add_to
from jostle.cli_run import add_run
from jostle.errors import BudgetError, Diagnostic, JostleError, ProgramError, Source, render

__all__ = ["main"]

Item = TypeVar("Item")

MISTAKE, REFUSED, INTERRUPTED = 1, 3, 130


class Commands(TyperGroup):
    """All commands. Ctrl-C is answered here: further out, it would have become an exit status without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _interrupted()


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
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")
app.add_typer(trace_app, name="trace")

add_to(app, trace_app)
add_run(app)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]


def _show_version(asked: bool) -> None:  # noqa: FBT001 - a flag
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - commands load what they need

        typer.echo(f"jostle {version('jostle')}")
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


@app.command()
def check(
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    schema: Annotated[
        Path | None, typer.Option(help="Public facts about a table; if left out, those that the program names.")
    ] = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Report all mistakes in a program that can be found without data, and what its functions spend at most."""
    from jostle.lang.check import check as check_program  # noqa: PLC0415
    from jostle.lang.parser import read_source  # noqa: PLC0415
    from jostle.lang.price import prices  # noqa: PLC0415
    from jostle.lang.schema_named import check_named  # noqa: PLC0415

    source = read_source(program)
    if schema is None:
        checked, known = check_named(source)
    else:
        from jostle.tables.schema import Schema  # noqa: PLC0415 - without one, no library of numbers is loaded

        known = Schema.read(schema)
        checked = check_program(source, known)
    _report(checked.source, checked.diagnostics, as_json=json_)
    if not json_:
        typer.echo(f"{program}: no mistakes found")
        for each in prices(checked.module, known).values():
            typer.echo(f"  {each.text}")


@app.command()
def fmt(
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    check: Annotated[bool, typer.Option("--check", help="Only say whether it would change.")] = False,  # noqa: FBT002
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Write a program in its canonical form, comments kept."""
    from jostle.lang.parser import parse_text, read_source  # noqa: PLC0415
    from jostle.lang.printer import show  # noqa: PLC0415

    source = read_source(program)
    parsed = parse_text(source)
    _report(source, parsed.diagnostics, as_json=json_ and bool(parsed.diagnostics))
    text = show(parsed.module)
    changed = text.encode() != program.read_bytes()
    if changed and not check:
        program.write_bytes(text.encode())
    words = ("would change" if check else "rewritten") if changed else "unchanged"
    _say(f"{program}: {words}", {"program": str(program), "changed": changed, "diagnostics": []}, json_)
    if changed and check:
        raise SystemExit(MISTAKE)


@app.command()
def explain(
    code: Annotated[str, typer.Argument(help="A code from a message, J201.")],
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Explain a kind of mistake: the rule, a wrong program and a right one."""
    from jostle.lang.codes import explain as explain_code  # noqa: PLC0415

    found = explain_code(code)
    _say(found.as_text(), found.as_data(), json_)


def _report(source: Source, diagnostics: Sequence[Diagnostic], *, as_json: bool) -> None:
    """Print a program's mistakes, and end if there are any."""
    if as_json:
        status = MISTAKE if diagnostics else 0
        found = [each.as_data() for each in diagnostics]
        _say_json({"program": source.name, "diagnostics": found, "status": status})
    elif diagnostics:
        colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        typer.echo(render(source, diagnostics, colour=colour), err=True)
    if diagnostics:
        raise SystemExit(MISTAKE)


@schema_app.command("infer")
def schema_infer(
    data: Annotated[Path, typer.Argument(help="A public CSV or Parquet file.")],
    label: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
    bins: Annotated[int, typer.Option(help="Bins of equal width for columns of numbers.")] = 16,
    out: Annotated[Path | None, typer.Option(help="Write the TOML here instead of printing it.")] = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Read a schema off PUBLIC data: its values, bounds and empty cells. Never point it at private data."""
    from jostle.tables import Schema  # noqa: PLC0415 - commands load what they need

    schema = Schema.infer_public(data, label=label, bins=bins)
    if out is not None:
        schema.write(out)
        _say(f"wrote {out}: {len(schema.names)} columns", {"out": str(out), "columns": list(schema.names)}, json_)
    else:
        text = schema.to_toml()
        _say(text.rstrip("\n"), {"toml": text, "columns": list(schema.names)}, json_)


@ledger_app.command("show")
def ledger_show(
    vault: Annotated[Path, typer.Option(help="The vault file.")],
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show what a vault's table was promised, what was spent of it, and when."""
    from jostle.privacy.amounts import show_amount  # noqa: PLC0415
    from jostle.privacy.vault import FileVault  # noqa: PLC0415

    keeper = FileVault(vault)
    account, lines = keeper.account(), keeper.reservations()
    if json_:
        _say_json(
            {
                "vault": str(vault),
                "neighbours": account.neighbours,
                "promise": str(account.promise),
                "spent": str(account.spent),
                "left": str(account.left),
                "reservations": [
                    {"moment": line.moment, "process": line.process, "site": line.site, "epsilon": str(line.epsilon)}
                    for line in lines
                ],
            }
        )
        return
    promise, spent, left = map(show_amount, (account.promise, account.spent, account.left))
    _table(
        f"{vault}: epsilon {spent} of {promise} spent, {left} left, under {account.neighbours}",
        ("moment", "process", "site", "epsilon"),
        [(line.moment, str(line.process), line.site, show_amount(line.epsilon)) for line in lines],
    )


@trace_app.command("show")
def trace_show(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show a trace as a table for people."""
    if json_:
        trace_json(file)
        return
    from rich.console import Console  # noqa: PLC0415

    from jostle.trace.records import read_trace  # noqa: PLC0415
    from jostle.trace.render import render_trace  # noqa: PLC0415

    Console().print(render_trace(read_trace(file)))


@trace_app.command("json")
def trace_json(file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")]) -> None:
    """Print a trace as one JSON array."""
    from jostle.trace.records import read_trace, to_json  # noqa: PLC0415

    _say_json([json.loads(to_json(record)) for record in read_trace(file)])


@app.command()
def audit(
    name: Annotated[
        str | None, typer.Argument(help="An Option, a mechanism or a positive control; all if left out.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Run at this epsilon.")] = None,
    samples: Annotated[int | None, typer.Option(help="Runs on each of two neighbours.")] = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Look for evidence that a mechanism gives away more than it claims, over neighbouring inputs made to show it."""
    from jostle.audit import audit as audit_one  # noqa: PLC0415
    from jostle.audit import audit_all, names, show_epsilon  # noqa: PLC0415
    from jostle.privacy.amounts import show_amount  # noqa: PLC0415

    if name:
        findings = [audit_one(name, epsilon, samples=samples)]
    else:
        every = _with_progress(audit_all(samples=samples), total=len(names()), about="auditing")
        findings = list(every)
    if json_:
        _say_json([finding.as_data() for finding in findings])
    else:
        _table(
            "lower bounds hold with 99.9% confidence, or exactly where outputs were enumerated",
            ("mechanism", "claimed", "shown at least", "how", "verdict"),
            [
                (
                    finding.name,
                    show_amount(finding.claimed),
                    show_epsilon(finding.bound.epsilon),
                    finding.bound.method,
                    finding.verdict,
                )
                for finding in findings
            ],
        )
    if not all(finding.as_expected for finding in findings):
        raise SystemExit(MISTAKE)


@app.command()
def options(
    task: Annotated[str | None, typer.Option(help="Only Options of this task.")] = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """List the algorithms that can be chosen between."""
    from jostle import options as catalogue  # noqa: PLC0415

    found = [catalogue.get(each) for each in catalogue.names(task)]
    if json_:
        _say_json(
            [{"name": each.name, "task": each.task, "version": each.version, "paper": each.paper} for each in found]
        )
        return
    rows = [(each.name, each.task, (type(each).__doc__ or "").strip().partition("\n")[0]) for each in found]
    _table("Options", ("name", "task", "what it does"), rows)


def _with_progress(items: Iterable[Item], *, total: int, about: str) -> Iterable[Item]:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    return track(items, description=about, total=total, console=Console(stderr=True), transient=True)


def _say(text: str, data: Any, as_json: bool) -> None:  # noqa: FBT001 - which of the two to print
    if as_json:
        _say_json(data)
    else:
        typer.echo(text)


def _say_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2))


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in head:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print(table)


def _fail(text: str, status: int, *, as_json: bool, error: JostleError | None = None) -> NoReturn:
    if as_json and error is not None:
        facts = {"title": error.title, "why": error.why, "fix": error.fix}
        typer.echo(json.dumps({"error": facts, "status": status}))
    else:
        typer.echo(text, err=True)
    raise SystemExit(status)


def _wants_json(words: Sequence[str]) -> bool:
    """Return whether mistakes are to be told in JSON; `evaluate` has a file after --json, and prints it for -."""
    if words[:1] == ["evaluate"]:
        return "--json=-" in words or any(pair == ("--json", "-") for pair in pairwise(words))
    return "--json" in words


def main() -> None:
    """Run a command; whatever goes wrong becomes a sentence and an exit status."""
    as_json = _wants_json(sys.argv[1:])
    try:
        app()
    except BudgetError as refusal:
        _fail(f"refused: {refusal}", REFUSED, as_json=as_json, error=refusal)
    except ProgramError as mistake:
        _report(mistake.source, mistake.diagnostics, as_json=as_json)
    except JostleError as mistake:
        _fail(f"error: {mistake}", MISTAKE, as_json=as_json, error=mistake)
    except OSError as mistake:
        name = f" {mistake.filename}" if mistake.filename else ""
        _fail(f"error: cannot write{name}: {mistake.strerror}", MISTAKE, as_json=as_json)
    except KeyboardInterrupt:
        _interrupted()


def _interrupted() -> NoReturn:
    _fail("stopped; what was released until then stays recorded", INTERRUPTED, as_json=False)
