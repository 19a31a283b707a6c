"""Shares never add up to more than the promise, requests that wait are added up, and each one is looked at anew."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offices import COUNT, OWNER, People, asks, office_in, people_of, write_owner
from processes import ran, together

from jostle.errors import AccessError, BudgetError, JostleError, VaultError, WaitingError
from jostle.owner.log import entries
from jostle.owner.office import MOST_REQUEST, MOST_WAITING, Office, canonical
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault

ONE = Fraction(1)


def charge(office: Office, epsilon: str) -> None:
    """Charge the promise as the ledger does, of which the log knows nothing yet."""
    table = office.tables["ward"]
    table.account(table.vault)
    vault = FileVault(table.vault)
    vault.pay(vault.open(None, table.facts), Fraction(epsilon), "a test")


# Shares


def test_shares_are_parts_of_one_promise_and_what_is_not_spent_returns(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    people = people_of(office)
    ada, bob = office.asker(people.ada), office.asker(people.bob)
    first = office.give_share("ward", "ada", "3/4")
    with pytest.raises(BudgetError) as refusal:
        office.give_share("ward", "bob", "1/2")
    assert (refusal.value.requested, refusal.value.left) == (Fraction(1, 2), Fraction(1, 4))
    office.give_share("ward", "bob", "1/4")
    assert office.free("ward") == 0

    charge(office, "1/8")
    asks(office, ada, "1/8")
    assert office.share(ada, "ward").left == Fraction(5, 8)
    assert office.free("ward") == 0
    office.revoke_share(first.number, "she has left")
    assert office.free("ward") == Fraction(5, 8)
    with pytest.raises(AccessError, match="no share"):
        office.share(ada, "ward")
    assert office.share(bob, "ward").left == Fraction(1, 4)
    assert office.give_share("ward", "ada", "5/8").number == 3


def test_what_was_charged_and_is_not_written_yet_is_free_to_nobody(tmp_path: Path) -> None:
    """Between the charge and the line it counts twice; after a crash there, the promise has it spent."""
    office = office_in(tmp_path)
    people_of(office)
    office.give_share("ward", "ada", "1/2")
    charge(office, "1/4")

    assert office.free("ward") == Fraction(1, 4)
    with pytest.raises(BudgetError):
        office.give_share("ward", "bob", "1/2")


def test_nobody_has_two_shares_of_a_table_and_a_share_is_an_amount_of_somebody(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    office.give_share("ward", "ada", "1/8")
    for table, holder, epsilon in (
        ("ward", "ada", "1/8"),
        ("none", "bob", "1/8"),
        ("ward", "a b", "1/8"),
        ("ward", "oidc:\n", "1/8"),
        ("ward", "", "1/8"),
        ("ward", "bob", "0"),
        ("ward", "bob", "-1"),
        ("ward", "bob", "x"),
        ("ward", "bob", "1/0"),
    ):
        with pytest.raises(JostleError):
            office.give_share(table, holder, epsilon)
    for number, reason in ((1, ""), (2, "why"), (-1, "why")):
        with pytest.raises(JostleError):
            office.revoke_share(number, reason)
    office.revoke_share(1, "why")
    with pytest.raises(AccessError, match="no live share 1"):
        office.revoke_share(1, "why")
    with office.state() as state:
        assert len(state.shares) == 1


GIVER = """
import sys
from jostle.errors import BudgetError
from jostle.owner.office import Office
office = Office.read(sys.argv[1])
given = 0
for number in range(12):
    try:
        office.give_share("ward", f"{sys.argv[2]}{number}", "1/10")
        given += 1
    except BudgetError:
        pass
print(given)
"""


@pytest.mark.slow
def test_shares_given_at_once_by_threads_and_two_processes_fit(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    path = str(tmp_path / "owner.toml")
    given: list[str] = []
    elsewhere: list[int] = []

    def give_elsewhere(name: str) -> None:
        elsewhere.append(int(ran("-c", GIVER, path, name, check=True).stdout))

    def give(name: str) -> None:
        for number in range(6):
            try:
                office.give_share("ward", f"{name}{number}", "1/10")
            except BudgetError:
                continue
            given.append(name)

    together(*(partial(give_elsewhere, name) for name in "pq"), *(partial(give, name) for name in "stu"))

    assert len(elsewhere) == 2
    assert len(given) + sum(elsewhere) == 10
    with office.state() as state:
        assert sum(share.epsilon for share in state.shares.values()) == 1
    assert office.free("ward") == 0


steps = st.lists(
    st.tuples(st.sampled_from(["give", "spend", "revoke", "elsewhere"]), st.integers(0, 3), st.integers(1, 6)),
    max_size=25,
)


@settings(max_examples=8, deadline=None)
@given(steps)
def test_whatever_is_given_spent_and_revoked_the_promise_holds(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    """Against sums by hand: what is spent and what live shares have left never pass the promise; the rest is free."""
    office = office_in(tmp_path_factory.mktemp("office"))
    askers = [office.asker(office.make_key(f"n{number}", "analyst")[0]) for number in range(4)]
    live: dict[int, tuple[int, Fraction]] = {}
    spent = Fraction(0)
    for what, who, twelfths in steps:
        amount = Fraction(twelfths, 12)
        free = 1 - spent - sum((left for _, left in live.values()), Fraction(0))
        if what == "give" and who not in live:
            if amount > free:
                with pytest.raises(BudgetError):
                    office.give_share("ward", f"n{who}", amount)
            else:
                live[who] = office.give_share("ward", f"n{who}", amount).number, amount
        elif what == "spend" and who in live and amount <= live[who][1]:
            charge(office, str(amount))
            asks(office, askers[who], str(amount))
            live[who], spent = (live[who][0], live[who][1] - amount), spent + amount
        elif what == "revoke" and who in live:
            office.revoke_share(live.pop(who)[0], "because")
        elif what == "elsewhere" and amount <= free:
            charge(office, str(amount))
            spent += amount
        assert office.free("ward") == 1 - spent - sum((left for _, left in live.values()), Fraction(0))
        assert office.tables["ward"].account(office.tables["ward"].vault).spent == spent
    office.close()


POPULATION = """person = "who"
rows_per_person = 4
people = "ward 7"

[columns.who]
kind = "identifier"

[columns.age]
kind = "numeric"
low = 18
high = 98
bins = 8
"""


@pytest.mark.parametrize("mode", ["", "assume_no_collusion = true"])
def test_shares_of_two_tables_about_the_same_people_are_parts_of_one_promise(tmp_path: Path, mode: str) -> None:
    for name in ("visits", "drugs"):
        (tmp_path / f"{name}.csv").write_text("who,age\na,20\nb,30\n", "utf-8")
    tables = "".join(
        f'[tables.{name}]\nschema = "people.toml"\ndata = "{name}.csv"\nvault = "{at}ward7.vault"\npromise = "1"\n'
        for name, at in (("visits", ""), ("drugs", "served/../"))
    )
    (tmp_path / "people.toml").write_text(POPULATION, "utf-8")
    office = Office.read(write_owner(tmp_path, f'{mode}\napproval = {{above = "1/2"}}', tables))
    office.give_share("visits", "ada", "3/4")
    if not mode:
        assert office.free("drugs") == office.free("visits") == Fraction(1, 4)
    with pytest.raises(BudgetError):
        office.give_share("drugs", "ada", "1/2")
    office.give_share("drugs", "ada", "1/4")
    ada = office.asker(office.make_key("ada", "analyst")[0])
    for table in ("visits", "drugs"):  # asked of the same people, it is added up as well
        office.spent(office.allow(ada, table, COUNT, Fraction(1, 4)), Fraction(0), "answered")
    with pytest.raises(WaitingError):
        office.allow(ada, "visits", COUNT, Fraction(1, 100))
    office.revoke_share(1, "no visits")
    office.give_share("drugs", "bob", "3/4")


def test_where_no_collusion_is_assumed_everybody_has_a_promise_in_a_vault_of_their_own(tmp_path: Path) -> None:
    office = office_in(tmp_path, "assume_no_collusion = true")
    people = people_of(office)
    shares = [office.give_share("ward", name, "1") for name in ("ada", "bob")]
    vaults = {office.vault(share) for share in shares}

    assert len(vaults) == 2
    assert office.tables["ward"].vault not in vaults
    with pytest.raises(BudgetError):
        office.give_share("ward", "eve", "2")
    vault = FileVault(office.vault(shares[0]))
    vault.pay(vault.open(None, office.tables["ward"].facts), Fraction(1, 2), "a test")
    asks(office, office.asker(people.ada), "1/2")
    office.revoke_share(1, "once more")
    with pytest.raises(BudgetError):
        office.give_share("ward", "ada", "1")  # what she spent, she has spent
    assert office.give_share("ward", "ada", "1/2").left == Fraction(1, 2)


# Every request


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """An office where ada and bob have a third each, and requests wait once half of that is asked."""
    return office_in(tmp_path, '[approval]\nabove = "1/6"\nkinds = ["Synthesize"]')


@pytest.fixture
def people(office: Office) -> People:
    people = people_of(office)
    for name in ("ada", "bob"):
        office.give_share("ward", name, "1/3")
    return people


def test_each_request_is_looked_at_anew(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    permit = office.allow(ada, "ward", COUNT, Fraction(1, 100))
    office.spent(permit, Fraction(1, 100), "answered")
    for undone in (
        lambda: office.revoke(ada.handle),
        lambda: office.revoke_share(2, "bob has left"),
    ):
        undone()
    with pytest.raises(AccessError, match="revoked"):
        office.allow(ada, "ward", COUNT, Fraction(1, 100))
    with pytest.raises(AccessError, match="no share"):
        office.allow(office.asker(people.bob), "ward", COUNT, Fraction(1, 100))


def test_those_who_may_not_ask_are_refused_and_a_table_that_is_not_theirs_looks_like_none(
    office: Office, people: People
) -> None:
    for token in (people.owner, people.auditor):
        with pytest.raises(AccessError, match="may not ask"):
            office.allow(office.asker(token), "ward", COUNT, Fraction(1, 100))
    eve = office.asker(office.make_key("eve", "analyst")[0])
    refusals = []
    for table in ("ward", "none"):
        with pytest.raises(AccessError) as refusal:
            office.allow(eve, table, COUNT, Fraction(1, 100))
        refusals.append(str(refusal.value).replace(table, "TABLE"))
    assert refusals[0] == refusals[1]


def test_what_is_revoked_between_the_charge_and_the_answer_is_not_answered(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    permits = [office.allow(ada, "ward", COUNT, Fraction(1, 100)) for _ in range(2)]
    office.revoke_share(1, "at once")
    with pytest.raises(AccessError, match="revoked"):
        office.spent(permits[0], Fraction(1, 100), "answered")
    office.spent(permits[1], Fraction(0), "refused")
    with office.state() as state:
        assert state.shares[1].spent == 0
        assert [entry.fact.decision for entry in state.recent] == ["refused"]  # type: ignore[union-attr]  # all asked


def test_requests_are_added_up_by_their_own_epsilon_whatever_they_cost(office: Office, people: People) -> None:
    """A question in a part that is not the dearest pays nothing above, and counts all the same."""
    ada, bob = office.asker(people.ada), office.asker(people.bob)
    for _ in range(4):
        asks(office, ada, "1/24", price="0")
    with pytest.raises(WaitingError) as waits:
        asks(office, ada, "1/1000", price="0")
    assert waits.value.number == 1
    asks(office, bob, "1/6")  # each by themselves
    with office.state() as state:
        assert state.shares[1].spent == 0


def test_an_approved_request_is_answered_once_and_the_sum_begins_anew(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    asks(office, ada, "1/6")
    for _ in range(3):  # the same waits under the same number
        with pytest.raises(WaitingError, match="request 1 waits"):
            asks(office, ada, "1/100")
    with pytest.raises(WaitingError, match="request 2 waits"):
        asks(office, ada, "1/100", "Mean")
    office.decide(1, approve=True)

    permit = office.allow(ada, "ward", COUNT, Fraction(1, 100))
    assert permit.approval == 1
    with pytest.raises(WaitingError, match="request 3 waits"):  # it is being used
        office.allow(ada, "ward", COUNT, Fraction(1, 100))
    office.spent(permit, Fraction(1, 100), "answered")
    with pytest.raises(AccessError, match="answered already"):
        office.spent(permit, Fraction(1, 100), "answered")
    asks(office, ada, "1/6")
    with pytest.raises(WaitingError):
        asks(office, ada, "1/1000", "Quantile")


def test_an_approval_whose_answer_never_came_is_still_there(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    with pytest.raises(WaitingError):
        asks(office, ada, "1/5", "Synthesize")
    office.decide(1, approve=True, reason="it is due")
    office.allow(ada, "ward", {"kind": "Synthesize"}, Fraction(1, 5))
    again = Office.read(office.log_path.parent.parent / "owner.toml")  # the server was killed meanwhile

    assert again.allow(again.asker(people.ada), "ward", {"kind": "Synthesize"}, Fraction(1, 5)).approval == 1


def test_an_approval_is_for_one_asker_one_table_and_the_whole_request(office: Office, people: People) -> None:
    ada, bob = office.asker(people.ada), office.asker(people.bob)
    with pytest.raises(WaitingError):
        office.allow(ada, "ward", {"kind": "Synthesize", "on": ["north"]}, Fraction(1, 100))
    office.decide(1, approve=True)
    for asker, request, epsilon in (
        (ada, {"kind": "Synthesize", "on": ["south"]}, Fraction(1, 100)),
        (ada, {"kind": "Synthesize", "on": ["north"]}, Fraction(1, 5)),
        (ada, {"kind": "Synthesize"}, Fraction(1, 100)),
        (bob, {"kind": "Synthesize", "on": ["north"]}, Fraction(1, 100)),
    ):
        with pytest.raises(WaitingError):
            office.allow(asker, "ward", request, epsilon)
    assert office.allow(ada, "ward", {"on": ["north"], "kind": "Synthesize"}, Fraction(1, 100)).approval == 1


def test_a_refused_request_stays_refused_with_its_reason_until_the_owner_thinks_otherwise(
    office: Office, people: People
) -> None:
    ada = office.asker(people.ada)
    with pytest.raises(WaitingError):
        asks(office, ada, "1/100", "Synthesize")
    with pytest.raises(VaultError, match="no reason"):
        office.decide(1, approve=False)
    office.decide(1, approve=False, reason="ask the committee")
    for _ in range(2):
        with pytest.raises(AccessError, match=r"refused request 1\n  why: ask the committee"):
            asks(office, ada, "1/100", "Synthesize")
    with pytest.raises(AccessError, match="it is refused"):
        office.decide(1, approve=False, reason="again")
    office.decide(1, approve=True)
    with pytest.raises(AccessError, match="it is approved"):
        office.decide(1, approve=True)
    assert asks(office, ada, "1/100", "Synthesize").approval == 1
    with pytest.raises(AccessError, match="it is answered"):
        office.decide(1, approve=True)


def test_what_the_owner_refused_is_not_allowed_once_the_sum_begins_anew(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    asks(office, ada, "1/6")
    for request in ("Mean", "Quantile"):
        with pytest.raises(WaitingError):
            asks(office, ada, "1/100", request)
    office.decide(1, approve=False, reason="not this")
    office.decide(2, approve=True)
    asks(office, ada, "1/100", "Quantile")
    asks(office, ada, "1/100", "Count")
    with pytest.raises(AccessError, match="not this"):
        asks(office, ada, "1/100", "Mean")


def test_a_kind_that_waits_is_that_of_the_question_or_of_what_it_asks(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    with pytest.raises(WaitingError):
        office.allow(ada, "ward", {"kind": "perform", "asks": [{"kind": "Synthesize"}, 3]}, Fraction(0))
    office.allow(ada, "ward", {"kind": "perform", "asks": [{"kind": "AddNoise"}, "Synthesize"]}, Fraction(0))


def test_who_is_turned_away_stands_in_the_log(office: Office, people: People) -> None:
    eve = office.asker(office.make_key("eve", "analyst")[0])
    for asker, table in ((eve, "ward"), (eve, "x" * 1000), (office.asker(people.owner), "ward")):
        with pytest.raises(AccessError):
            office.allow(asker, table, COUNT, Fraction(1, 100))
    lines = [entry.fact for entry in entries(office.log_path)][-3:]
    assert [(line.name, line.decision, line.price) for line in lines] == [  # type: ignore[union-attr]  # all asked
        ("eve", "denied", 0),
        ("eve", "denied", 0),
        ("owner", "denied", 0),
    ]
    assert office.decisions["ward", "denied"] == 2
    assert office.decisions["", "denied"] == 1


def test_what_the_ledger_refused_counts_for_nothing(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    for _ in range(5):
        permit = office.allow(ada, "ward", COUNT, Fraction(1, 7))
        office.spent(permit, Fraction(0), "refused")
    asks(office, ada, "1/6")


def test_what_is_being_answered_counts_and_threads_pass_the_limit_together_never(
    office: Office, people: People
) -> None:
    ada = office.asker(people.ada)
    allowed: list[object] = []

    def ask() -> None:
        for _ in range(5):
            try:
                allowed.append(office.allow(ada, "ward", COUNT, Fraction(1, 60)))
            except WaitingError:
                continue

    together(*[ask] * 6)
    assert len(allowed) == 10
    with office.state() as state:
        assert len(state.requests) == 1


def test_what_was_answered_is_fetched_again_without_waiting_or_counting(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    asks(office, ada, "1/6")
    permit = office.allow(ada, "ward", COUNT, Fraction(1, 6), again=True)
    office.spent(permit, Fraction(0), "read again")
    with office.state() as state:
        assert state.since["ada", "ward.csv.vault"] == Fraction(1, 6)
    office.revoke(ada.handle)
    with pytest.raises(AccessError):
        office.allow(ada, "ward", COUNT, Fraction(1, 6), again=True)


def test_requests_that_wait_are_few_and_short_enough_to_be_judged(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    with pytest.raises(AccessError, match="cannot judge one so long"):
        office.allow(ada, "ward", {"kind": "Synthesize", "on": "x" * MOST_REQUEST}, ONE)
    for number in range(MOST_WAITING):
        with pytest.raises(WaitingError):
            office.allow(ada, "ward", {"kind": "Synthesize", "on": number}, ONE)
    with pytest.raises(AccessError, match="wait already"):
        office.allow(ada, "ward", {"kind": "Synthesize", "on": "more"}, ONE)


def test_a_long_request_is_written_down_by_its_kind_and_a_hash(office: Office, people: People) -> None:
    request = {"kind": "Weighted", "weights": [*range(5000)]}
    permit = office.allow(office.asker(people.ada), "ward", request, Fraction(1, 100))
    office.spent(permit, Fraction(0), "answered")
    *_, last = entries(office.log_path)

    assert json.loads(last.fact.request).keys() == {"kind", "characters", "sha256"}  # type: ignore[union-attr]  # asked
    assert len(json.dumps(last.fact.request)) < 200  # type: ignore[union-attr]


def test_a_canonical_request_has_one_form() -> None:
    assert canonical({"b": Fraction(1, 3), "a": {"d": 1, "c": 2}}) == '{"a":{"c":2,"d":1},"b":"1/3"}'


def test_the_log_says_nothing_of_rows_and_no_durations(office: Office, people: People) -> None:
    asks(office, office.asker(people.ada), "1/100")
    keys = {name for line in office.log_path.read_text("utf-8").splitlines() for name in json.loads(line)}

    assert not keys & {"rows", "seconds", "duration", "count", "answer", "values"}


# The owner's file


WRONG = {
    'listen = "8765"': "no address",
    'listen = "127.0.0.1:99999"': "no address",
    'certificate = "a.pem"': "TLS takes both",
    "padding = -1": "make sense",
    "padding = nan": "make sense",
    'approval = {above = "-1"}': "less than nothing",
    "approval = {above = 1}": 'such as "1/3"',
    "unheard = 1": "Unknown entry",
    'oidc = {issuer = "a", audience = "b", keys = "http://x/y", roles = {g = "owner"}}': "without TLS",
    'oidc = {issuer = "a", audience = "b", keys = "k", roles = {g = "king"}}': "king",
}
WRONG_TABLES = {
    "": "serves no table|tables",
    OWNER.replace('"1"', '"0"'): "nothing could be asked",
    OWNER.replace("made_up = 200", ""): "names no rows",
    OWNER.replace("made_up = 200", 'made_up = 200\ndata = "rows.csv"'): "two kinds",
    OWNER.replace("200", "-5"): "makes up",
    OWNER.replace("tables.ward", 'tables."a/b"'): "calls a table",
    OWNER.replace("rows.toml", "none.toml"): "none.toml",
    OWNER.replace("rows.toml", ""): "Expected a path",
    "[tables": "not TOML",
}


@pytest.mark.parametrize(
    ("more", "text", "said"),
    [
        *((more, OWNER, said) for more, said in WRONG.items()),
        *(("", text, said) for text, said in WRONG_TABLES.items()),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_in_a_sentence(
    tmp_path: Path, more: str, text: str, said: str
) -> None:
    with pytest.raises(JostleError, match=said):
        Office.read(write_owner(tmp_path, more, text))


def test_another_promise_than_the_vault_s_is_refused(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    table = office.tables["ward"]
    assert table.account(table.vault).promise == 1
    other = office_in(tmp_path, text=OWNER.replace('"1"', '"2"'))
    with pytest.raises(AccessError, match=r"promised epsilon 2 in owner.toml, and 1 in"):
        other.free("ward")


def test_rows_are_made_up_before_anything_is_promised_about_them(tmp_path: Path) -> None:
    """Whichever command comes first: a file beside which a vault lies is private, and nothing is made up there."""
    office = Office.read(write_owner(tmp_path))
    office.give_share("ward", "ada", "1/2")
    assert office.tables["ward"].data.exists()
    office.make_tables()


def test_rows_are_made_up_once(tmp_path: Path) -> None:
    office = office_in(tmp_path)
    data = office.tables["ward"].data
    data.write_text("age,smokes\n20,no\n", "utf-8")
    office.make_tables()

    assert data.read_text("utf-8") == "age,smokes\n20,no\n"
    assert office.tables["ward"].table.schema == office.tables["ward"].schema
    assert office.tables["ward"].facts == TableFacts.of(office.tables["ward"].schema, "ward.csv")


@pytest.mark.parametrize(("what", "again"), [*product(["age", "smokes"], [True, False])])
def test_two_who_ask_do_not_get_in_each_other_s_way(office: Office, people: People, what: str, again: bool) -> None:
    askers = [office.asker(token) for token in (people.ada, people.bob)]
    for asker in askers:
        permit = office.allow(asker, "ward", {"kind": what}, Fraction(1, 6), again=again)
        office.spent(permit, Fraction(1, 6), "answered")
    with office.state() as state:
        assert [share.spent for share in state.shares.values()] == [Fraction(1, 6)] * 2
