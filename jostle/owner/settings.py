"""`owner.toml`: what the owner serves, to whom, and what waits for them."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from attrs import Factory, evolve, frozen

from jostle.errors import AccessError, shown
from jostle.files.content import real_path
from jostle.files.kinds import FileKind
from jostle.owner.log import Role
from jostle.privacy.amounts import show_amount
from jostle.tables.made_up import MOST_ROWS
from jostle.tables.origins import vault_beside

FILE = FileKind("file", AccessError, "see docs/serving.md for all that may stand in it", most_bytes=1 << 20)
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
"""Of tables, and of those who have keys."""
MOST_PORT, MOST_PADDING = 65535, 60


@frozen
class TableSettings:
    """A table that is served."""

    schema: Path
    promise: Fraction
    """What all answers about it may give away; it makes the vault, where there is none."""
    data: Path = Path()
    """The rows, .csv or .parquet."""
    made_up: int = 0
    """Instead: how many rows to make up, once, in the folder; they are about nobody."""
    vault: Path = Path()
    """Of the promise; `DATA.vault` if left out."""


@frozen
class Approval:
    """What waits until the owner decides."""

    above: Fraction | None = None
    """What somebody asks of a table before an approval: each request's own epsilon, added up."""
    kinds: tuple[str, ...] = ()
    """Requests of these kinds wait in any case."""


@frozen
class Oidc:
    """Whose bearer tokens are taken, and as what."""

    issuer: str
    audience: str
    keys: str
    """The issuer's key set: https://..., or a file."""
    roles: dict[str, Role]
    """By group; the first one here that the token has."""
    groups: str = "groups"
    """The claim that names the groups."""


@frozen
class Settings:
    """All that stands in the file."""

    tables: dict[str, TableSettings]
    listen: str = "127.0.0.1:8765"
    folder: Path = Path("served")
    """For the audit log, and what is made up."""
    link: str = ""
    """What people open, where a proxy stands before it: https://..."""
    certificate: Path | None = None
    """With the key, TLS; without them, a proxy has to see to it, or nobody listens from elsewhere."""
    key: Path | None = None
    padding: float = 0.05
    """Replies leave at this many seconds, or twice that, or four times, and so on; 0 for as soon as they are there."""
    assume_no_collusion: bool = False
    """Everybody may spend the whole promise, as if nobody ever told anybody else what they were told."""
    approval: Approval = Factory(Approval)
    oidc: Oidc | None = None

    @property
    def host(self) -> str:
        """What to listen on."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Where to listen."""
        return int(self.listen.rpartition(":")[2])

    @property
    def address(self) -> str:
        """What the owner opens, and analysts connect to."""
        return self.link or f"{'http' if self.certificate is None else 'https'}://{self.listen}"

    @property
    def secure(self) -> bool:
        """Whether what people open has TLS."""
        return self.address.startswith("https://")

    @property
    def is_local(self) -> bool:
        """Whether it is listened on for this machine alone."""
        return self.host in {"127.0.0.1", "localhost", "::1"}


def read_settings(path: Path) -> Settings:
    """The settings in a file, its paths as seen from anywhere; refuse what contradicts itself."""
    kind = FILE.at(path)
    settings = kind.made(Settings, kind.toml(kind.text()))
    if mistake := _mistake(settings):
        raise kind.damaged(mistake)
    folder, oidc = path.resolve().parent, settings.oidc
    return evolve(
        settings,
        folder=folder / settings.folder,
        certificate=settings.certificate and folder / settings.certificate,
        key=settings.key and folder / settings.key,
        tables={name: _placed(table, folder, settings, name) for name, table in settings.tables.items()},
        oidc=oidc if oidc is None or "://" in oidc.keys else evolve(oidc, keys=str(folder / oidc.keys)),
    )


def _placed(table: TableSettings, folder: Path, settings: Settings, name: str) -> TableSettings:
    data = folder / (settings.folder / f"{name}.csv" if table.data == Path() else table.data)
    vault = vault_beside(data) if table.vault == Path() else real_path(folder / table.vault)
    return evolve(table, schema=folder / table.schema, data=data, vault=vault)


def _mistake(settings: Settings) -> str | None:
    """What contradicts itself, as the end of a sentence about the file."""
    host, _, port = settings.listen.rpartition(":")
    above, oidc = settings.approval.above, settings.oidc
    return next(
        (
            said
            for said, wrong in (
                (
                    f'listens on {shown(settings.listen)}, which is no address: listen = "127.0.0.1:8765"',
                    not host or not port.isdecimal() or int(port) > MOST_PORT,
                ),
                (
                    "has one of certificate and key, and TLS takes both",
                    (settings.certificate is None) != (settings.key is None),
                ),
                (
                    f"pads replies to {settings.padding} seconds; 0 to {MOST_PADDING} make sense",
                    not 0 <= settings.padding <= MOST_PADDING,
                ),
                ("serves no table: [tables.NAME]", not settings.tables),
                ("lets requests wait above less than nothing", above is not None and above < 0),
                (
                    "fetches the issuer's keys without TLS: https://...",
                    oidc is not None and "://" in oidc.keys and not oidc.keys.startswith("https://"),
                ),
            )
            if wrong
        ),
        None,
    ) or next(filter(None, (_table_mistake(name, table) for name, table in settings.tables.items())), None)


def _table_mistake(name: str, table: TableSettings) -> str | None:
    if not NAME.fullmatch(name):
        return f"calls a table {shown(name)}: a name has letters, digits, _, . and -, at most 64"
    if table.promise <= 0:
        return f"promises {show_amount(table.promise)} for {name}, and nothing could be asked"
    if (table.data == Path()) is not bool(table.made_up):
        return f'names no rows for {name}, or two kinds: data = "rows.csv", or made_up = 5000 rows of nobody'
    if not 0 <= table.made_up <= MOST_ROWS:
        return f"makes up {table.made_up:,} rows for {name}, and 1 to {MOST_ROWS:,} are made"
    return None
