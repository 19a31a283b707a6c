"""`jostle approve`: requests that wait for the owner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jostle.cli.saying import Json, echo, echo_lines, headline, say, say_json
from jostle.errors import AccessError

if TYPE_CHECKING:
    from jostle.owner.office import Office


app = typer.Typer(add_completion=False)


@app.command()
def approve(
    owner: Annotated[Path, typer.Argument(metavar="OWNER.toml", help="The file that jostle serve is given.")],
    number: Annotated[
        int | None, typer.Argument(help="The request's; all that wait are shown if it is left out.")
    ] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it, with a reason.")] = False,
    reason: Annotated[str, typer.Option(help="Why; whoever asked is told, and the audit log keeps it.")] = "",
    json_: Json = False,
) -> None:
    """Show what waits for the owner; approve a request, or refuse it. Nothing of it is computed before."""
    from jostle.owner.office import Office
    from jostle.owner.wire import NO_COLLUSION

    office = Office.read(owner)
    if office.assume_no_collusion and not json_:
        echo(f"warning: {NO_COLLUSION}")
    if number is None:
        if refuse or reason:
            raise AccessError("nothing is decided without a number", fix=f"jostle approve {owner} 1")
        _show(office, as_json=json_)
        return
    office.decide(number, approve=not refuse, reason=reason)
    done = "refused" if refuse else "approved"
    say(f"request {number} is {done}", {"request": number, "decision": done}, json_)


def _show(office: Office, *, as_json: bool) -> None:
    from jostle.owner.page import readable_request
    from jostle.privacy.amounts import show_amount

    with office.state() as state:
        waiting = [each for each in state.requests.values() if each.state == "waiting"]
        left = {each.wait.number: state.share(each.wait.table, each.wait.name) for each in waiting}
    if as_json:
        say_json(
            [
                {
                    "request": each.wait.number,
                    "table": each.wait.table,
                    "name": each.wait.name,
                    "asked": each.wait.request,
                    "epsilon": str(each.wait.epsilon),
                    "since": each.moment,
                }
                for each in waiting
            ]
        )
        return
    for request in waiting:
        wait, share = request.wait, left[request.wait.number]
        headline(f"request {wait.number}: {wait.name} asks {wait.table}, epsilon {show_amount(wait.epsilon)}")
        echo_lines(readable_request(wait.request))
        share_left = "no share any more" if share is None else f"{show_amount(share.left)} is left of the share"
        served = office.tables.get(wait.table)
        promise = ""
        if served is not None and share is not None:
            whose = "their own promise" if office.assume_no_collusion else "the promise"
            promise = f", {show_amount(served.account(office.vault(share)).left)} of {whose}"
        echo(f"{share_left}{promise}; since {request.moment}")
    if not waiting:
        echo("nothing waits")
