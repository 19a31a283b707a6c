"""`jostle check`: all mistakes in a program that can be found without data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, With, echo, load_with, report

__all__ = ["check"]


def check(
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    schema: Annotated[
        Path | None, typer.Option(help="Public facts about a table; if left out, those that the program names.")
    ] = None,
    with_: With = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Report all mistakes in a program that can be found without data, and what its functions spend at most."""
    load_with(with_)
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
    report(checked.source, checked.diagnostics, as_json=json_)
    if not json_:
        echo(f"{program}: no mistakes found")
        for each in prices(checked.module, known).values():
            echo(f"  {each.text}")
