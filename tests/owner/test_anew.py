"""What is left of a session where the server starts anew: answers, rows that public facts make, and a sentence."""

from __future__ import annotations

import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from serving import Served, owner_file, serving

from jostle.errors import VaultError
from jostle.owner.wire import said
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.vault import FileVault
from jostle.tables.kernels import Counts

EPSILON = Fraction(1, 8)


class Session:
    """A client's messages, written by hand, to whichever server there is."""

    def __init__(self, served: Served) -> None:
        self.served, self.token = served, served.token("anna")
        begun = served.post("begin", {}, self.token).json()
        self.session, self.root = begun["session"], begun["handle"]

    def message(self, handle: str, question: str, *details: Any) -> dict[str, Any]:
        """Return a question to a handle."""
        key = secrets.token_hex(16)
        asked = {"handle": handle, "question": question, "details": said(question, details, 1), "key": key}
        return {"version": 1, "session": self.session, **asked}

    def sent(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a message."""
        reply: dict[str, Any] = self.served.post("ask", message, self.token).json()
        return reply

    def made(self, handle: str, question: str, *details: Any) -> list[str]:
        """Return the handles that a question gives."""
        return [each["handle"] for each in self.sent(self.message(handle, question, *details))["handles"]]

    def counting(self, handle: str) -> dict[str, Any]:
        """Return a question for the number of rows."""
        return self.message(handle, "perform", AddNoise(Counts.of()), EPSILON, "n")


def every_handle(held: Session) -> dict[str, str]:
    """Return a handle of each kind."""
    (some,) = held.made(held.root, "narrowed", "region", [0, 1])
    (columns,) = held.made(some, "only", ("age",))
    return {
        "the table": held.root,
        "some rows": some,
        "a part of some rows": held.made(some, "split", "age")[3],
        "some columns of some rows": columns,
        "a portion": held.made(held.root, "portions", 2)[0],
        "an allotment": held.made(held.root, "allot", 1, "own")[0],
        "what an Option has": held.made(held.root, "hand", EPSILON, "an Option", "PooledTree", False, True)[0],
    }


TITLE = "the server has started anew since this probe was made, and it is gone"
GONE = {"a portion", "an allotment", "what an Option has"}


def test_an_answer_that_was_lost_is_fetched_by_any_handle_and_rows_by_public_facts_are_asked_on(tmp_path: Path) -> None:
    path = owner_file(tmp_path / "x")
    with serving(path) as served:
        held = Session(served)
        handles = every_handle(held)
        asked = {name: held.counting(handle) for name, handle in handles.items()}
        told = {name: held.sent(message) for name, message in asked.items()}
        assert all("answer" in reply for reply in told.values())
    spent = FileVault(served.office.tables["visits"].vault).account().spent

    with serving(path) as held.served:
        assert {name: held.sent(message) for name, message in asked.items()} == told
        assert FileVault(served.office.tables["visits"].vault).account().spent == spent
        other = asked["an allotment"] | {"details": said("perform", (AddNoise(Counts.of("age")), EPSILON, "n"), 1)}
        assert held.sent(other)["error"]["title"].startswith("the server has started anew"), (
            "its key is for one message"
        )
        for name, handle in handles.items():
            reply = held.sent(held.counting(handle))
            assert ("answer" in reply) == (name not in GONE), name
            if name in GONE:
                assert reply["error"]["title"] == TITLE
                assert "an answer that was lost on its way is fetched all the same" in reply["error"]["why"]
        left = len(handles) - len(GONE)
        assert FileVault(served.office.tables["visits"].vault).account().spent == spent + left * EPSILON
        schema = held.served.post(
            "look",
            {"session": held.session, "handle": handles["some columns of some rows"], "version": 1, "schema": True},
            held.token,
        ).json()
        assert "region" not in schema["answer"]

        stranger = held.served.token("eve")
        for name in handles:
            refused = held.served.post("ask", asked[name], stranger).json()
            assert refused["error"]["title"].startswith("this session is unknown"), name


def test_the_same_rows_are_made_again_and_those_of_parts_share_a_price(tmp_path: Path) -> None:
    path = owner_file(tmp_path / "x", promise=10**9)
    with serving(path) as served:
        held = Session(served)
        held.token = served.token("bob", 10**8)
        begun = served.post("begin", {}, held.token).json()
        held.session, held.root = begun["session"], begun["handle"]
        parts = held.made(held.root, "split", "region")
        (young,) = held.made(parts[1], "narrowed", "age", [0])

    def rows(handle: str) -> int:
        message = held.message(handle, "perform", AddNoise(Counts.of()), 10**6, "n")
        return int(held.sent(message)["answer"]["data"][0])

    with serving(path) as held.served:
        assert [rows(part) for part in parts] == [40, 40, 40]
        assert rows(young) == 6
        account = FileVault(served.office.tables["visits"].vault).account()
        assert account.spent == 2 * 10**6, "what the dearest part cost"


def test_under_another_schema_no_rows_are_made_again(tmp_path: Path) -> None:
    """The same codes would be those of other values."""
    path = owner_file(tmp_path / "x")
    with serving(path) as served:
        held = Session(served)
        (north,) = held.made(held.root, "narrowed", "region", [0])
    schema = path.with_name("visits.toml")
    schema.write_text(schema.read_text("utf-8").replace('"north", "south"', '"south", "north"'), "utf-8")
    with serving(path) as held.served:
        assert held.sent(held.counting(north))["error"]["title"] == TITLE
        assert "answer" in held.sent(held.counting(held.root))


@pytest.mark.parametrize("kind", ["the table", "some rows", "a part of some rows", "some columns of some rows"])
def test_what_was_charged_and_never_kept_is_drawn_by_any_handle_of_rows_without_a_second_charge(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise VaultError("the disk is full")

    path = owner_file(tmp_path / "x")
    with serving(path) as served:
        held = Session(served)
        message = held.counting(every_handle(held)[kind])
        monkeypatch.setattr(served.server._answers, "put", full)
        assert "error" in held.sent(message)
        monkeypatch.undo()
    vault = FileVault(served.office.tables["visits"].vault)
    lines = len(vault.statement().reservations)

    with serving(path) as held.served:
        answer = held.sent(message)
        assert "answer" in answer
        assert held.sent(message) == answer
        assert len(vault.statement().reservations) == lines
