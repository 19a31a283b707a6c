"""`jostle connect`: whether a served table can be asked, and what may be known of it."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from jostle.cli.saying import Json, echo, headline, say_json, table

app = typer.Typer(add_completion=False)


@app.command()
def connect(
    url: Annotated[str, typer.Argument(metavar="URL", help="Of the server, as jostle serve prints it.")],
    token: Annotated[
        str | None,
        typer.Option(help="The key; better in the variable JOSTLE_TOKEN, where no list of processes shows it."),
    ] = None,
    named: Annotated[str | None, typer.Option("--table", help="Which table, of several.")] = None,
    json_: Json = False,
) -> None:
    """Connect to a served table, and say what may be asked: its columns, and what is left of your share."""
    import jostle
    from jostle.privacy.account import about
    from jostle.privacy.amounts import show_amount
    from jostle.tables.columns import Categorical

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", jostle.errors.UnpaidWarning)
        db = jostle.connect(url, token=token, table=named)
    schema, left = db.schema, db.left
    columns = [
        (
            name,
            "values" if isinstance(schema[name], Categorical) else "numbers",
            str(schema[name].size),
            "the label" if name == schema.label else "",
        )
        for name in schema.names
    ]
    if json_:
        say_json(
            {
                "url": url,
                "left": None if left is None else str(left),
                "assume_no_collusion": bool(warned),
                "neighbours": schema.neighbours,
                "rows_per_person": schema.rows_per_person,
                "columns": [dict(zip(("name", "kind", "cells", "note"), column, strict=True)) for column in columns],
            }
        )
        return
    whom = about(None if schema.rows_per_person is None else (schema.rows_per_person,))
    amount = "" if left is None else f"epsilon {show_amount(left)} is left of your share, "
    headline(f"{url}: {amount}{whom} under {schema.neighbours}")
    for each in warned:
        echo(f"warning: {each.message}")
    table(("column", "kind", "cells", ""), columns, right=("cells",))
