"""`jostle vault`, a promise made, looked at, raised, and copied; `jostle ledger`, what was spent of it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, headline, say, say_json, table
from jostle.errors import SchemaError
from jostle.privacy.amounts import epsilon_amount, recordable, show_amount
from jostle.visible import visible

if TYPE_CHECKING:
    from jostle.privacy.account import TableFacts
    from jostle.privacy.vault import AccountStatement, FileVault, Promise

LOG = logging.getLogger(__name__)
vaults = typer.Typer(help="What is promised.", no_args_is_help=True, add_completion=False)

File = Annotated[Path, typer.Argument(metavar="VAULT", help="The vault file.")]
People = Annotated[
    str | None, typer.Option(metavar="NAME", help="The population, as the schemas of its tables call it.")
]


@vaults.command()
def create(
    vault: File,
    epsilon: Annotated[str, typer.Option(help="The promise: 1, 0.1, 1/3.")],
    schema: Annotated[
        Path | None, typer.Option(help="The public facts about the rows, .toml: their columns, neighbours and people.")
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="add_remove or replace_one; as the schema says, or add_remove, if left out.")
    ] = None,
    people: People = None,
    json_: Json = False,
) -> None:
    """Make a vault with a promise, before the data are opened, or a promise for more people in one; no data are needed.

    Without --people, and without people in the schema, it is for one table.
    """
    from jostle.privacy.vault import FileVault

    promise = recordable(epsilon_amount(epsilon), "epsilon")
    keeper = FileVault(vault)
    account = keeper.create(promise, _facts(schema, neighbours, people))
    LOG.info("%s", visible(f"made {vault}: epsilon {show_amount(promise)}"))
    whom = account.about if account.people is None else f"for {account.people} {account.about}"
    said = f"made {vault}: epsilon {show_amount(promise)} is promised {whom}, under {account.neighbours}"
    say(said, _vault_data(keeper), json_)


@vaults.command("show")
def show_vault(vault: File, json_: Json = False) -> None:
    """Show what each account of a vault promises, about whom and which tables, how that came about, what is left."""
    from jostle.privacy.vault import FileVault

    keeper = FileVault(vault)
    if json_:
        say_json(_vault_data(keeper))
        return
    for statement in keeper.statements():
        say_account(vault, statement)
        for opened in statement.tables:
            facts = opened.facts
            whose = "" if facts.person is None else f", by {facts.person}"
            headline(f"{opened.name}, {facts.about}{whose}: {', '.join(facts.columns)}")
        table(
            ("moment", "process", "promise", "reason"),
            [(line.moment, str(line.process), show_amount(line.epsilon), line.reason) for line in statement.promises],
        )


@vaults.command("raise")
def raise_promise(
    vault: File,
    epsilon: Annotated[str, typer.Option(help="The larger promise, what is spent included.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the vault.")],
    people: People = None,
    json_: Json = False,
) -> None:
    """Raise the promise in a vault; the reason stays in it, for whoever was promised less."""
    from jostle.privacy.vault import FileVault

    keeper = FileVault(vault)
    account = keeper.raise_promise(recordable(epsilon_amount(epsilon), "epsilon"), reason, people)
    promise, left = show_amount(account.promise), show_amount(account.left)
    LOG.info("%s", visible(f"raised {vault} to epsilon {promise}: {reason}"))
    say(f"{vault}: epsilon {promise} is promised {account.about} now, {left} of it left", _vault_data(keeper), json_)


@vaults.command()
def backup(
    vault: File,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="A new file.")],
    json_: Json = False,
) -> None:
    """Copy a vault as it is at one moment, whoever spends from it meanwhile."""
    from jostle.privacy.vault import FileVault

    keeper = FileVault(FileVault(vault).backup(copy))
    LOG.info("%s", visible(f"copied {vault} to {copy}"))
    say(f"copied {vault} to {copy}; put it back where the vault was, never beside it", _vault_data(keeper), json_)


def _facts(schema: Path | None, neighbours: str | None, people: str | None) -> TableFacts:
    """What an account is made for."""
    from attrs import evolve

    from jostle.privacy.account import TableFacts
    from jostle.tables.columns import check_text
    from jostle.tables.schema import Schema, checked_neighbours

    if people is not None:
        check_text("the name of the people", people)
        if not people.strip():
            raise SchemaError("the people have no name", fix='--people "ward 7"')
    declared = TableFacts() if schema is None else TableFacts.of(Schema.read(schema))
    for name, said in (("neighbours", neighbours and checked_neighbours(neighbours)), ("people", people)):
        fact = getattr(declared, name)
        if schema is not None and said is not None and said != fact:
            raise SchemaError(f"{name} is {said}, but {schema} says {fact}", fix=f"leave --{name} out")
        facts: Any = {} if said is None else {name: said}
        declared = evolve(declared, **facts)
    return declared


def _vault_data(keeper: FileVault) -> dict[str, Any]:
    return {"vault": str(keeper.path), "accounts": [account_data(statement) for statement in keeper.statements()]}


ledgers = typer.Typer(help="What was spent.", no_args_is_help=True, add_completion=False)


@ledgers.command("show")
def show_ledger(
    vault: Annotated[list[Path], typer.Option(help="The vault file; may be given several times.")],
    json_: Json = False,
) -> None:
    """Show what each account of a vault was promised, and what was asked of which table, and when."""
    from jostle.privacy.vault import FileVault

    held = [(path, FileVault(path).statements()) for path in vault]
    if json_:
        told = [
            {"vault": str(path), "accounts": [_ledger_data(each) for each in statements]} for path, statements in held
        ]
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
                "table": opened.name,
                "columns": list(opened.facts.columns),
                "person": opened.facts.person,
                "rows_per_person": opened.facts.rows_per_person,
                "spent": str(opened.spent),
            }
            for opened in statement.tables
        ],
    }


def _promise_data(promise: Promise) -> dict[str, Any]:
    return {
        "moment": promise.moment,
        "process": promise.process,
        "promise": str(promise.epsilon),
        "reason": promise.reason,
    }


def _ledger_data(statement: AccountStatement) -> dict[str, Any]:
    names = {opened.number: opened.name for opened in statement.tables}
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
