"""A team at a server: shares, approval, revocation and the log, as those who are connected meet them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from serving import Served, owner_file, serving

from jostle.errors import AccessError, BudgetError, JostleError, UnpaidWarning, WaitingError
from jostle.owner.client import connect
from jostle.owner.log import Settled, entries
from jostle.privacy.vault import FileVault

RULES = '[approval]\nabove = "1/2"\nkinds = ["imitate"]'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(owner_file(tmp_path_factory.mktemp("team"), promise=8, more=RULES)) as served:
        yield served


def settled(served: Served, name: str) -> list[tuple[Fraction, Fraction, str]]:
    """Return what the log says that somebody asked: its own epsilon, its price, and the decision."""
    facts = (each.fact for each in entries(served.office.log_path))
    return [
        (each.epsilon, each.price, each.decision) for each in facts if isinstance(each, Settled) and each.name == name
    ]


def test_whoever_asks_spends_their_share_and_no_more(served: Served) -> None:
    db = served.connected("anna", "1/4")
    db.count("1/8")
    with pytest.raises(BudgetError):
        db.count("1/4")
    db.count("1/16")
    assert db.left == Fraction(1, 16)
    with served.office.state() as state:
        share = state.share("visits", "anna")
    assert share is not None
    assert share.left == Fraction(1, 16)
    assert [price for _, price, _ in settled(served, "anna")] == [Fraction(1, 8), 0, Fraction(1, 16)]
    assert settled(served, "anna")[1][2] == "refused"


def test_a_question_in_a_part_that_costs_nothing_above_counts_towards_an_approval(served: Served) -> None:
    db = served.connected("berta", "2", patience=0)
    parts = db.parts("region")
    parts[0].count("1/4")
    parts[1].count("1/4")
    with pytest.raises(WaitingError) as waits:
        parts[2].count("1/4")
    assert db.spent == Fraction(1, 4)
    with served.office.state() as state:
        wait = state.requests[waits.value.number].wait
    assert wait.epsilon == Fraction(1, 4)
    assert '["region",[2]]' in wait.request
    served.office.decide(waits.value.number, approve=True)
    parts[2].count("1/4")
    assert db.spent == Fraction(1, 4)
    parts[2].count("1/2")  # the sum began anew


def test_what_waits_says_for_which_option_a_budget_is_set_aside(served: Served) -> None:
    db = served.connected("carol", "2", patience=0)
    with pytest.raises(WaitingError) as waits:
        db.mean("age", epsilon="1", site="please")
    with served.office.state() as state:
        assert state.requests[waits.value.number].wait.request == (
            '{"asks":["BoundedMean",false,true],"epsilon":"1","kind":"hand","on":[]}'
        )
    key = db._key.enter
    for named in ("please, it is urgent", "Urgent(please=1)", "DAWA(please=1)"):
        _, refusal = key("hand", Fraction(1), "site", named, False, True)
        assert isinstance(refusal, WaitingError)
        with served.office.state() as state:
            assert "please" not in state.requests[refusal.number].wait.request


def test_what_waits_holds_no_word_of_the_client_s(served: Served) -> None:
    db = served.connected("carla", "2", patience=0)
    with pytest.raises(WaitingError) as waits:
        db.count("1", site="please, it is urgent")
    with served.office.state() as state:
        assert "urgent" not in state.requests[waits.value.number].wait.request
    served.office.decide(waits.value.number, approve=False, reason="in parts, please")
    with pytest.raises(AccessError, match="in parts, please"):
        db.count("1", site="another word")
    assert db.spent == 0


def test_revoking_a_share_closes_every_handle_and_a_new_share_opens_none_of_them(served: Served) -> None:
    db = served.connected("dora", "1")
    token = served.token("dora", None)
    kept = [db, db.where("region", "north"), *db.parts("region"), db.allot("1/8"), db.reserve("1/8")]
    with served.office.state() as state:
        share = state.share("visits", "dora")
    assert share is not None
    served.office.revoke_share(share.number, "she has left")
    for each in kept:
        with pytest.raises(JostleError):
            each.count("1/100")
    served.office.give_share("visits", "dora", "1/8")
    for each in kept:
        with pytest.raises(JostleError):
            each.count("1/100")
    assert connect(served.url, token=token).left == Fraction(1, 8)


def test_revoking_a_key_ends_what_it_began_and_no_other_key_of_the_same_person(served: Served) -> None:
    db = served.connected("emma", "1/2")
    token, made = served.office.make_key("emma", "analyst")
    other = connect(served.url, token=token)
    other.count("1/100")
    served.office.revoke(made.handle)
    with pytest.raises(AccessError, match="revoked"):
        other.count("1/100")
    db.count("1/100")


def test_those_who_are_no_analysts_ask_nothing(served: Served) -> None:
    for name, role in (("olga", "owner"), ("otto", "auditor")):
        token, _ = served.office.make_key(name, role)
        with pytest.raises(AccessError):
            connect(served.url, token=token, table="visits").count("1/100")
    token, _ = served.office.make_key("robot", "service")
    served.office.give_share("visits", "robot", "1/100")
    assert connect(served.url, token=token).count("1/100").cost == Fraction(1, 100)
    narrowed, _ = served.office.make_key("robot", "service", scopes=["metrics"])
    with pytest.raises(AccessError, match=r"may not ask|no table"):
        connect(served.url, token=narrowed)


def test_the_prices_in_the_log_add_up_to_what_the_vault_says(served: Served) -> None:
    served.connected("fanny", "1/2").histogram("region", epsilon="1/4")
    table = served.office.tables["visits"]
    prices = [each.fact.price for each in entries(served.office.log_path) if isinstance(each.fact, Settled)]
    assert sum(prices) == table.account(table.vault).spent


def test_where_no_collusion_is_assumed_each_spends_a_whole_promise(tmp_path: Path) -> None:
    with serving(owner_file(tmp_path, promise=1, more="assume_no_collusion = true")) as served:
        with pytest.warns(UnpaidWarning):
            anna, bert = served.connected("anna", 1), served.connected("bert", 1)
        first = int(anna.count("3/4"))
        assert int(bert.count("3/4")) == first  # from the book of answers, and charged to whoever reads it
        assert (anna.left, bert.left) == (Fraction(1, 4), Fraction(1, 4))
        with pytest.raises(BudgetError):
            bert.count("1/2")
        with served.office.state() as state:
            spent = {FileVault(served.office.vault(each)).account().spent for each in state.shares.values()}
        assert spent == {Fraction(3, 4)}
