"""Offices to ask: an owner's file with rows that are made up, and keys to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jostle.owner.identity import Asker
from jostle.owner.office import Office, Permit

__all__ = ["COUNT", "OWNER", "SCHEMA", "People", "asks", "certificate_in", "office_in", "people_of", "write_owner"]

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


def certificate_in(folder: Path) -> tuple[Path, Path]:
    """Write a certificate of this machine that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "tls.pem").write_bytes(made.public_bytes(pem))
    (folder / "tls.key").write_bytes(key.private_bytes(pem, kind, serialization.NoEncryption()))
    return folder / "tls.pem", folder / "tls.key"


def asks(office: Office, asker: Asker, epsilon: str, request: object = None, *, price: str | None = None) -> Permit:
    """Ask, and write down that it was answered."""
    permit = office.allow(asker, "ward", COUNT if request is None else {"kind": request}, Fraction(epsilon))
    office.spent(permit, Fraction(epsilon if price is None else price), "answered")
    return permit
