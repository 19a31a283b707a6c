"""`jostle share`: parts of a promise, for those who may ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, headline, say, say_json, table

if TYPE_CHECKING:
    from jostle.owner.office import Office, Share


app = typer.Typer(help="Shares of a promise.", no_args_is_help=True, add_completion=False)

Owner = Annotated[Path, typer.Argument(metavar="OWNER.toml", help="The file that jostle serve is given.")]


@app.command()
def give(
    owner: Owner,
    served: Annotated[str, typer.Argument(metavar="TABLE", help="The table, as OWNER.toml calls it.")],
    holder: Annotated[str, typer.Argument(help="The name of a key, or oidc:SUBJECT.")],
    epsilon: Annotated[str, typer.Option(help="The share: 1/4, 0.1.")],
    json_: Json = False,
) -> None:
    """Give somebody a share of a table's promise; shares never add up to more than is left of it."""
    from jostle.owner.office import Office
    from jostle.privacy.amounts import show_amount

    office = Office.read(owner)
    share = office.give_share(served, holder, epsilon)
    free = show_amount(office.free(served))
    left = "everybody's is the whole promise" if office.assume_no_collusion else f"{free} of the promise is in no share"
    said = f"share {share.number}: epsilon {show_amount(share.epsilon)} of {served} for {holder}; {left}"
    say(said, _share_data(share), json_)


@app.command()
def show(owner: Owner, json_: Json = False) -> None:
    """Show the shares of each table, and what is spent of them and free."""
    from jostle.owner.office import Office
    from jostle.privacy.amounts import show_amount

    office = Office.read(owner)
    with office.state() as state:
        shares = [*state.shares.values()]
    if json_:
        say_json([_table_data(office, name, shares) for name in office.tables])
        return
    for name, served in office.tables.items():
        account = served.account(served.vault)
        promise, free = show_amount(account.promise), show_amount(office.free(name))
        mode = "; assume_no_collusion: a whole promise for everybody" if office.assume_no_collusion else ""
        headline(f"{name}: epsilon {promise} is promised {account.about}, {free} of it in no share{mode}")
        rows = [
            (
                str(share.number),
                share.holder,
                show_amount(share.epsilon),
                show_amount(share.spent),
                show_amount(share.left),
                "revoked" if share.revoked else "live",
            )
            for share in shares
            if share.table == name
        ]
        table(("share", "holder", "epsilon", "spent", "left", "state"), rows)


@app.command()
def revoke(
    owner: Owner,
    number: Annotated[int, typer.Argument(help="The share's.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the audit log.")],
    json_: Json = False,
) -> None:
    """Revoke a share, in the running server too: what is not spent of it is free again."""
    from jostle.owner.office import Office
    from jostle.privacy.amounts import show_amount

    office = Office.read(owner)
    share = office.revoke_share(number, reason)
    said = (
        f"share {number} of {share.holder} is revoked; {show_amount(office.free(share.table))} of {share.table} is free"
    )
    say(said, {**_share_data(share), "revoked": True, "left": "0"}, json_)


def _table_data(office: Office, name: str, shares: list[Share]) -> dict[str, Any]:
    served = office.tables[name]
    account = served.account(served.vault)
    return {
        "table": name,
        "promise": str(account.promise),
        "spent": str(account.spent),
        "free": str(office.free(name)),
        "assume_no_collusion": office.assume_no_collusion,
        "shares": [_share_data(share) for share in shares if share.table == name],
    }


def _share_data(share: Share) -> dict[str, Any]:
    return {
        "share": share.number,
        "table": share.table,
        "holder": share.holder,
        "epsilon": str(share.epsilon),
        "spent": str(share.spent),
        "left": str(share.left),
        "revoked": share.revoked,
    }
