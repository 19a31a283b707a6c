"""Who sends a message: by a key that the owner made, or by a token of the owner's identity provider.

A *key* is random and shown once; the log keeps a hash of it, under a short handle by which it is spoken of and revoked.
A *bearer token* is signed by the issuer that the settings name, for the audience that they name; groups in it say the
role. Nobody is let in by an address that they know: a token comes in a header, or is typed into the owner's page.

A *role* is what somebody may do. *Scopes* of a key take something away from that, and never add anything.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import frozen

from jostle.errors import AccessError, shown
from jostle.files.kinds import json_parsed
from jostle.owner.log import KeyMade, Role, State
from jostle.owner.settings import NAME, Oidc

ROLES: Mapping[Role, frozenset[str]] = {
    "owner": frozenset({"look", "log", "share", "approve", "keys", "metrics"}),
    "analyst": frozenset({"ask"}),
    "auditor": frozenset({"look", "log"}),
    "service": frozenset({"ask", "metrics"}),
}
"""What each role may do; ask of a table, look at the owner's page, read the log, give shares, approve, make keys."""
OF_ONE_TABLE = frozenset({"ask"})
"""What a scope may narrow to a table: `ask:ward`."""
BEARER = "oidc:"
"""Stands before the subject of a bearer token, where a name is asked for; no key is named so."""
PREFIX, SECRET_BYTES, HANDLE_BYTES = "jostle_", 32, 4
MOST_TOKEN = 1 << 14
"""Characters of a bearer token; those of most issuers have a thousand or two."""
MOST_DAYS = 366
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Those with a public key: a secret that verifies would also sign."""
KINDS_OF_KEYS = frozenset({"RSA", "EC", "OKP"})
LEEWAY = 30
"""Seconds by which two clocks may differ."""
FRESH, PAUSE, PATIENCE = 300, 30, 10
"""Seconds for which a key set is good, between two looks for a key that it has not, and to wait for it."""


@frozen
class Asker:
    """Who sends a message, as their token says."""

    name: str
    """Whom shares are given to: the name of a key, or `oidc:` and the subject of a bearer token."""
    handle: str
    """What is revoked: the short handle of a key, or the name of a bearer."""
    role: Role
    scopes: tuple[str, ...]
    """What of their role is left to them; all of it where there are none."""
    until: datetime
    """When the token ends."""

    def may(self, what: str, table: str | None = None) -> bool:
        """Whether they may do something, of some table."""
        narrowed = not self.scopes or what in self.scopes or (table is not None and f"{what}:{table}" in self.scopes)
        return what in ROLES[self.role] and narrowed


def made_key(name: str, role: str, scopes: Sequence[str], days: int) -> tuple[str, KeyMade]:
    """A key to be shown once, and what is written down of it."""
    if not NAME.fullmatch(name):
        raise AccessError(
            f"a key for {shown(name)} cannot be made", why="a name has letters, digits, _, . and -, at most 64"
        )
    given = next((each for each in ROLES if each == role), None)
    if given is None:
        raise AccessError(f"there is no role {shown(role)}", fix=f"one of {', '.join(ROLES)}")
    for scope in scopes:
        what, _, table = scope.partition(":")
        if what not in ROLES[given] or (":" in scope and (what not in OF_ONE_TABLE or not NAME.fullmatch(table))):
            raise AccessError(
                f"the scope {shown(scope)} leaves nothing of the role {role}",
                why=f"it takes away from what the role may do: {', '.join(sorted(ROLES[given]))}",
                fix="leave it out, or name one of these; ask:TABLE for one table",
            )
    if not 0 <= days <= MOST_DAYS:
        raise AccessError(f"a key for {days:,} days is not made", fix=f"--days, up to {MOST_DAYS}")
    handle, secret = secrets.token_hex(HANDLE_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    until = (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    made = KeyMade(handle, name, given, tuple(scopes), _digest(secret), until)
    return f"{PREFIX}{handle}_{secret}", made


def asker_of_key(token: str, state: State) -> Asker:
    """Whoever a key was made for; refuse one that was not made, or is not good any more."""
    handle, _, secret = token.removeprefix(PREFIX).partition("_")
    key = state.keys.get(handle)
    # Compared in any case, and in the same time wherever they differ.
    right = hmac.compare_digest(_digest(secret), key.digest if key is not None else _digest(""))
    if key is None or not right:
        raise unknown()
    return Asker(key.name, handle, key.role, key.scopes, datetime.fromisoformat(key.until))


def check_live(asker: Asker, state: State) -> None:
    """Refuse who was let in once, and is not any more."""
    if asker.handle in state.revoked:
        raise AccessError(f"the token {asker.handle} was revoked", fix="ask the owner of the data for another")
    if datetime.now(UTC) >= asker.until:
        raise AccessError(f"the token {asker.handle} has expired", fix="ask the owner of the data for another")


def unknown() -> AccessError:
    """The error for a token that stands for nobody: which part of it is wrong is not said."""
    return AccessError(
        "the token is not known here", why="it is no key of this server's, or was not signed for it", fix="check it"
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Bearers:
    """Whoever has tokens of an issuer, verified against its key set."""

    def __init__(self, settings: Oidc) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._keys: dict[str | None, Any] = {}
        self._read = self._tried = float("-inf")

    def asker(self, token: str) -> Asker:
        """Whoever a token was signed for; refuse any other."""
        import jwt  # noqa: PLC0415 - where nobody has such tokens, it is not needed

        settings = self._settings
        if len(token) > MOST_TOKEN:  # nobody is known yet, and each byte of it would be worked on
            raise unknown()
        try:
            head = jwt.get_unverified_header(token)
            claims = jwt.decode(
                token,
                self._key(head.get("kid")),
                algorithms=ALGORITHMS,
                issuer=settings.issuer,
                audience=settings.audience,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            raise AccessError("the token has expired", fix="sign in again where it comes from") from None
        except (jwt.PyJWTError, ValueError, TypeError):
            raise unknown() from None
        return self._of_claims(claims)

    def _of_claims(self, claims: Mapping[str, Any]) -> Asker:
        subject, groups = claims["sub"], claims.get(self._settings.groups, [])
        held = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        if not isinstance(subject, str) or not 0 < len(subject) <= 200:
            raise unknown()
        role = next((role for group, role in self._settings.roles.items() if group in held), None)
        if role is None:
            raise AccessError(
                "the token's groups have no role here",
                why="roles are given to groups, in owner.toml",
                fix="ask the owner",
            )
        until = datetime.fromtimestamp(float(claims["exp"]) + LEEWAY, UTC)
        return Asker(f"{BEARER}{subject}", f"{BEARER}{subject}", role, (), until)

    def _key(self, name: object) -> Any:
        """The issuer's key of a name; its key set is read again where it is old, or has none of the name."""
        with self._lock:
            now = time.monotonic()
            if (now - self._read > FRESH or name not in self._keys) and now - self._tried > PAUSE:
                self._tried = now
                keys = self._fetched()
                if keys is not None:
                    self._keys, self._read = keys, now
            if now - self._read > 2 * FRESH:
                raise AccessError(
                    "the issuer's keys cannot be read",
                    why=f"{self._settings.keys} does not give a key set",
                    fix="see that oidc.keys in owner.toml is right, and ask again in a minute",
                )
            if name not in self._keys:
                raise unknown()
            return self._keys[name]

    def _fetched(self) -> dict[str | None, Any] | None:
        """The keys that sign, by name, or None where there is no set; a set of one key may leave its name out."""
        import jwt  # noqa: PLC0415 - as above

        key_set = self._settings.keys
        try:
            if "://" in key_set:
                import httpx  # noqa: PLC0415 - as above

                text = httpx.get(key_set, timeout=PATIENCE, follow_redirects=False).raise_for_status().text
            else:
                text = Path(key_set).read_text("utf-8")
            held = json_parsed(text)["keys"]  # type: ignore[index]  # or it fails, as all that follows may
        except Exception:  # noqa: BLE001 - a server that is asked may answer anything
            return None
        keys = {}
        for jwk in held if isinstance(held, list) else ():
            with suppress(jwt.PyJWTError, AttributeError, TypeError, ValueError):
                if jwk.get("kty") in KINDS_OF_KEYS and jwk.get("use", "sig") == "sig":
                    keys[jwk.get("kid")] = jwt.PyJWK(jwk)
        return keys
