"""`jostle ledger`: what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, headline, say_json, table

if TYPE_CHECKING:
    from jostle.privacy.vault import FileVault


app = typer.Typer(help="What was spent.", no_args_is_help=True, add_completion=False)


@app.command()
def show(
    vault: Annotated[list[Path], typer.Option(help="The vault file; may be given several times.")],
    json_: Json = False,
) -> None:
    """Show what a vault's table was promised, what was spent of it, and when; of several, one after the other."""
    from jostle.privacy.vault import FileVault

    keepers = [(path, FileVault(path)) for path in vault]
    if json_:
        told = [_as_data(path, keeper) for path, keeper in keepers]
        say_json(told[0] if len(told) == 1 else {"vaults": told})
        return
    for path, keeper in keepers:
        _say(path, keeper)


def _say(path: Path, keeper: FileVault) -> None:
    from jostle.privacy.amounts import show_amount

    account = keeper.account()
    promise, spent, left = map(show_amount, (account.promise, account.spent, account.left))
    headline(f"{path}: epsilon {spent} of {promise} spent, {left} left, under {account.neighbours}")
    for each in keeper.promises()[1:]:
        headline(f"{each.moment}: the promise is epsilon {show_amount(each.epsilon)}: {each.reason}")
    table(
        ("moment", "process", "site", "epsilon"),
        [(line.moment, str(line.process), line.site, show_amount(line.epsilon)) for line in keeper.reservations()],
    )


def _as_data(path: Path, keeper: FileVault) -> dict[str, Any]:
    account = keeper.account()
    return {
        "vault": str(path),
        "neighbours": account.neighbours,
        "promise": str(account.promise),
        "spent": str(account.spent),
        "left": str(account.left),
        "promises": [each.as_data() for each in keeper.promises()],
        "reservations": [
            {"moment": line.moment, "process": line.process, "site": line.site, "epsilon": str(line.epsilon)}
            for line in keeper.reservations()
        ],
    }
