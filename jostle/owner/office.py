"""The office: who may ask what of which table, and what is written down of it.

The server has one. It asks `asker` who sends a message, `share` what they may spend, `allow` before anything is
computed, at every request, and calls `spent` between the charge and the rows: what is not written is not answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from jostle.privacy.account import TableFacts
from jostle.tables.schema import Schema
from jostle.tables.table import Table

Role = Literal["owner", "analyst", "auditor", "service"]
Decision = Literal["answered", "read again", "refused"]


@frozen
class Asker:
    """Who sends a message, as their token says."""

    name: str
    """Whom shares are given to: the name of a key, or `oidc:` and the subject of a bearer token."""
    handle: str
    """What is revoked: the short handle of a key, or the name of a bearer."""
    role: Role
    scopes: tuple[str, ...]
    """What they may do: `ask`, `look`, `log`, `share`, `approve`, `keys`; perhaps of one table alone, `ask:ward`."""
    until: datetime | None = None
    """When the token ends."""


@frozen
class Share:
    """A part of a promise, for one asker."""

    number: int
    """No other share ever has it: handles made under one are closed when a permit names another."""
    table: str
    holder: str
    epsilon: Fraction
    spent: Fraction
    revoked: bool = False

    @property
    def left(self) -> Fraction:
        """What may still be spent of it."""
        return Fraction(0) if self.revoked else self.epsilon - self.spent


@frozen
class Permit:
    """Leave to answer one request, once."""

    asker: Asker
    share: Share
    """As it was at that moment."""
    request: str
    """The canonical request, as JSON."""
    epsilon: Fraction
    """The request's own, as the promise counts it: of persons, m times that of rows."""
    approval: int | None = None
    """The number that it waited under, where it was approved."""


@frozen
class ServedTable:
    """A table that is served."""

    name: str
    data: Path
    schema: Schema
    promise: Fraction
    vault: Path
    """Of the promise. Where no collusion is assumed, `Office.vault` says which one a share is charged to."""

    @cached_property
    def table(self) -> Table:
        """The rows."""
        raise NotImplementedError

    @property
    def facts(self) -> TableFacts:
        """What its account is told of it."""
        return TableFacts.of(self.schema, self.data.name)


class Office:
    """Tables, and who may ask what of them. Its methods may wait for the disk: call them in a thread."""

    tables: Mapping[str, ServedTable]
    assume_no_collusion: bool

    def asker(self, token: str) -> Asker:
        """Whoever a token stands for; raises AccessError for one that is unknown, expired or revoked."""
        raise NotImplementedError

    def share(self, asker: Asker, table: str) -> Share:
        """The asker's live share of a table's promise; raises AccessError where there is none."""
        raise NotImplementedError

    def vault(self, share: Share) -> Path:
        """The vault that a share is charged to."""
        raise NotImplementedError

    def allow(
        self, asker: Asker, table: str, request: Mapping[str, Any], epsilon: Fraction, *, again: bool = False
    ) -> Permit:
        """Leave to answer a request: token, role, share, revocation, approval, looked at now.

        *request* is canonical: `{"kind": ..., fields}`, its handles replaced by what they stand for (conditions, a
        portion), without sites. *epsilon* is its own, not what it adds to what is spent. *again* says that the same
        asker was given this answer before and fetches it, by its idempotency key: nothing waits or is added up.
        Raises AccessError, or WaitingError (status 202) whose number says which request waits.
        """
        raise NotImplementedError

    def spent(self, *outcomes: tuple[Permit, Fraction, Decision]) -> None:
        """Write down, durably, what became of permits, and the price of each as the promise counts it.

        Every permit comes back here once: `refused` by the ledger, price 0, too. Several at once cost one write.
        """
        raise NotImplementedError

    def noted(self, asker: Asker, table: str, lines: tuple[str, ...]) -> None:
        """Keep lines of a client's trace, choices with their reasons; they are shown as the client's words."""
        raise NotImplementedError
