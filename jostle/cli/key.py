"""`jostle key`: who may come to the owner's process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jostle.cli.saying import Json, echo, say, say_json, table

app = typer.Typer(help="Keys to a served table.", no_args_is_help=True, add_completion=False)

Owner = Annotated[Path, typer.Argument(metavar="OWNER.toml", help="The file that jostle serve is given.")]


@app.command()
def make(  # noqa: PLR0917 - a command's options
    owner: Owner,
    name: Annotated[str, typer.Argument(help="Whose it is; shares are given to this name.")],
    role: Annotated[str, typer.Option(help="owner, analyst, auditor or service.")] = "analyst",
    scope: Annotated[
        list[str] | None,
        typer.Option(help="All that is left to it of its role: ask, or ask:TABLE; may be given several times."),
    ] = None,
    days: Annotated[int, typer.Option(help="How long it is good.")] = 90,
    json_: Json = False,
) -> None:
    """Make a key and print it, this once: only a hash of it is kept."""
    from jostle.owner.office import Office

    token, made = Office.read(owner).make_key(name, role, scopes=scope or (), days=days)
    facts = {"token": token, "handle": made.handle, "name": name, "role": role, "until": made.until}
    if json_:
        say_json(facts)
        return
    echo(f"key {made.handle} of {name}, {role}, until {made.until[:10]}; it is shown this once:")
    echo(token)


@app.command()
def show(owner: Owner, json_: Json = False) -> None:
    """List all keys, and when something was last asked with each."""
    from jostle.owner.office import Office

    with Office.read(owner).state() as state:
        rows: list[dict[str, Any]] = [
            {
                "handle": key.handle,
                "name": key.name,
                "role": key.role,
                "scopes": list(key.scopes),
                "until": key.until,
                "last_asked": state.used.get(key.handle),
                "revoked": key.handle in state.revoked,
            }
            for key in state.keys.values()
        ]
    if json_:
        say_json(rows)
        return
    table(
        ("key", "name", "role", "scopes", "until", "last asked", "state"),
        [
            (
                row["handle"],
                row["name"],
                row["role"],
                " ".join(row["scopes"]),
                row["until"],
                row["last_asked"] or "never",
                "revoked" if row["revoked"] else "good",
            )
            for row in rows
        ],
    )


@app.command()
def revoke(
    owner: Owner,
    handle: Annotated[str, typer.Argument(help="The key's, or oidc:SUBJECT for all tokens of somebody.")],
    json_: Json = False,
) -> None:
    """Let a key be good for nothing from now on, in the running server too."""
    from jostle.owner.office import Office

    Office.read(owner).revoke(handle)
    say(f"{handle} is revoked", {"revoked": handle}, json_)
