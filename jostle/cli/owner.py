"""`jostle serve`, and what owners and analysts do beside it: connect, key, share, approve, audit-log."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from attrs import asdict
from attrs.filters import exclude, include

from jostle.cli.saying import Json, check_kept, echo, echo_lines, headline, say, say_json, table
from jostle.errors import AccessError, VaultError
from jostle.files.kinds import writing
from jostle.privacy.amounts import show_amount

if TYPE_CHECKING:
    from jostle.owner.office import Office, Share

FIRST = "analyst"
"""Who may ask of rows that were made up, where nobody was given a key yet."""


def serve(
    owner: Annotated[Path, typer.Argument(metavar="OWNER.toml", help="What is served, to whom, and what waits.")],
    json_: Json = False,
) -> None:
    """Serve tables to those who may ask: rows, noise and promises stay in this process, and answers leave it.

    Where nobody has a key yet, one is made for the owner and shown once. It ends with Ctrl-C.
    """
    from jostle.owner.running import alone, closed_to_others, listening, run

    closed_to_others()
    office = _office(owner)
    held = listening(office.settings)
    with alone(office):
        _say_served(office, json_=json_)
        run(office, held)


def _office(owner: Path) -> Office:
    from jostle.owner.office import Office

    return Office.read(owner)


def _say_served(office: Office, *, json_: bool) -> None:
    """Say what is served and where, and show the first keys."""
    from jostle.owner.wire import NO_COLLUSION

    made_up = office.make_tables()
    for served in office.tables.values():
        served.account(served.vault)
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


def connect(
    url: Annotated[str, typer.Argument(metavar="URL", help="Of the server, as jostle serve prints it.")],
    token: Annotated[
        str | None,
        typer.Option(help="The key; better in the variable JOSTLE_TOKEN, where no list of processes shows it."),
    ] = None,
    named: Annotated[str | None, typer.Option("--table", help="Which table, of several.")] = None,
    json_: Json = False,
) -> None:
    """Connect to a served table, and say what may be asked: its columns, and what is left of your share."""
    import jostle
    from jostle.privacy.account import about
    from jostle.tables.columns import Categorical

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", jostle.errors.UnpaidWarning)
        db = jostle.connect(url, token=token, table=named)
    schema, left = db.schema, db.left
    columns = [
        (
            name,
            "values" if isinstance(schema[name], Categorical) else "numbers",
            str(schema[name].size),
            "the label" if name == schema.label else "",
        )
        for name in schema.names
    ]
    if json_:
        say_json(
            {
                "url": url,
                "left": None if left is None else str(left),
                "assume_no_collusion": bool(warned),
                "neighbours": schema.neighbours,
                "rows_per_person": schema.rows_per_person,
                "columns": [dict(zip(("name", "kind", "cells", "note"), column, strict=True)) for column in columns],
            }
        )
        return
    whom = about(None if schema.rows_per_person is None else (schema.rows_per_person,))
    amount = "" if left is None else f"epsilon {show_amount(left)} is left of your share, "
    headline(f"{url}: {amount}{whom} under {schema.neighbours}")
    for warning in warned:
        echo(f"warning: {warning.message}")
    table(("column", "kind", "cells", ""), columns, right=("cells",))


keys = typer.Typer(help="Keys to a served table.", no_args_is_help=True, add_completion=False)

Owner = Annotated[Path, typer.Argument(metavar="OWNER.toml", help="The file that jostle serve is given.")]


@keys.command("make")
def make_key(
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
    token, made = _office(owner).make_key(name, role, scopes=scope or (), days=days)
    facts = {"token": token, "handle": made.handle, "name": name, "role": role, "until": made.until}
    if json_:
        say_json(facts)
        return
    echo(f"key {made.handle} of {name}, {role}, until {made.until[:10]}; it is shown this once:")
    echo(token)


@keys.command("show")
def show_keys(owner: Owner, json_: Json = False) -> None:
    """List all keys, and when something was last asked with each."""
    with _office(owner).state() as state:
        rows: list[dict[str, Any]] = [
            asdict(key, filter=exclude("digest"))
            | {
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


@keys.command("revoke")
def revoke_key(
    owner: Owner,
    handle: Annotated[str, typer.Argument(help="The key's, or oidc:SUBJECT for all tokens of somebody.")],
    json_: Json = False,
) -> None:
    """Let a key be good for nothing from now on, in the running server too."""
    _office(owner).revoke(handle)
    say(f"{handle} is revoked", {"revoked": handle}, json_)


shares = typer.Typer(help="Shares of a promise.", no_args_is_help=True, add_completion=False)


@shares.command("give")
def give_share(
    owner: Owner,
    served: Annotated[str, typer.Argument(metavar="TABLE", help="The table, as OWNER.toml calls it.")],
    holder: Annotated[str, typer.Argument(help="The name of a key, or oidc:SUBJECT.")],
    epsilon: Annotated[str, typer.Option(help="The share: 1/4, 0.1.")],
    json_: Json = False,
) -> None:
    """Give somebody a share of a table's promise; shares never add up to more than is left of it."""
    office = _office(owner)
    share = office.give_share(served, holder, epsilon)
    free = show_amount(office.free(served))
    left = "everybody's is the whole promise" if office.assume_no_collusion else f"{free} of the promise is in no share"
    said = f"share {share.number}: epsilon {show_amount(share.epsilon)} of {served} for {holder}; {left}"
    say(said, _share_data(share), json_)


@shares.command("show")
def show_shares(owner: Owner, json_: Json = False) -> None:
    """Show the shares of each table, and what is spent of them and free."""
    office = _office(owner)
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


@shares.command("revoke")
def revoke_share(
    owner: Owner,
    number: Annotated[int, typer.Argument(help="The share's.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the audit log.")],
    json_: Json = False,
) -> None:
    """Revoke a share, in the running server too: what is not spent of it is free again."""
    office = _office(owner)
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
        **asdict(share, filter=include("table", "holder", "epsilon", "spent")),
        "left": share.left,
        "revoked": share.revoked,
    }


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
    from jostle.owner.wire import NO_COLLUSION

    office = _office(owner)
    if office.assume_no_collusion and not json_:
        echo(f"warning: {NO_COLLUSION}")
    if number is None:
        if refuse or reason:
            raise AccessError("nothing is decided without a number", fix=f"jostle approve {owner} 1")
        _show_waiting(office, as_json=json_)
        return
    office.decide(number, approve=not refuse, reason=reason)
    done = "refused" if refuse else "approved"
    say(f"request {number} is {done}", {"request": number, "decision": done}, json_)


def _show_waiting(office: Office, *, as_json: bool) -> None:
    from jostle.owner.page import readable_request

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


audit_logs = typer.Typer(help="Who asked what of a served table.", no_args_is_help=True, add_completion=False)

LogFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="OWNER.toml, or an audit log that was exported from there, .jsonl.")
]


@audit_logs.command()
def verify(
    file: LogFile,
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="Of a line that was the last one: it has to be there still.")
    ] = None,
    json_: Json = False,
) -> None:
    """Check that no line was changed, left out or put in; say the last one's hash, to be kept elsewhere."""
    from jostle.owner.log import BEGINNING, entries

    count, last, met = 0, BEGINNING, head in {None, BEGINNING}
    for entry in entries(_log(file)):
        count, last = entry.number, entry.hash
        met = met or entry.hash == head
    if not met:
        raise VaultError(
            f"no line of the audit log has the hash {head}",
            why="its last lines are missing, or it is another log",
            fix="put a whole copy of it back; what it says now cannot be relied on",
        )
    said = f"{count:,} lines, none changed or left out before the last; its hash is {last}"
    say(said, {"lines": count, "head": last}, json_)


@audit_logs.command()
def export(
    file: LogFile,
    out: Annotated[Path | None, typer.Option(help="Write the lines here instead of printing them.")] = None,
    json_: Json = False,
) -> None:
    """Print the lines as they stand, JSON, which `jostle audit-log verify` checks anywhere; checked before."""
    from jostle.owner.log import entries, files_of

    path = _log(file)
    count = sum(1 for _ in entries(path))
    lines = "".join(part.read_text("utf-8") for part in files_of(path)).splitlines(keepends=True)[:count]
    if out is None:
        echo_lines("".join(lines).rstrip("\n"))
        return
    check_kept(out, "--out", {"the audit log": path})
    with writing(out, VaultError) as target:
        target.write_text("".join(lines), encoding="utf-8")
    if json_:
        say_json({"out": str(out), "lines": count})
        return
    say(f"wrote {out}: {count:,} lines", None, as_json=False)


def _log(file: Path) -> Path:
    if file.suffix != ".toml":
        return file
    from jostle.owner.office import LOG_NAME
    from jostle.owner.settings import read_settings

    return read_settings(file).folder / LOG_NAME
