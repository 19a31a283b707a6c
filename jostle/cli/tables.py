"""`jostle schema`, public facts about tables; `jostle example`, rows of nobody to try a program on."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, check_kept, echo, echo_lines, say, say_json
from jostle.visible import visible

schemas = typer.Typer(help="Public facts about tables.", no_args_is_help=True, add_completion=False)


@schemas.command()
def infer(
    data: Annotated[Path, typer.Argument(help="A public CSV or Parquet file.")],
    label: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
    bins: Annotated[int, typer.Option(help="Bins of equal width for columns of numbers.")] = 16,
    texts: Annotated[str | None, typer.Option(help="A column of texts, whose words become a vocabulary.")] = None,
    words: Annotated[int, typer.Option(help="Words of the vocabulary at most, the commonest ones.")] = 10_000,
    out: Annotated[Path | None, typer.Option(help="Write the TOML here instead of printing it.")] = None,
    json_: Json = False,
) -> None:
    """Read a schema off PUBLIC data: its values, bounds and empty cells. Never point it at private data."""
    from jostle.tables import Schema

    check_kept(out, "--out", {"the data": data})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        schema = Schema.infer_public(data, label=label, bins=bins, texts=texts, words=words)
    # At the head of the file, where a person may be declared by taking a mark away.
    notes = "".join(f"# {visible(str(warning.message))}\n" for warning in told)
    for warning in told:
        echo(f"warning: {warning.message}", err=True)
    echo(f"taken as public: values and bounds of {data} stand in the schema, for everybody to see", err=True)
    if out is not None:
        schema.write(out)
        out.write_text(notes + out.read_text("utf-8"), encoding="utf-8")
        say(f"wrote {out}: {len(schema.names)} columns", {"out": str(out), "columns": list(schema.names)}, json_)
    else:
        text = notes + schema.to_toml()
        if json_:
            say_json({"toml": text, "columns": list(schema.names)})
        else:
            echo_lines(text.rstrip("\n"))


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
