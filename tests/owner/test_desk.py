"""The owner's page: who sees it, what its buttons do and who may press them, and that nobody's text is markup."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from httpx import Response
from markup_checks import Page
from offices import OWNER, People, asks, office_in, people_of
from starlette.applications import Starlette
from starlette.testclient import TestClient

from jostle.errors import AccessError, WaitingError
from jostle.owner.desk import COOKIE, Desk
from jostle.owner.log import entries
from jostle.owner.office import Office
from jostle.trace.records import Chosen, to_json

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[2K&amp;"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return office_in(tmp_path, '[approval]\nabove = "1/8"')


@pytest.fixture
def people(office: Office) -> People:
    people = people_of(office)
    office.give_share("ward", "ada", "1/2")
    ada = office.asker(people.ada)
    asks(office, ada, "1/8")
    with pytest.raises(WaitingError):
        office.allow(ada, "ward", {"kind": "Mean", "column": "age"}, Fraction(1, 16))
    return people


def client_of(office: Office) -> TestClient:
    return TestClient(Starlette(routes=Desk(office).routes()), follow_redirects=True)


def signed_in(office: Office, token: str) -> TestClient:
    client = client_of(office)
    assert client.post("/sign-in", data={"token": token}).status_code == 200
    return client


def mark_of(page: Response) -> str:
    (mark,) = set(re.findall(r'name="mark" value="([^"]+)"', page.text))
    return str(mark)


def read(page: Response) -> Page:
    """Return a page that was read; refuse one that runs, or fetches, or sends anything elsewhere."""
    seen = Page(page.text)
    assert seen.open == []
    assert "\x1b" not in page.text
    assert not {tag for tag, _ in seen.tags} & {"script", "img", "link", "iframe", "object", "embed", "base"}
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert attributes.get("href", "#waits") in {"#waits", "/log"}
        assert tag != "form" or re.fullmatch(r"/[a-z-]+", str(attributes["action"]))
    assert "url(" not in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    return seen


# Who sees it


def test_a_stranger_sees_a_form_and_nothing_of_the_tables(office: Office, people: People) -> None:
    client = client_of(office)
    page = read(client.get("/"))

    assert "Token" in page.text
    assert "ward" not in page.text
    assert client.get("/log").status_code == client.get("/metrics").status_code == 401


@pytest.mark.parametrize("address", ["/?token={}", "/{}", "/?jostle={}", "/log?token={}"])
def test_no_address_lets_anybody_in(office: Office, people: People, address: str) -> None:
    page = client_of(office).get(address.format(people.owner))
    assert "ward" not in page.text


def test_analysts_and_strangers_are_not_signed_in(office: Office, people: People) -> None:
    for token in (people.ada, "", "jostle_00000000_x", EVIL):
        client = client_of(office)
        page = client.post("/sign-in", data={"token": token})
        assert page.status_code == 401
        assert COOKIE not in client.cookies
        read(page)


def test_an_owner_has_buttons_and_an_auditor_none(office: Office, people: People) -> None:
    buttons = {
        name: [attributes for tag, attributes in read(signed_in(office, token).get("/")).tags if tag == "button"]
        for name, token in (("owner", people.owner), ("auditor", people.auditor))
    }
    assert len(buttons["owner"]) == 5  # sign out, approve, refuse, revoke, give
    assert len(buttons["auditor"]) == 1


def test_enter_in_a_field_presses_the_button_beside_it_and_no_other(office: Office, people: People) -> None:
    text = signed_in(office, people.owner).get("/").text
    forms = re.findall(r"<form.*?</form>", text, flags=re.DOTALL)
    assert [form.count("<button") for form in forms] == [1] * 5
    (approving,) = [form for form in forms if 'value="approve"' in form]
    assert "<label" not in approving


def test_a_cookie_is_for_this_site_alone_and_stands_for_a_token_that_is_still_good(
    office: Office, people: People
) -> None:
    client = client_of(office)
    reply = client.post("/sign-in", data={"token": people.owner}, follow_redirects=False)
    cookie = reply.headers["set-cookie"].lower()
    assert all(said in cookie for said in ("httponly", "samesite=strict", "max-age=28800"))
    assert "secure" not in cookie
    assert people.owner not in cookie

    assert "What waits for you" in client.get("/").text
    office.revoke(office.asker(people.owner).handle)
    assert client.get("/").status_code == 401
    assert client.get("/log").status_code == 401


def test_a_cookie_goes_by_tls_alone_where_there_is_tls(tmp_path: Path) -> None:
    office = office_in(tmp_path, 'link = "https://dp.example.org"')
    reply = client_of(office).post("/sign-in", data={"token": people_of(office).owner}, follow_redirects=False)
    assert "secure" in reply.headers["set-cookie"].lower()


def test_who_signs_out_is_forgotten(office: Office, people: People) -> None:
    client = signed_in(office, people.owner)
    cookie = client.cookies[COOKIE]
    client.post("/sign-out", data={"mark": mark_of(client.get("/"))})
    client.cookies.set(COOKIE, cookie)
    assert "ward" not in client.get("/").text


# What its buttons do


def test_a_request_is_approved_with_a_button_and_answered_then(office: Office, people: People) -> None:
    client = signed_in(office, people.owner)
    page = client.get("/")
    shown = read(page).text
    assert '"column": "age"' in shown
    assert "0.0625 is its own epsilon; of ada's share 0.375 is left" in " ".join(shown.split())

    done = client.post("/decide", data={"mark": mark_of(page), "number": "1", "decision": "approve", "reason": ""})
    assert "request 1 is approved" in read(done).text
    assert "request 1 is approved" not in client.get("/").text
    permit = office.allow(office.asker(people.ada), "ward", {"kind": "Mean", "column": "age"}, Fraction(1, 16))
    assert permit.approval == 1
    *_, last = entries(office.log_path)
    assert last.by == "owner"


def test_a_request_is_refused_with_a_reason(office: Office, people: People) -> None:
    client = signed_in(office, people.owner)
    form = {"mark": mark_of(client.get("/")), "number": "1", "decision": "refuse"}
    assert "no reason" in client.post("/decide", data=form).text
    assert "request 1 is refused" in client.post("/decide", data=form | {"reason": "not this year"}).text
    with pytest.raises(AccessError, match="not this year"):
        office.allow(office.asker(people.ada), "ward", {"kind": "Mean", "column": "age"}, Fraction(1, 16))


def test_shares_are_given_and_revoked_with_buttons(office: Office, people: People) -> None:
    client = signed_in(office, people.owner)
    mark = mark_of(client.get("/"))
    for epsilon, said in (("1/4", "bob has share 2"), ("1/4", "already"), ("x", "no number|amount|epsilon")):
        done = client.post("/share", data={"mark": mark, "table": "ward", "holder": "bob", "epsilon": epsilon})
        assert re.search(said, read(done).text)
    office_share = office.share(office.asker(people.bob), "ward")
    assert office_share.left == Fraction(1, 4)
    done = client.post("/revoke-share", data={"mark": mark, "number": "2", "reason": "he has left"})
    assert "share 2 is revoked" in done.text
    with pytest.raises(AccessError):
        office.share(office.asker(people.bob), "ward")


FORMS = {
    "/decide": {"number": "1", "decision": "approve"},
    "/share": {"table": "ward", "holder": "bob", "epsilon": "1/4"},
    "/revoke-share": {"number": "1", "reason": "x"},
}


@pytest.mark.parametrize("path", FORMS)
def test_no_other_site_and_no_auditor_presses_a_button(office: Office, people: People, path: str) -> None:
    before = office.log_path.read_bytes()
    owner, auditor = signed_in(office, people.owner), signed_in(office, people.auditor)
    other = mark_of(signed_in(office, people.owner).get("/"))
    for mark in ("", "x", other, mark_of(auditor.get("/"))):
        assert owner.post(path, data=FORMS[path] | {"mark": mark}).status_code == 403
    assert owner.post(path, data=FORMS[path]).status_code == 403
    said = auditor.post(path, data=FORMS[path] | {"mark": mark_of(auditor.get("/"))}).text
    assert "may not" in said
    bearer = {"authorization": f"Bearer {people.owner}"}  # a header is for programs, and presses no buttons
    assert "ward" not in client_of(office).post(path, data=FORMS[path] | {"mark": ""}, headers=bearer).text
    assert owner.get(path).status_code == 405
    assert office.log_path.read_bytes() == before


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/decide", {"number": "7", "decision": "approve"}),
        ("/decide", {"number": "x"}),
        ("/decide", {}),
        ("/decide", {"number": "9" * 50}),
        ("/share", {}),
        ("/share", {"table": EVIL, "holder": EVIL, "epsilon": EVIL}),
        ("/revoke-share", {"number": "1"}),
        ("/revoke-share", {"number": "-1", "reason": EVIL}),
    ],
)
def test_a_form_that_makes_no_sense_is_answered_in_a_sentence(
    office: Office, people: People, path: str, form: dict[str, str]
) -> None:
    client = signed_in(office, people.owner)
    before = office.log_path.read_bytes()
    page = client.post(path, data=form | {"mark": mark_of(client.get("/"))})
    assert 'role="status"' in page.text
    read(page)
    assert office.log_path.read_bytes() == before


def test_a_form_that_is_too_long_or_no_form_is_not_read(office: Office, people: People) -> None:
    client = client_of(office)
    for body in (b"token=" + b"x" * (1 << 17), b"&".join([b"a=1"] * 1000), b"\xff\xfe", b""):
        assert client.post("/sign-in", content=body).status_code == 401


# Whose text is whose


def test_a_client_s_text_is_text_and_labelled_as_the_client_s(office: Office, people: People) -> None:
    ada = office.asker(people.ada)
    chosen = Chosen.one("choice", EVIL, "Tree", predicted={"Tree": (1.0, 0.1), EVIL: (2.0, 0.1)}, why=EVIL)
    facts = json.loads(to_json(chosen))
    facts.pop("version")
    office.noted(ada, "ward", [json.dumps(facts | {"kind": "Chosen"}), to_json(chosen), EVIL, "{", '{"kind": 1}', "[]"])
    with pytest.raises(WaitingError):
        office.allow(ada, "ward", {"kind": EVIL, EVIL: EVIL}, Fraction(1))
    office.decide(2, approve=True)
    permit = office.allow(ada, "ward", {"kind": EVIL, EVIL: EVIL}, Fraction(1))
    office.spent(permit, Fraction(0), "answered")
    page = read(signed_in(office, people.owner).get("/"))

    assert page.text.count("<script>alert(1)</script>") >= 6
    text = " ".join(page.text.split())
    assert "In the words of ada about ward" in text
    assert "The client wrote this, and nobody checked it." in text
    assert "expected loss" in text


def test_what_waits_is_shown_without_the_client_s_words(office: Office, people: People) -> None:
    """The office is never told a site or a note with a request; what it shows is the canonical request alone."""
    shown = re.findall(r"<article.*?</article>", signed_in(office, people.owner).get("/").text, flags=re.DOTALL)
    (pre,) = re.findall(r"<pre>(.*?)</pre>", shown[0], flags=re.DOTALL)
    assert json.loads(pre.replace("&quot;", '"')) == {"kind": "Mean", "column": "age"}


@pytest.mark.parametrize("where", ["/", "signed in"])
def test_assumed_no_collusion_is_said_on_every_page(tmp_path: Path, where: str) -> None:
    office = office_in(tmp_path, "assume_no_collusion = true")
    owner = people_of(office).owner
    client = client_of(office) if where == "/" else signed_in(office, owner)
    assert "assume_no_collusion = true: everybody may spend the whole promise" in read(client.get("/")).text


def test_nothing_is_said_of_rows(tmp_path: Path) -> None:
    """Pages and figures of two tables that differ in their rows are the same."""
    told = []
    for rows in (100, 173):
        folder = tmp_path / str(rows)
        folder.mkdir()
        office = office_in(folder, text=OWNER.replace("200", str(rows)))
        client = signed_in(office, people_of(office).owner)
        page = re.sub(r'value="[^"]+"|<code>\w+</code>|\d\d:\d\d:\d\d', "", client.get("/").text)
        told.append((page, client.get("/metrics").text))
    assert told[0] == told[1]


# For programs


def test_the_log_is_given_to_auditors_and_checks_elsewhere(office: Office, people: People, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    for token in (people.owner, people.auditor):
        reply = client_of(office).get("/log", headers={"authorization": f"Bearer {token}"})
        copy.write_bytes(reply.content)
        assert [*entries(copy)] == [*entries(office.log_path)]
    assert client_of(office).get("/log", headers={"authorization": f"Bearer {people.ada}"}).status_code == 401


def test_metrics_are_figures_of_decisions_and_promises_and_none_of_the_process(office: Office, people: People) -> None:
    service, _ = office.make_key("prometheus", "service", scopes=["metrics"])
    headers = {"authorization": f"Bearer {service}"}
    with pytest.raises(AccessError):
        office.asker("jostle_0_0")
    text = client_of(office).get("/metrics", headers=headers).text
    figures = dict(re.findall(r"^(\w+(?:\{[^}]*\})?) ([\d.e+-]+)$", text, flags=re.MULTILINE))

    assert figures['jostle_decisions_total{decision="answered",table="ward"}'] == "1.0"
    assert figures['jostle_decisions_total{decision="waits",table="ward"}'] == "1.0"
    assert figures['jostle_decisions_total{decision="unknown",table=""}'] == "1.0"
    assert figures['jostle_promised_epsilon{table="ward"}'] == "1.0"
    assert figures['jostle_free_epsilon{table="ward"}'] == "0.5"
    assert figures['jostle_shares{table="ward"}'] == "1.0"
    assert figures["jostle_waiting"] == "1.0"
    assert {name.partition("{")[0].partition("_")[0] for name in figures} == {"jostle"}
    assert client_of(office).get("/metrics", headers={"authorization": f"Bearer {people.auditor}"}).status_code == 401


def test_health_is_good_until_the_log_is_gone(office: Office) -> None:
    client = client_of(office)
    assert client.get("/health").json() == {"status": "good"}
    office.log_path.unlink()
    assert client.get("/health").status_code == 503


def test_the_document_of_the_routes_has_all_of_them_and_says_what_each_does(office: Office) -> None:
    desk = Desk(office)
    document = TestClient(Starlette(routes=desk.routes())).get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert {*document["paths"]} == {route.path for route in desk.routes()}  # type: ignore[attr-defined]  # each has one
    said = [each["summary"] for methods in document["paths"].values() for each in methods.values()]
    assert all(each.endswith(".") for each in said)


# In a browser


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_browser_shows_the_page_on_a_phone_with_nothing_to_scroll_sideways(
    office: Office, people: People, tmp_path: Path, scheme: str
) -> None:
    """In a frame 375 pixels wide, whose own width a script outside of it reads off; the page itself has none."""
    asks(office, office.asker(people.ada), "0", "x" * 500)
    page = signed_in(office, people.owner).get("/").text
    (tmp_path / "page.html").write_text(page, "utf-8")
    measure = (
        "const f=document.querySelector('iframe');f.onload=()=>{const d=f.contentDocument,w=f.contentWindow;"
        "const said=[d.documentElement.scrollWidth,w.getComputedStyle(d.querySelector('td')).display,"
        "w.matchMedia('(prefers-color-scheme: dark)').matches,"
        "[...d.querySelectorAll('input:not([type=hidden]),button,select')].filter(e=>e.offsetHeight<30).length,"
        "[...d.querySelectorAll('input:not([type=hidden]),select')].filter(e=>!e.labels.length).length];"
        "document.title=JSON.stringify(said);document.body.dataset.said=document.title}"
    )
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<body><iframe src="page.html" style="width:375px;height:800px;border:0;color-scheme:{scheme}"></iframe>'
        f"<script>{measure}</script>",
        "utf-8",
    )
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--allow-file-access-from-files",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=5000",
            *(["--force-dark-mode"] if scheme == "dark" else []),
            "--dump-dom",
            frame.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (said,) = re.findall(r'data-said="([^"]+)"', done.stdout)
    wide, display, dark, small, unlabelled = json.loads(said.replace("&quot;", '"'))
    assert wide <= 375
    assert display == "flex"  # cells below each other
    assert dark is (scheme == "dark")
    assert (small, unlabelled) == (0, 0)
