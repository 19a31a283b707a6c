"""`jostle ledger`: what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, headline, say_json, table

__all__ = ["app", "show"]

app = typer.Typer(help="What was spent.", no_args_is_help=True, add_completion=False)


@app.command()
def show(
    vault: Annotated[Path, typer.Option(help="The vault file.")],
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show what a vault's table was promised, what was spent of it, and when."""
    from jostle.privacy.amounts import show_amount  # noqa: PLC0415
    from jostle.privacy.vault import FileVault  # noqa: PLC0415

    keeper = FileVault(vault)
    account, lines = keeper.account(), keeper.reservations()
    if json_:
        say_json(
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
    headline(f"{vault}: epsilon {spent} of {promise} spent, {left} left, under {account.neighbours}")
    table(
        ("moment", "process", "site", "epsilon"),
        [(line.moment, str(line.process), line.site, show_amount(line.epsilon)) for line in lines],
    )
