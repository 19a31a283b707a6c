"""`jostle vault`: a promise made, looked at, raised, and copied."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, headline, say, say_json, table
from jostle.errors import SchemaError
from jostle.visible import visible

if TYPE_CHECKING:
    from jostle.privacy.vault import FileVault


LOG = logging.getLogger(__name__)
app = typer.Typer(help="What is promised.", no_args_is_help=True, add_completion=False)

File = Annotated[Path, typer.Argument(metavar="VAULT", help="The vault file.")]


@app.command()
def create(
    vault: File,
    epsilon: Annotated[str, typer.Option(help="The promise: 1, 0.1, 1/3.")],
    schema: Annotated[
        Path | None, typer.Option(help="The public facts about the rows, .toml: their columns and neighbours.")
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add_remove or replace_one; as the schema says, or add_remove, if left out.")
    ] = None,
    json_: Json = False,
) -> None:
    """Make a vault with a promise, before the data are opened; none are needed."""
    from jostle.privacy.amounts import epsilon_amount, recordable, show_amount
    from jostle.privacy.vault import FileVault

    promise = recordable(epsilon_amount(epsilon), "epsilon")
    relation, columns = _facts(schema, neighbours)
    keeper = FileVault(vault)
    keeper.create(promise, relation, columns)
    LOG.info("%s", visible(f"made {vault}: epsilon {show_amount(promise)}"))
    say(f"made {vault}: epsilon {show_amount(promise)} is promised, under {relation}", _as_data(keeper), json_)


@app.command()
def show(vault: File, json_: Json = False) -> None:
    """Show what is promised in a vault, how that came about, what is spent and left."""
    from jostle.privacy.amounts import show_amount
    from jostle.privacy.vault import FileVault

    keeper = FileVault(vault)
    if json_:
        say_json(_as_data(keeper))
        return
    account = keeper.account()
    promise, spent, left = map(show_amount, (account.promise, account.spent, account.left))
    headline(f"{vault}: epsilon {spent} of {promise} spent, {left} left, under {account.neighbours}")
    headline(f"columns: {', '.join(keeper.columns()) or 'those it is first opened with'}")
    table(
        ("moment", "process", "promise", "reason"),
        [(each.moment, str(each.process), show_amount(each.epsilon), each.reason) for each in keeper.promises()],
    )


@app.command("raise")
def raise_promise(
    vault: File,
    epsilon: Annotated[str, typer.Option(help="The larger promise, what is spent included.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the vault.")],
    json_: Json = False,
) -> None:
    """Raise the promise in a vault; the reason stays in it, for whoever was promised less."""
    from jostle.privacy.amounts import epsilon_amount, recordable, show_amount
    from jostle.privacy.vault import FileVault

    keeper = FileVault(vault)
    account = keeper.raise_promise(recordable(epsilon_amount(epsilon), "epsilon"), reason)
    promise, left = show_amount(account.promise), show_amount(account.left)
    LOG.info("%s", visible(f"raised {vault} to epsilon {promise}: {reason}"))
    say(f"{vault}: epsilon {promise} is promised now, {left} of it left", _as_data(keeper), json_)


@app.command()
def backup(
    vault: File,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="A new file.")],
    json_: Json = False,
) -> None:
    """Copy a vault as it is at one moment, whoever spends from it meanwhile."""
    from jostle.privacy.vault import FileVault

    keeper = FileVault(FileVault(vault).backup(copy))
    LOG.info("%s", visible(f"copied {vault} to {copy}"))
    say(f"copied {vault} to {copy}; put it back where the vault was, never beside it", _as_data(keeper), json_)


def _facts(schema: Path | None, neighbours: str | None) -> tuple[str, tuple[str, ...]]:
    """Neighbour relation and columns that a vault is made for."""
    from jostle.tables.schema import Schema, checked_neighbours

    declared = None if schema is None else Schema.read(schema)
    relation = checked_neighbours(neighbours) if neighbours else declared.neighbours if declared else "add_remove"
    if declared is not None and relation != declared.neighbours:
        raise SchemaError(
            f"neighbours is {relation}, but {schema} says {declared.neighbours}", fix="leave --neighbours out"
        )
    return relation, () if declared is None else declared.names


def _as_data(keeper: FileVault) -> dict[str, Any]:
    account = keeper.account()
    return {
        "vault": str(keeper.path),
        "neighbours": account.neighbours,
        "promise": str(account.promise),
        "spent": str(account.spent),
        "left": str(account.left),
        "columns": list(keeper.columns()),
        "promises": [promise.as_data() for promise in keeper.promises()],
    }
