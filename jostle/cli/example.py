"""`jostle example`: rows of nobody, to try a program on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, echo, say_json

app = typer.Typer(add_completion=False)


@app.command()
def example(
    schema: Annotated[Path, typer.Option(help="A schema in TOML.")],
    rows: Annotated[int, typer.Option(help="How many rows.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write; one that is there is left alone.")],
    seed: Annotated[int, typer.Option(help="Other rows for another number.", min=0)] = 0,
    json_: Json = False,
) -> None:
    """Make rows up from a schema, so that a program can be tried on the right columns. They are about nobody."""
    from jostle.tables import Schema
    from jostle.tables.made_up import write_made_up

    write_made_up(Schema.read(schema), out, rows, seed=seed)
    if json_:
        say_json({"out": str(out), "rows": rows, "seed": seed, "made_up": True})
        return
    echo(f"wrote {out}: {rows:,} rows that are made up from the schema, and are about nobody")
    files = f"--data {shlex.quote(str(out))} --schema {shlex.quote(str(schema))}"
    echo(f"try a program on them: jostle run PROGRAM.jst {files} --epsilon 1 --no-vault")
