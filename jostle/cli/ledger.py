"""`jostle ledger`: what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, headline, say_json, table

if TYPE_CHECKING:
    from jostle.privacy.vault import AccountStatement, Promise


app = typer.Typer(help="What was spent.", no_args_is_help=True, add_completion=False)


@app.command()
def show(
    vault: Annotated[list[Path], typer.Option(help="The vault file; may be given several times.")],
    json_: Json = False,
) -> None:
    """Show what each account of a vault was promised, and what was asked of which table, and when."""
    from jostle.privacy.amounts import show_amount
    from jostle.privacy.vault import FileVault

    held = [(path, FileVault(path).statements()) for path in vault]
    if json_:
        told = [{"vault": str(path), "accounts": [_as_data(each) for each in statements]} for path, statements in held]
        say_json(told[0] if len(told) == 1 else {"vaults": told})
        return
    for path, statements in held:
        for statement in statements:
            say_account(path, statement)
            for promise in statement.promises[1:]:
                headline(f"{promise.moment}: the promise is epsilon {show_amount(promise.epsilon)}: {promise.reason}")
            names = {opened.number: opened.name for opened in statement.tables}
            table(
                ("moment", "process", "table", "site", "epsilon"),
                [
                    (line.moment, str(line.process), names[line.table], line.site, show_amount(line.epsilon))
                    for line in statement.reservations
                ],
            )


def say_account(path: Path, statement: AccountStatement) -> None:
    """Say what is promised in one account, about whom, and what is spent and left."""
    from jostle.privacy.amounts import show_amount

    account = statement.account
    promise, spent, left = map(show_amount, (account.promise, account.spent, account.left))
    whose = str(path) if account.people is None else f"{path}, {account.people}"
    under = f"a promise {account.about}, under {account.neighbours}"
    headline(f"{whose}: epsilon {spent} of {promise} spent, {left} left; {under}")
    if account.about_rows and account.rows_each is not None:
        headline(f"epsilon {show_amount(account.about_rows)} of it was spent about rows, and covers no persons")


def account_data(statement: AccountStatement) -> dict[str, Any]:
    """The same as plain data, with the promises and the tables."""
    account = statement.account
    return {
        "people": account.people,
        "about": account.about,
        "neighbours": account.neighbours,
        "promise": str(account.promise),
        "spent": str(account.spent),
        "spent_about_rows": str(account.about_rows),
        "left": str(account.left),
        "promises": [_promise_data(promise) for promise in statement.promises],
        "tables": [
            {
                "table": each.name,
                "columns": list(each.facts.columns),
                "person": each.facts.person,
                "rows_per_person": each.facts.rows_per_person,
                "spent": str(each.spent),
            }
            for each in statement.tables
        ],
    }


def _promise_data(promise: Promise) -> dict[str, Any]:
    return {
        "moment": promise.moment,
        "process": promise.process,
        "promise": str(promise.epsilon),
        "reason": promise.reason,
    }


def _as_data(statement: AccountStatement) -> dict[str, Any]:
    names = {each.number: each.name for each in statement.tables}
    return account_data(statement) | {
        "reservations": [
            {
                "moment": line.moment,
                "process": line.process,
                "table": names[line.table],
                "site": line.site,
                "epsilon": str(line.epsilon),
            }
            for line in statement.reservations
        ]
    }
