"""Who is let in: by a key or a bearer's token, as long as it is good, and for what their role leaves them."""

from __future__ import annotations

import hmac
import json
import ssl
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from offices import certificate_in, office_in
from processes import LIMIT

from jostle.errors import AccessError
from jostle.owner import identity
from jostle.owner.identity import MOST_TOKEN, ROLES
from jostle.owner.office import Office

ISSUER, AUDIENCE = "https://login.example.org", "jostle"
OIDC = f"""[oidc]
issuer = "{ISSUER}"
audience = "{AUDIENCE}"
keys = "keys.json"
roles = {{ owners = "owner", statisticians = "analyst" }}
"""


# Keys


def test_a_key_lets_its_holder_in_and_its_secret_is_written_nowhere(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    token, made = office.make_key("ada", "analyst")
    asker = office.asker(token)

    assert (asker.name, asker.role, asker.handle) == ("ada", "analyst", made.handle)
    secret = token.split("_", 2)[2]
    assert secret not in office.log_path.read_text("utf-8")
    assert office.make_key("ada", "analyst")[0] != token


def test_another_office_of_the_same_file_knows_the_key_at_once(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    other = Office.read(tmp_path / "owner.toml")
    token, made = other.make_key("ada", "analyst")

    assert office.asker(token).name == "ada"
    other.revoke(made.handle)
    with pytest.raises(AccessError, match="revoked"):
        office.asker(token)


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1] + ("a" if token[-1] != "a" else "b"),
        lambda token: token[:-1],
        lambda token: token + "a",
        lambda token: token.replace("jostle_", "jostle_0", 1),
        lambda token: token.replace("jostle_", "", 1),
        lambda token: "jostle_" + token.split("_")[1] + "_",
        lambda token: "",
        lambda token: "jostle_" + "\udc80" * 20,
    ],
)
def test_a_token_that_is_not_whole_is_not_known_and_nothing_says_which_part_is_wrong(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    office = office_in(tmp_path)
    token, _ = office.make_key("ada", "analyst")
    with pytest.raises(AccessError, match="the token is not known here"):
        office.asker(change(token))


def test_an_expired_key_is_refused_and_so_is_one_that_expires_while_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = office_in(tmp_path)
    token, _ = office.make_key("ada", "analyst", days=0)
    with pytest.raises(AccessError, match="has expired"):
        office.asker(token)

    token, _ = office.make_key("ada", "analyst", days=1)
    asker = office.asker(token)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=2)

    monkeypatch.setattr("jostle.owner.identity.datetime", Later)
    with pytest.raises(AccessError, match="has expired"):
        office.check(asker)


@pytest.mark.parametrize("role", ROLES)
def test_a_scope_takes_away_and_never_adds(tmp_path: Path, role: str) -> None:
    office = office_in(tmp_path)
    everything = set().union(*ROLES.values())
    for scope in sorted(everything):
        if scope not in ROLES[role]:  # type: ignore[index]  # a role
            with pytest.raises(AccessError, match="leaves nothing of the role"):
                office.make_key("x", role, scopes=[scope])
            continue
        asker = office.asker(office.make_key("x", role, scopes=[scope])[0])
        assert {each for each in everything if asker.may(each, "ward")} == {scope}


def test_a_scope_of_one_table_is_none_of_another(tmp_path: Path) -> None:
    asker = (office := office_in(tmp_path)).asker(office.make_key("ada", "analyst", scopes=["ask:ward"])[0])

    assert asker.may("ask", "ward")
    assert not asker.may("ask", "other")
    assert not asker.may("ask")


@pytest.mark.parametrize(
    ("name", "role", "days", "scopes"),
    [
        ("oidc:ada", "analyst", 1, []),
        ("", "analyst", 1, []),
        ("a b", "analyst", 1, []),
        ("../x", "analyst", 1, []),
        ("ada", "king", 1, []),
        ("ada", "analyst", -1, []),
        ("ada", "analyst", 10**9, []),
        ("ada", "analyst", 1, ["ask:a b"]),
        ("ada", "owner", 1, ["approve:ward"]),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(
    tmp_path: Path, name: str, role: str, days: int, scopes: list[str]
) -> None:
    office = office_in(tmp_path)
    with pytest.raises(AccessError):
        office.make_key(name, role, days=days, scopes=scopes)
    with office.state() as state:
        assert not state.keys


# Bearers


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def key_set(path: Path, *keys: Any) -> None:
    """Write a key set; each is known by its place in it."""
    held = []
    for number, each in enumerate(keys):
        kind = jwt.algorithms.RSAAlgorithm if isinstance(each, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
        held.append(json.loads(kind.to_jwk(each.public_key())) | {"kid": str(number), "use": "sig"})
    path.write_text(json.dumps({"keys": held}), "utf-8")


def claims(**other: Any) -> dict[str, Any]:
    now = int(time.time())
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "u1", "exp": now + 600, "iat": now, "groups": ["statisticians"]}
    return {name: value for name, value in (good | other).items() if value is not None}


def token_of(key: Any, algorithm: str = "RS256", kid: str = "0", **other: Any) -> str:
    return jwt.encode(claims(**other), key, algorithm, headers={"kid": kid})


def office_of_bearers(folder: Path, *keys: Any) -> Office:
    key_set(folder / "keys.json", *keys)
    return office_in(folder, OIDC)


def test_a_bearer_has_the_role_of_their_group(tmp_path: Path, key: rsa.RSAPrivateKey) -> None:
    office = office_of_bearers(tmp_path, key)

    assert (office.asker(token_of(key)).name, office.asker(token_of(key)).role) == ("oidc:u1", "analyst")
    assert office.asker(token_of(key, groups=["statisticians", "owners"])).role == "owner"
    assert office.asker(token_of(key, groups="owners")).role == "owner"
    assert office.asker(token_of(key, aud=["another", AUDIENCE])).name == "oidc:u1"


def test_a_bearer_has_a_share_and_asks_and_all_their_tokens_are_revoked_at_once(
    tmp_path: Path, key: rsa.RSAPrivateKey
) -> None:
    office = office_of_bearers(tmp_path, key)
    office.give_share("ward", "oidc:u1", "1/2")
    asker = office.asker(token_of(key))
    assert office.share(asker, "ward").left == office.free("ward")

    office.revoke("oidc:u1")
    with pytest.raises(AccessError, match="revoked"):
        office.share(asker, "ward")
    with pytest.raises(AccessError, match="revoked"):
        office.asker(token_of(key))
    assert office.asker(token_of(key, sub="u2")).name == "oidc:u2"


def wrong_tokens(key: rsa.RSAPrivateKey) -> dict[str, str]:
    """Return tokens of which each is wrong in one way."""
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    stranger = rsa.generate_private_key(65537, 2048)
    head, _, signature = token_of(key).split(".")
    none = jwt.encode(claims(), "", "none", headers={"kid": "0"})
    by_public = jwt.PyJWS()
    by_public.get_algorithm_by_name("HS256").prepare_key = lambda key: key  # type: ignore[method-assign]  # it warns
    return {
        "of another issuer": token_of(key, iss="https://evil.example.org"),
        "for somebody else": token_of(key, aud="another"),
        "for nobody": token_of(key, aud=None),
        "without an end": token_of(key, exp=None),
        "of nobody": token_of(key, sub=None),
        "of an empty name": token_of(key, sub=""),
        "of a long name": token_of(key, sub="x" * 201),
        "longer than any": token_of(key, more="x" * MOST_TOKEN),
        "not good yet": token_of(key, nbf=int(time.time()) + 600),
        "signed by a stranger": token_of(stranger),
        "of an unknown key": token_of(key, kid="7"),
        "unsigned": none,
        "unsigned, with a signature": f"{none}{signature}",
        "signed with the public key": by_public.encode(json.dumps(claims()).encode(), public, "HS256", {"kid": "0"}),
        "signed by another way": token_of(key, "PS256"),
        "changed": f"{head}.{jwt.utils.base64url_encode(json.dumps(claims(sub='u2')).encode()).decode()}.{signature}",
        "no token": "a.b.c",
        "nothing": "",
    }


def test_a_bearer_s_token_that_is_wrong_in_any_way_is_not_known(tmp_path: Path, key: rsa.RSAPrivateKey) -> None:
    office = office_of_bearers(tmp_path, key)
    assert office.asker(token_of(key)).name == "oidc:u1"
    for what, token in wrong_tokens(key).items():
        with pytest.raises(AccessError) as refusal:
            office.asker(token)
        assert refusal.value.title == "the token is not known here", what


def test_an_expired_token_and_one_without_a_role_are_refused_in_a_sentence(
    tmp_path: Path, key: rsa.RSAPrivateKey
) -> None:
    office = office_of_bearers(tmp_path, key)
    with pytest.raises(AccessError, match="has expired"):
        office.asker(token_of(key, exp=int(time.time()) - 60))
    for groups in ([], ["others"], None, [1, None, ["owners"]], {"owners": 1}, 5):
        with pytest.raises(AccessError, match="no role here"):
            office.asker(token_of(key, groups=groups))


def test_keys_of_an_issuer_change_and_the_new_one_is_looked_for_at_most_twice_a_minute(
    tmp_path: Path, key: rsa.RSAPrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("jostle.owner.identity.time.monotonic", lambda: clock[0])
    office = office_of_bearers(tmp_path, key)
    assert office.asker(token_of(key)).name == "oidc:u1"
    new = ec.generate_private_key(ec.SECP256R1())
    key_set(tmp_path / "keys.json", key, new)

    with pytest.raises(AccessError, match="not known"):
        office.asker(token_of(new, "ES256", kid="1"))
    clock[0] += identity.PAUSE + 1
    assert office.asker(token_of(new, "ES256", kid="1")).name == "oidc:u1"

    key_set(tmp_path / "keys.json", new)  # the first is not the issuer's any more
    clock[0] += identity.FRESH + 1
    with pytest.raises(AccessError, match="not known"):
        office.asker(token_of(key))
    assert office.asker(token_of(new, "ES256", kid="0")).name == "oidc:u1"


def test_without_a_key_set_nobody_is_let_in_and_an_old_one_is_good_for_a_while_only(
    tmp_path: Path, key: rsa.RSAPrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("jostle.owner.identity.time.monotonic", lambda: clock[0])
    office = office_of_bearers(tmp_path, key)
    office.asker(token_of(key))
    (tmp_path / "keys.json").write_text("[]", "utf-8")

    clock[0] += identity.FRESH + 1
    assert office.asker(token_of(key)).name == "oidc:u1"
    clock[0] += identity.FRESH
    with pytest.raises(AccessError, match="keys cannot be read"):
        office.asker(token_of(key))


class Issuer(BaseHTTPRequestHandler):
    """An identity provider, as far as its key set goes; /moved leads there."""

    keys = b""

    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("Location", "/keys")
        self.send_header("Content-Length", str(len(self.keys)))
        self.end_headers()
        self.wfile.write(self.keys)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.mark.parametrize(
    ("path", "trusted", "known"), [("keys", True, True), ("keys", False, False), ("moved", True, False)]
)
def test_keys_are_fetched_by_tls_from_who_has_a_certificate_and_from_nowhere_else(
    tmp_path: Path, key: rsa.RSAPrivateKey, monkeypatch: pytest.MonkeyPatch, path: str, trusted: bool, known: bool
) -> None:
    certificate, secret = certificate_in(tmp_path)
    key_set(tmp_path / "keys.json", key)
    Issuer.keys = (tmp_path / "keys.json").read_bytes()
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with HTTPServer(("localhost", 0), Issuer) as issuer:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, secret)
        issuer.socket = context.wrap_socket(issuer.socket, server_side=True)
        thread = threading.Thread(target=issuer.serve_forever, daemon=True)
        thread.start()
        address = f"https://localhost:{issuer.server_port}/{path}"
        office = office_in(tmp_path, OIDC.replace("keys.json", address))
        try:
            if known:
                assert office.asker(token_of(key)).name == "oidc:u1"
            else:
                with pytest.raises(AccessError, match="keys cannot be read"):
                    office.asker(token_of(key))
        finally:
            issuer.shutdown()
            thread.join(LIMIT)


def test_a_key_set_with_a_secret_in_it_signs_nothing(tmp_path: Path) -> None:
    secret = jwt.utils.base64url_encode(b"s" * 32).decode()
    office = office_in(tmp_path, OIDC)
    (tmp_path / "keys.json").write_text(
        json.dumps({"keys": [{"kty": "oct", "k": secret, "kid": "0"}, None, 3]}), "utf-8"
    )

    with pytest.raises(AccessError, match="not known"):
        office.asker(jwt.encode(claims(), b"s" * 32, "HS256", headers={"kid": "0"}))
    head, body = (
        jwt.utils.base64url_encode(json.dumps(each).encode()) for each in ({"alg": "RS256", "kid": "0"}, claims())
    )
    signed = jwt.utils.base64url_encode(hmac.digest(b"s" * 32, head + b"." + body, "sha256"))
    with pytest.raises(AccessError, match="not known"):  # a secret's signature that says it is another kind's
        office.asker((head + b"." + body + b"." + signed).decode())
