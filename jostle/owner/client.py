"""The client: a probe whose rows are in the owner's process.

`jostle.connect` gives a probe as `jostle.protect` does. It stands on keys whose functions put each question to the
server; everything else, every Option, maker, program and estimator, runs here, on what was released.

A question that may have cost something is sent again, with its idempotency key, until its reply comes: it is charged
once. One that waits for the owner is sent again until the owner has decided.
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from jostle.errors import AccessError, JostleError, ProbeError, UnpaidWarning, WaitingError, WireError
from jostle.given import called_as, given_as, given_flag
from jostle.owner.wire import MSGPACK, NO_COLLUSION, error_of, made, said
from jostle.privacy.door import Answer, Facts, Key
from jostle.privacy.probe import Probe
from jostle.progress import stage
from jostle.sites import is_running
from jostle.tables.schema import Schema

try:
    import httpx
except ImportError:
    raise WireError(
        "httpx, which connects to a server, is not installed", fix='pip install "jostle[connect]"'
    ) from None

__all__ = ["connect"]

TRYING = 60.0
"""Seconds until a server that does not answer is given up: one that starts anew has come back by then."""
BEGINNING = 5.0
"""The same where nothing was asked yet: the URL may be wrong."""
PAUSE, MOST_PAUSE = 0.1, 1.0
"""Seconds between tries; each time twice as many."""
CONNECTING = 20.0
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "testserver"})
KEY_BYTES = 16


@frozen(eq=False)
class Connection:
    """A session at a server."""

    client: httpx.Client
    session: str
    again: bool
    patience: float
    """Seconds to wait for the owner's approval."""
    schemas: dict[str, Schema]
    """By their digests."""
    process: int

    def key(self, told: Mapping[str, Any], digested: str) -> Key:
        """A key to the rows of a handle."""
        handle, unit = str(told["handle"]), int(told["unit"])

        def enter(question: str, *details: object) -> Answer:
            try:
                sent = said(question, details, unit, MSGPACK)
                return self._answer(self._asked(handle, question, sent)), None
            except JostleError as refusal:
                return None, refusal

        def look_in() -> Facts:
            facts: Facts = made(self._sent("look", {"session": self.session, "handle": handle})["answer"])
            return facts

        def look_up() -> Schema:
            if digested not in self.schemas:
                asked = {"session": self.session, "handle": handle, "schema": True}
                self.schemas[digested] = Schema.from_toml(self._sent("look", asked)["answer"])
            return self.schemas[digested]

        return Key(enter, look_in, look_up)

    def _answer(self, reply: Mapping[str, Any]) -> Any:
        if "handles" not in reply:
            return made(reply["answer"])
        digested = reply["schema"]
        keys = tuple(self.key(told, digested) for told in reply["handles"])
        return keys if reply["several"] else keys[0]

    def _asked(self, handle: str, question: str, details: list[Any]) -> dict[str, Any]:
        """The reply to a question; one that waits for the owner is asked until there is one."""
        message = {
            "session": self.session,
            "handle": handle,
            "question": question,
            "details": details,
            "key": secrets.token_hex(KEY_BYTES),
            # What an Option or a program asks is a measurement of its own.
            "direct": not is_running(),
            "again": self.again,
        }
        until, pause = time.monotonic() + self.patience, PAUSE
        with stage("asking the owner's server") as said:
            while True:
                try:
                    return self._sent("ask", message)
                except WaitingError as waits:
                    if time.monotonic() + pause > until:
                        raise
                    said.doing(waits.title)
                time.sleep(pause)
                pause = min(2 * pause, MOST_PAUSE)

    def _sent(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        if self.process != os.getpid():
            raise ProbeError("this probe was made in another process", fix="jostle.connect(...) in each process")
        return sent(self.client, path, message)


def sent(client: httpx.Client, path: str, message: Mapping[str, Any], trying: float | None = None) -> dict[str, Any]:
    """The reply to a message, which is sent again where none comes."""
    body, pause, until = MSGPACK.write(message), PAUSE, time.monotonic() + (TRYING if trying is None else trying)
    while True:
        try:
            response = client.post(f"v1/{path}", content=body, headers={"content-type": MSGPACK.content})
            if response.status_code < 500:
                return _read(response)
            problem = f"it answers with status {response.status_code}"
        except httpx.TransportError as mistake:
            problem = str(mistake) or type(mistake).__name__
        if time.monotonic() + pause > until:
            raise WireError(
                f"the server {client.base_url} cannot be reached: {problem}",
                why="what it had charged by then is spent; asked anew, it is another question",
                fix="see that it runs: jostle serve owner.toml",
            )
        time.sleep(pause)
        pause = min(2 * pause, MOST_PAUSE)


def _read(response: httpx.Response) -> dict[str, Any]:
    if response.headers.get("content-type", "").partition(";")[0] != MSGPACK.content:
        raise WireError(
            f"{response.url} is no server of Jostle's",
            why=f"it answers with status {response.status_code}",
            fix="check the URL",
        )
    reply = MSGPACK.read(response.content, None)
    if "error" in reply:
        raise error_of(reply["error"])
    return reply


@called_as('jostle.connect("https://...", token="...")')
def connect(
    url: str,
    *,
    token: str | None = None,
    table: str | None = None,
    again: bool = False,
    patience: float = 600,
    transport: httpx.BaseTransport | None = None,
) -> Probe:
    """Probe on a table that a server holds: everything runs on it as on one that `jostle.protect` gives.

    What was released before to the same question, put by a person and not by an Option or a program, is read again and
    costs nothing. It is the same answer then, and no second measurement.

    Args:
        url: of the server.
        token: an API key or a bearer token; without one, what the variable JOSTLE_TOKEN says.
        table: which table, where several are shared with whoever has the token.
        again: whether every question is bought anew, whatever was released before.
        patience: seconds to wait where a question waits for the owner's approval.
        transport: how bytes are sent, if not over the network.

    Where the owner takes nobody to tell anybody else (`assume_no_collusion`), an `UnpaidWarning` says what that means.

    Raises:
        AccessError: the token is not taken, or no table is shared with whoever has it.
        WireError: the server cannot be reached, or is of another version.
    """
    given_as(url, str, "the URL of a server", fix='jostle.connect("https://...", token="...")', error=WireError)
    given_flag(again, "again", error=WireError)
    secret = os.environ.get("JOSTLE_TOKEN") if token is None else token
    if not isinstance(secret, str) or not secret.isascii() or not secret.isprintable() or not secret:
        raise AccessError(
            "there is no token", why="the server answers those it knows", fix='token="...", or JOSTLE_TOKEN'
        )
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        address = httpx.URL()
    if address.scheme not in {"http", "https"} or not address.host:
        raise WireError("this is no URL of a server", fix='jostle.connect("https://...", token="...")')
    if address.scheme == "http" and address.host not in LOCAL:
        raise AccessError(
            "the token would be sent without TLS",
            why="whoever reads it can ask in your name",
            fix=f"https://{address.netloc.decode()}",
        )
    client = httpx.Client(
        base_url=address,
        headers={"authorization": f"Bearer {secret}"},
        timeout=httpx.Timeout(None, connect=CONNECTING),
        transport=transport,
    )
    try:
        begun = sent(client, "begin", {} if table is None else {"table": table}, BEGINNING)
    except BaseException:
        client.close()
        raise
    connection = Connection(client, begun["session"], again, float(patience), {}, os.getpid())
    weakref.finalize(connection, client.close)
    if begun.get("assume_no_collusion") is True:
        warnings.warn(NO_COLLUSION, UnpaidWarning, stacklevel=3)  # where `connect` is called, and not what wraps it
    return Probe(connection.key(begun, begun["schema"]))
