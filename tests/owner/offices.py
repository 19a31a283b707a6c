"""Offices to ask: an owner's file with rows that are made up, and keys to it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from attrs import frozen

from jostle.owner.identity import Asker
from jostle.owner.office import Office, Permit

__all__ = ["COUNT", "OWNER", "SCHEMA", "People", "asks", "office_in", "people_of", "write_owner"]

SCHEMA = """label = "smokes"

[columns.age]
kind = "numeric"
low = 18
high = 98
bins = 8

[columns.smokes]
kind = "categorical"
values = ["no", "yes"]
"""
OWNER = """[tables.ward]
schema = "rows.toml"
made_up = 200
promise = "1"
"""
COUNT = {"kind": "Count", "on": []}


@frozen
class People:
    """Tokens, by whose they are."""

    owner: str
    auditor: str
    ada: str
    bob: str


def write_owner(folder: Path, more: str = "", text: str = OWNER) -> Path:
    """Write an owner's file, and its schema."""
    (folder / "rows.toml").write_text(SCHEMA, "utf-8")
    path = folder / "owner.toml"
    path.write_text(f"{more}\n{text}", "utf-8")
    return path


def office_in(folder: Path, more: str = "", text: str = OWNER) -> Office:
    """Return an office with one table; *more* stands before the tables in its file."""
    office = Office.read(write_owner(folder, more, text))
    office.make_tables()
    return office


def people_of(office: Office) -> People:
    """Make keys for an owner, an auditor and two analysts."""
    roles = {"owner": "owner", "auditor": "auditor", "ada": "analyst", "bob": "analyst"}
    return People(**{name: office.make_key(name, role)[0] for name, role in roles.items()})


def asks(office: Office, asker: Asker, epsilon: str, request: object = None, *, price: str | None = None) -> Permit:
    """Ask, and write down that it was answered."""
    permit = office.allow(asker, "ward", COUNT if request is None else {"kind": request}, Fraction(epsilon))
    office.spent((permit, Fraction(epsilon if price is None else price), "answered"))
    return permit
