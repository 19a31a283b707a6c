"""That whatever a client sends is answered with a sentence, and nothing that was not charged for."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from serving import Served, owner_file, post, serving

import jostle
from jostle.errors import AccessError, WireError
from jostle.owner.client import connect
from jostle.owner.wire import JSON, MOST_BYTES, MOST_CELLS, MOST_DEPTH, MSGPACK, Form, asked, error_of, made, said
from jostle.privacy.mechanisms import AddNoise, AddNoiseByLevel
from jostle.privacy.room import QUESTIONS
from jostle.privacy.vault import FileVault
from jostle.tables.kernels import Counts
from jostle.tables.regions import Regions

ASK = ("perform", (AddNoise(Counts.of("region")), "1/3", "here"))
LEVELS = AddNoiseByLevel(Regions(("age",), np.arange(10), (np.array([0, 5]), np.arange(10))), ("1/2", "1/2"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(owner_file(tmp_path_factory.mktemp("served") / "x", promise=10**9)) as server:
        yield server


def message(served: Served, token: str, question: str = "perform", **more: Any) -> dict[str, Any]:
    """Return a whole message: a question put to a new session."""
    begun = served.post("begin", {}, token).json()
    details = said(*ASK, 1) if question == "perform" else []
    key = secrets.token_hex(16)
    return {
        "version": 1,
        "session": begun["session"],
        "handle": begun["handle"],
        "key": key,
        "question": question,
        "details": details,
    } | more


@pytest.mark.parametrize("form", [JSON, MSGPACK])
@pytest.mark.parametrize("mechanism", [ASK[1][0], LEVELS])
def test_what_is_sent_is_read_as_it_was(form: Form, mechanism: Any) -> None:
    sent = form.read(form.write({"details": said("perform", (mechanism, "1/3", "here"), 4, form)}))
    back, epsilon, site = asked("perform", sent["details"])
    assert said("perform", (back, epsilon, site), 1) == said("perform", (mechanism, "1/12", "here"), 1)


def test_no_field_of_any_question_is_a_seed_or_a_noise() -> None:
    assert not {"seed", "noise"} & {word for kinds in QUESTIONS.values() for kind in kinds for word in fields_of(kind)}


def fields_of(kind: Any) -> Iterator[str]:
    """Yield all names of fields that a detail may have."""
    for each in getattr(kind, "kinds", ()):
        yield from (field.name for field in each.__attrs_attrs__)


@pytest.mark.parametrize("version", [0, None, "1", 1.0, True, 2])
def test_another_version_gets_a_sentence_that_says_which_end_is_older(served: Served, version: object) -> None:
    reply = post(served.url, "begin", json.dumps({"version": version}).encode(), served.token(secrets.token_hex(4)))
    error = reply.json()["error"]
    assert reply.status_code == 400
    assert "pip install --upgrade jostle" in error["fix"]
    assert ("this end" in error["fix"]) == (version == 2)


DEEP: Any = "x"
for _ in range(MOST_DEPTH + 10):
    DEEP = [DEEP]
ARRAY = {"dtype": "int64", "shape": [2], "data": [0, 1]}
WRONG: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "no question": lambda sent: sent.pop("question"),
    "another question": lambda sent: sent.update(question="__reduce__"),
    "a method of rooms": lambda sent: sent.update(question="_tally"),
    "no details": lambda sent: sent.update(details=[]),
    "details of another kind": lambda sent: sent.update(details={"a": 1}),
    "a class of another list": lambda sent: sent["details"].__setitem__(0, {"kind": "Laplace", "epsilon": "1"}),
    "a seed": lambda sent: sent["details"][0].update(seed=1),
    "a kind that is no text": lambda sent: sent["details"][0].update(kind=["AddNoise"]),
    "a part of another kind": lambda sent: sent["details"][0].update(tallied={"kind": "AddNoise", "tallied": 1}),
    "a part that is a number": lambda sent: sent["details"][0].update(tallied=3),
    "an epsilon of nothing": lambda sent: sent["details"].__setitem__(1, "0"),
    "an epsilon that is not": lambda sent: sent["details"].__setitem__(1, "nan"),
    "an epsilon of a billion digits": lambda sent: sent["details"].__setitem__(1, "1e999999999"),
    "a list of epsilons": lambda sent: sent["details"].__setitem__(1, ["1"]),
    "too deep": lambda sent: sent["details"].__setitem__(0, DEEP),
    "too many parts": lambda sent: sent["details"].__setitem__(0, [0] * (1 << 19)),
    "too many numbers": lambda sent: sent["details"].__setitem__(0, ARRAY | {"shape": [MOST_CELLS + 1]}),
    "an array of other sides": lambda sent: sent["details"].__setitem__(0, ARRAY | {"shape": [3]}),
    "an array of no sides": lambda sent: sent["details"].__setitem__(0, ARRAY | {"shape": [-1, -2]}),
    "an array of objects": lambda sent: sent["details"].__setitem__(0, ARRAY | {"dtype": "object"}),
    "an array with texts": lambda sent: sent["details"].__setitem__(0, ARRAY | {"data": ["a", "b"]}),
    "a whole number too long": lambda sent: sent["details"].__setitem__(0, 2**64),
    "no key": lambda sent: sent.pop("key"),
    "a short key": lambda sent: sent.update(key="1"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_question_costs_nothing_and_is_said(served: Served, wrong: str) -> None:
    token = served.token(secrets.token_hex(4))
    sent = message(served, token)
    WRONG[wrong](sent)
    reply = post(served.url, "ask", json.dumps(sent).encode(), token)
    assert reply.status_code in {200, 400}
    assert set(reply.json()) == {"version", "error"}
    assert spent(served, token, sent) == "0"


def spent(served: Served, token: str, sent: Mapping[str, Any]) -> str:
    """Return what was spent by a session, as the room says it."""
    looked = served.post("look", {"session": sent["session"], "handle": sent["handle"]}, token).json()
    epsilon: str = looked["answer"]["spent"]
    return epsilon


def test_a_long_message_is_not_read_to_its_end(served: Served) -> None:
    reply = post(served.url, "ask", b" " * (MOST_BYTES + 1), served.token("long"))
    assert reply.status_code == 413


def test_answers_are_bounded_by_public_facts_before_they_are_charged(served: Served) -> None:
    db = served.connected(secrets.token_hex(4))
    for ask in (lambda: db.below(2, 1 << 30), lambda: db.shuffled(1 << 30), lambda: db.portions(100_000)):
        with pytest.raises(jostle.JostleError):
            ask()
    assert db.spent == 0


def test_nobody_else_uses_a_session_a_handle_or_a_key(served: Served) -> None:
    one, other = served.token("one"), served.token("other")
    sent = message(served, one)
    first = served.post("ask", sent, one)
    assert "answer" in first.json()
    assert served.post("ask", sent, one).json() == first.json(), "a lost reply is fetched again"
    assert spent(served, one, sent) == "1/3"
    theirs = message(served, other)
    for token, forged in (
        (other, sent),  # all of another's
        (other, theirs | {"handle": sent["handle"]}),
        (other, theirs | {"key": sent["key"]}),
        (one, sent | {"session": theirs["session"], "handle": theirs["handle"]}),
        (one, sent | {"details": said("perform", (ASK[1][0], "1/2", "here"), 1)}),  # another question by an old key
        (one, sent | {"handle": "0" * 32}),
        (one, sent | {"session": ["a"]}),
    ):
        reply = served.post("ask", forged, token)
        assert (reply.status_code, reply.json()["error"]["title"].split()[-1]) == (403, "it")
        reply = served.post("look", forged, token)
    assert spent(served, other, theirs) == "0"
    assert spent(served, one, sent) == "1/3"


@pytest.mark.parametrize("token", ["", "x", "jostle_", "a" * 100_000, "Bearer"])
def test_no_token_no_answer(served: Served, token: str) -> None:
    assert served.post("begin", {}, token or "-").status_code == 403
    with pytest.raises(AccessError):
        connect(served.url, token=token)


def test_whoever_ends_a_session_forgets_its_handles_and_answers(served: Served) -> None:
    token = served.token("ends")
    sent = message(served, token)
    served.post("ask", sent, token)
    assert served.post("end", {"session": sent["session"]}, served.token("no_end")).status_code == 403
    assert served.post("end", {"session": sent["session"]}, token).status_code == 200
    assert served.post("ask", sent, token).status_code == 403


def garbled(data: bytes, chance: random.Random) -> bytes:
    """Return a message with some bytes, or some parts, changed."""
    kind = chance.randrange(4)
    if kind == 0:
        place = chance.randrange(len(data))
        return data[:place] + bytes(chance.randrange(256) for _ in range(chance.randrange(8))) + data[place + 1 :]
    if kind == 1:
        return data[: chance.randrange(len(data))]
    whole = msgspec.msgpack.decode(data)
    place, holder = chance.choice(list(places(whole)))
    other = chance.choice(
        [
            *(None, True, -1, 0, 1 << 62, 1.5, "", "x" * 300, [], {}, [[]], {"kind": "Stack"}, "1/3", b"x"),
            chance.choice([held[at] for at, held in places(whole)]),
            {"dtype": "int64", "shape": [chance.randrange(4)], "data": bytes(8 * chance.randrange(4))},
        ]
    )
    holder[place] = other
    try:
        return msgspec.msgpack.encode(whole)
    except (RecursionError, ValueError):
        return data


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what may be exchanged: names and places, with what they are in."""
    if isinstance(value, dict | list):
        for place in list(value) if isinstance(value, dict) else range(len(value)):
            yield place, value
            yield from places(value[place])


QUESTIONS_ASKED: tuple[tuple[str, tuple[object, ...]], ...] = (
    ASK,
    ("perform", (LEVELS, "1", "levels")),
    ("begin", (AddNoise(Counts.of()), "1/10", "count")),
    ("allot", ("1", "part")),
    ("hand", ("1", "part", "PooledTree", True, True)),
    ("narrowed", ("region", (0, 1))),
    ("split", ("region",)),
    ("portions", (2,)),
    ("known", (Counts.of("age"), True)),
    ("only", (("age",),)),
    ("below", (5, 3)),
    ("refine", (1, "1/2", "finer")),
)


def fuzzed(served: Served, count: int, seed: int) -> None:
    """Send messages that are not what a client sends, and look at each reply, and at what was charged in the end."""
    chance, token = random.Random(seed), served.token(secrets.token_hex(4), 10**6)
    begun = message(served, token)
    vault = FileVault(served.office.tables["visits"].vault)
    before, answered = len(vault.statement().reservations), 0
    for _ in range(count):
        question, details = chance.choice(QUESTIONS_ASKED)
        whole = begun | {
            "key": secrets.token_hex(16),
            "question": question,
            "details": said(question, details, 1, MSGPACK),
        }
        for _ in range(chance.randrange(1, 3)):
            data = garbled(MSGPACK.write(whole), chance)
        status, reply = served.direct(token, data)
        told = MSGPACK.read(reply, None)
        assert status in {200, 400, 403}, told
        assert set(told) <= {"version", "error", "answer", "handles", "schema", "several", "again"}
        if "error" in told:
            assert "failed inside" not in str(error_of(told["error"])), data
            assert str(error_of(told["error"]))
        elif "answer" in told and isinstance(made(told["answer"]), np.ndarray | tuple) and b"perform" in data:
            answered += 1
        if len(served.server._sessions[begun["session"]].handles) > 10_000:
            begun = message(served, token)
    charged = len(vault.statement().reservations) - before
    assert charged >= answered


def test_messages_that_nobody_sends_are_answered_in_sentences(served: Served) -> None:
    fuzzed(served, 1500, seed=1)


@pytest.mark.slow
def test_a_hundred_thousand_such_messages(served: Served) -> None:
    for seed in range(50):
        fuzzed(served, 2000, seed=seed)


def test_what_the_client_cannot_reach_or_read_is_said(served: Served) -> None:
    for url, error in (
        ("http://example.com", AccessError),
        ("ftp://x", WireError),
        (f"{served.url}/nothing", WireError),
    ):
        with pytest.raises(error):
            connect(url, token="x")  # noqa: S106 - it is none
    with pytest.raises(AccessError, match="no token"):
        connect(served.url)
