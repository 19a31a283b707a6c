"""`jostle serve`: the owner's process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jostle.cli.saying import Json, echo, say_json

if TYPE_CHECKING:
    from jostle.owner.office import Office


app = typer.Typer(add_completion=False)
FIRST = "analyst"
"""Who may ask of rows that were made up, where nobody was given a key yet."""


@app.command()
def serve(
    owner: Annotated[Path, typer.Argument(metavar="OWNER.toml", help="What is served, to whom, and what waits.")],
    json_: Json = False,
) -> None:
    """Serve tables to those who may ask: rows, noise and promises stay in this process, and answers leave it.

    Where nobody has a key yet, one is made for the owner and shown once. It ends with Ctrl-C.
    """
    from jostle.owner.office import Office
    from jostle.owner.running import alone, closed_to_others, listening, run

    closed_to_others()
    office = Office.read(owner)
    held = listening(office.settings)
    with alone(office):
        _say(office, json_=json_)
        run(office, held)


def _say(office: Office, *, json_: bool) -> None:
    """Say what is served and where, and show the first keys."""
    from jostle.owner.wire import NO_COLLUSION

    made_up = office.make_tables()
    for table in office.tables.values():
        table.account(table.vault)
    link = office.settings.address
    tokens = _first_tokens(office, made_up)
    if json_:
        say_json({"link": link, "tables": [*office.tables], "made_up": made_up, "tokens": tokens}, indent=None)
    else:
        for name in office.tables:
            echo(f"{name}: {'rows that are made up, about nobody' if name in made_up else 'private rows'}")
        if office.assume_no_collusion:
            echo(f"warning: {NO_COLLUSION}")
        if not office.settings.is_local and not office.settings.secure:
            echo(f"warning: {link} is listened on without TLS; put a proxy before it that has it, or name two files")
        echo(f"the owner's page and its address for jostle.connect: {link}")
        for name, token in tokens.items():
            echo(f"token of {name}, shown this once: {token}")
        if FIRST in tokens:
            echo(f'db = jostle.connect("{link}", token="...")  # {FIRST}\'s')


def _first_tokens(office: Office, made_up: list[str]) -> dict[str, str]:
    """Keys for the owner and, of rows about nobody, for somebody who may ask, where there are no keys at all."""
    with office.state() as state:
        if state.keys or office.settings.oidc is not None:
            return {}
    tokens = {"owner": office.make_key("owner", "owner")[0]}
    if made_up:
        tokens[FIRST] = office.make_key(FIRST, "analyst")[0]
        for name in made_up:
            office.give_share(name, FIRST, office.free(name))
    return tokens
