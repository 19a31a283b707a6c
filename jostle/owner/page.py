"""The owner's page: promises, shares, what waits, who spent what, and the choices that clients say they made.

It is made at the server, without scripts, and needs nothing beside itself. All texts go through `jostle.markup`; what a
client said is said to be the client's. Buttons are for those who may; a form carries a text that no other page has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

import msgspec
from attrs import frozen

from jostle.errors import DamageError, TableError
from jostle.files.kinds import json_parsed
from jostle.markup import document, pre, words
from jostle.owner.identity import ROLES, Asker
from jostle.owner.log import KeyMade, LogLine, Noted, Request, Settled, Share
from jostle.owner.office import Office
from jostle.owner.wire import NO_COLLUSION
from jostle.privacy.account import Account
from jostle.privacy.amounts import show_amount
from jostle.trace.page import STYLE as TRACE_STYLE
from jostle.trace.page import choices
from jostle.trace.records import VERSION, Chosen, Record, Stated, from_json

TITLE = "The owner's page"
POLICY = "; form-action 'self'; base-uri 'none'"
STYLE = f"""{TRACE_STYLE}
.jostle form{{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;margin:.5rem 0}}
.jostle label{{display:flex;flex-direction:column;font-size:.875rem;gap:.15rem}}
.jostle input,.jostle select,.jostle button{{font:inherit;padding:.4rem .6rem;max-width:100%;box-sizing:border-box}}
.jostle button{{cursor:pointer;min-height:2.5rem}}
.jostle :focus-visible{{outline:3px solid #5b84ab;outline-offset:2px}}
.jostle .skip{{position:absolute;left:-100rem}}.jostle .skip:focus{{position:static}}
.jostle .card{{border:1px solid #8888;border-radius:.4rem;padding:.5rem .75rem;margin:.75rem 0}}
.jostle .said{{border-left:4px solid #b08a3c;padding-left:.75rem}}
.jostle .head{{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.5rem;align-items:baseline}}
.jostle td.number{{font-variant-numeric:tabular-nums}}.jostle code{{font-size:.8125rem}}
.jostle td code{{overflow-wrap:anywhere;display:block;max-width:30rem}}.jostle td time{{white-space:nowrap}}
@media(max-width:40rem){{.jostle .rows thead{{position:absolute;left:-100rem}}
.jostle .rows tr{{display:block;border-top:1px solid #8884;padding:.4rem 0}}
.jostle .rows td{{display:flex;gap:.75rem;border:0;padding:.1rem 0}}
.jostle .rows td::before{{content:attr(data-is);flex:0 0 7rem;opacity:.75}}
.jostle form label,.jostle form button{{flex:1 1 100%}}}}
"""
MOST_DAYS, MOST_RECENT, MOST_NOTES, MOST_KINDS = 31, 50, 100, 4


@frozen
class OfficeView:
    """What of an office is shown, taken at one moment."""

    no_collusion: bool
    promises: Mapping[str, tuple[Account, Fraction]]
    """By table, with what is free."""
    shares: Sequence[Share]
    requests: Sequence[Request]
    keys: Sequence[tuple[KeyMade, str, bool]]
    """With when it was last used, and whether it was revoked."""
    by_day: Mapping[tuple[str, str, str], Fraction]
    recent: Sequence[LogLine]
    notes: Sequence[LogLine]
    lines: int
    head: str

    @classmethod
    def of(cls, office: Office) -> OfficeView:
        """What an office has to show now."""
        promises = {name: (table.account(table.vault), office.free(name)) for name, table in office.tables.items()}
        with office.state() as state:
            keys = [(key, state.used.get(key.handle, ""), key.handle in state.revoked) for key in state.keys.values()]
            return cls(
                office.assume_no_collusion,
                promises,
                [*state.shares.values()],
                [*state.requests.values()],
                keys,
                {**state.by_day},
                [*state.recent],
                [*state.notes],
                state.count,
                state.head,
            )


def owner_page(view: OfficeView, asker: Asker, mark: str, *, said: str = "") -> str:
    """The page of somebody who may look; *mark* goes with every form, and *said* is what was just done."""
    sections = (
        f'<p class="card" role="status">{words(said)}</p>' if said else "",
        f'<p class="warning">{words(NO_COLLUSION)}</p>' if view.no_collusion else "",
        _waiting(view, asker, mark),
        _promises(view),
        _shares(view, asker, mark),
        _spent(view),
        _keys(view),
        _recent(view),
        _notes(view),
        _log(view),
    )
    head = (
        '<a class="skip" href="#waits">Skip to what waits</a>'
        f'<div class="head"><span>signed in: {words(asker.name)} ({words(asker.role)})</span>'
        f"{_form('/sign-out', mark, _button('Sign out'))}</div>"
    )
    return document(TITLE, head + "".join(sections), style=STYLE, policy=POLICY)


def sign_in_page(*, said: str = "", no_collusion: bool = False) -> str:
    """The page of somebody who has to say who they are."""
    told = f'<p class="warning" role="alert">{words(said)}</p>' if said else ""
    mode = f'<p class="warning">{words(NO_COLLUSION)}</p>' if no_collusion else ""
    field = (
        '<label>Token<input name="token" type="password" required autocomplete="off" spellcheck="false" '
        'autofocus></label><button type="submit">Sign in</button>'
    )
    hint = "<p>A key of an owner or an auditor, as <code>jostle key make</code> shows it once, or a bearer token.</p>"
    form = f'<form method="post" action="/sign-in">{field}</form>'
    return document(TITLE, f"{mode}{told}{form}{hint}", style=STYLE, policy=POLICY)


def _form(action: str, mark: str, inside: str) -> str:
    hidden = f'<input type="hidden" name="mark" value="{words(mark)}">'
    return f'<form method="post" action="{action}">{hidden}{inside}</form>'


def _button(text: str, name: str = "", value: str = "") -> str:
    named = f' name="{name}" value="{value}"' if name else ""
    return f'<button type="submit"{named}>{words(text)}</button>'


def _hidden(name: str, value: object) -> str:
    return f'<input type="hidden" name="{name}" value="{words(str(value))}">'


def _field(label: str, name: str, *, required: bool = True, hint: str = "") -> str:
    needed = " required" if required else ""
    return f'<label>{words(label)}<input name="{name}" placeholder="{words(hint)}" maxlength="1000"{needed}></label>'


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> str:
    """A table whose rows are read one below the other where there is no room; its cells are markup already."""
    held = [*rows]
    if not held:
        return f"<p>{words(empty)}</p>"
    first = "".join(f'<th scope="col">{words(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-is="{words(name)}">{cell}</td>' for name, cell in zip(head, row, strict=True))
        + "</tr>"
        for row in held
    )
    return f'<div class="wide"><table class="rows"><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>'


def _amount(amount: Fraction) -> str:
    return words(show_amount(amount))


def _moment(moment: str) -> str:
    return f'<time datetime="{words(moment)}">{words(moment[:19].replace("T", " "))}</time>' if moment else ""


def _section(name: str, title: str, inside: str) -> str:
    return f'<section id="{name}"><h2>{words(title)}</h2>{inside}</section>'


def _waiting(view: OfficeView, asker: Asker, mark: str) -> str:
    left = {name: account.left for name, (account, _) in view.promises.items()}
    shares = {(each.table, each.holder): each.left for each in view.shares if not each.revoked}
    cards = []
    for request in (each for each in view.requests if each.state == "waiting"):
        wait = request.wait
        share = shares.get((wait.table, wait.name), Fraction(0))
        facts = (
            f"{_amount(wait.epsilon)} is its own epsilon; of {words(wait.name)}'s share {_amount(share)} is left, "
            f"of the promise {_amount(left.get(wait.table, Fraction(0)))}"
        )
        # Two forms: Enter in a field presses the first button of its form, whatever was meant.
        approve = _hidden("number", wait.number) + _button("Approve", "decision", "approve")
        refuse = _hidden("number", wait.number) + _field("Why not", "reason") + _button("Refuse", "decision", "refuse")
        form = _form("/decide", mark, approve) + _form("/decide", mark, refuse)
        cards.append(
            f'<article class="card"><h3>Request {wait.number}: {words(wait.name)} asks {words(wait.table)}</h3>'
            f"{pre(readable_request(wait.request))}<p>{facts}; since {_moment(request.moment)}</p>"
            f"{form if asker.may('approve') else ''}</article>"
        )
    said = (
        "What would be asked, as it will be read; none of it is the client's wording. A hand sets a budget aside for "
        "the Option that it names: whoever is handed it may ask anything within it."
    )
    note = f"<p>{words(said)}</p>" if cards else ""
    return _section("waits", "What waits for you", note + "".join(cards) or "<p>nothing waits</p>")


def _promises(view: OfficeView) -> str:
    parts = []
    for name, (account, free) in view.promises.items():
        live = [share for share in view.shares if share.table == name and not share.revoked and share.left]
        bar = [_stretch("other", account.spent, account.promise, "spent")]
        if not view.no_collusion:
            bar += [_stretch(f"s{n % 3}", share.left, account.promise, share.holder) for n, share in enumerate(live)]
        said = (
            f"epsilon {_amount(account.promise)} {words(account.about)} under {words(account.neighbours)}: "
            f"{_amount(account.spent)} spent, {_amount(account.left)} left"
            + ("" if view.no_collusion else f", {_amount(free)} of it in no share")
        )
        keys = "".join(
            f'<li><i class="key s{number % 3}"></i>{words(share.holder)}: {_amount(share.left)} left of a share</li>'
            for number, share in enumerate(live)
        )
        drawn = f'<div class="bar" role="img" aria-label="spent, and left in shares">{"".join(bar)}</div>'
        listed = f'<ul><li><i class="key other"></i>spent: {_amount(account.spent)}</li>{keys}</ul>'
        parts.append(f"<h3>{words(name)}</h3><p>{said}</p>{drawn}{'' if view.no_collusion else listed}")
    return _section("promises", "Promises", "".join(parts))


def _stretch(kind: str, part: Fraction, whole: Fraction, name: str) -> str:
    """A stretch of a bar; of nothing there is none."""
    width = f"flex:0 1 {float(part / whole):.4%}" if whole else ""
    return f'<span class="{kind}" style="{width}" title="{words(name)}"></span>' if part else ""


def _shares(view: OfficeView, asker: Asker, mark: str) -> str:
    may = asker.may("share")
    rows = []
    for share in view.shares:
        form = _form(
            "/revoke-share", mark, _hidden("number", share.number) + _field("Why", "reason") + _button("Revoke")
        )
        state = "revoked" if share.revoked else form if may else "live"
        cells = (share.number, words(share.holder), words(share.table), _amount(share.epsilon), _amount(share.spent))
        rows.append((*map(str, cells), _amount(share.left), state))
    head = ("share", "holder", "table", "epsilon", "spent", "left", "state")
    options = "".join(f"<option>{words(name)}</option>" for name in view.promises)
    new = _form(
        "/share",
        mark,
        f'<label>Table<select name="table">{options}</select></label>'
        + _field("For (the name of a key, or oidc:SUBJECT)", "holder")
        + _field("Epsilon", "epsilon", hint="1/4")
        + _button("Give a share"),
    )
    listed = _rows(head, rows, empty="nobody has a share")
    return _section("shares", "Shares", listed + (f"<h3>A new share</h3>{new}" if may else ""))


def _spent(view: OfficeView) -> str:
    """Who spent what, a line a day: the bar is as long as the share of the promise that went."""
    parts = []
    for table, (account, _) in view.promises.items():
        days = sorted({day for day, of, _ in view.by_day if of == table})[-MOST_DAYS:]
        names = sorted({name for day, of, name in view.by_day if of == table and day in days})
        rows = []
        for day in days:
            spent = [
                (n, name, view.by_day[day, table, name])
                for n, name in enumerate(names)
                if (day, table, name) in view.by_day
            ]
            bar = "".join(_stretch(f"s{number % 3}", amount, account.promise, name) for number, name, amount in spent)
            told = ", ".join(f"{words(name)} {_amount(amount)}" for _, name, amount in spent)
            drawn = f'<div class="bar" role="img" aria-label="{told}">{bar}</div>'
            rows.append((f"<time>{words(day)}</time>", told, f'<div style="min-width:10rem">{drawn}</div>'))
        listed = _rows(("day", "who spent", "of the promise"), rows, empty="nothing was spent")
        parts.append(f"<h3>{words(table)}</h3>{listed}")
    return _section("spent", "Who spent what", "".join(parts))


def _keys(view: OfficeView) -> str:
    rows = [
        (
            f"<code>{words(key.handle)}</code>",
            words(key.name),
            words(key.role),
            words(", ".join(key.scopes) or ", ".join(sorted(ROLES[key.role]))),
            _moment(key.until),
            _moment(used) or "never",
            "revoked" if revoked else "good",
        )
        for key, used, revoked in view.keys
    ]
    head = ("key", "name", "role", "may", "until", "last asked", "state")
    return _section("keys", "Keys", _rows(head, rows, empty="there are no keys"))


def _recent(view: OfficeView) -> str:
    rows = []
    for entry in reversed(view.recent[-MOST_RECENT:]):
        fact = entry.fact
        if isinstance(fact, Settled):
            told = (
                f"<details><summary>{words(_kinds(fact.request))}</summary><code>{words(fact.request)}</code></details>"
            )
            cells = words(fact.name), words(fact.table), told, _amount(fact.epsilon), _amount(fact.price)
            rows.append((_moment(entry.moment), *cells, words(fact.decision)))
    head = ("when", "who", "table", "asked", "epsilon", "price", "decision")
    return _section("recent", "What was asked last", _rows(head, rows, empty="nothing was asked"))


def _notes(view: OfficeView) -> str:
    """What clients told, the newest first: what one of them told in a row stands together."""
    told = [(entry, entry.fact) for entry in view.notes[-MOST_NOTES:] if isinstance(entry.fact, Noted)]
    cards = []
    for (name, table), group in groupby(told, key=lambda each: (each[1].name, each[1].table)):
        held = [*group]
        head = f"{words(name)} about {words(table)}, from {_moment(held[0][0].moment)}"
        lines = [line for _, note in held for line in note.lines]
        cards.append(
            f'<details class="said"><summary>In the words of {head}</summary>'
            f"<p>The client wrote this, and nobody checked it.</p>{_note(lines)}</details>"
        )
    return _section(
        "traces", "Choices, as clients tell them", "".join(reversed(cards)) or "<p>no client has told of any</p>"
    )


def _note(lines: Sequence[str]) -> str:
    """A client's lines: choices as they are drawn everywhere, answers in its words, and anything else as it stands."""
    chosen, others = [], []
    for line in lines:
        record = _record(line)
        if isinstance(record, Chosen):
            chosen.append(record)
        else:
            others.append(f"{record.site}: {record.answer}" if isinstance(record, Stated) else line)
    return choices(chosen) + (pre("\n".join(others)) if others else "")


def _record(line: str) -> Record | None:
    """The record of a trace that a line is, as the wire writes it; None where it is none."""
    try:
        facts = json_parsed(line)
        kind = facts["kind"].lower()  # type: ignore[index]  # or it fails
        return from_json(json.dumps({**facts, "version": VERSION, "kind": kind}))  # type: ignore[dict-item]
    except (DamageError, TableError, TypeError, KeyError, AttributeError):
        return None


def _kinds(request: str) -> str:
    """What a request is, in few words: the kinds of its parts, the outer one first."""
    kinds: list[str] = []

    def walk(part: object) -> None:
        if isinstance(part, dict):
            kinds.extend(str(kind) for kind in [part.get("kind")] if kind is not None)
            for name, value in part.items():
                if name != "kind":
                    walk(value)
        elif isinstance(part, list):
            for value in part[:MOST_KINDS]:
                walk(value)

    walk(msgspec.json.decode(request))
    return " ".join(kinds[:MOST_KINDS]) or "?"


def _log(view: OfficeView) -> str:
    said = (
        f"The audit log has {view.lines:,} lines; the last one's hash is <code>{words(view.head)}</code>. Whoever "
        "keeps the hash can tell later that no line before it was changed or left out: "
        "<code>jostle audit-log verify</code>."
    )
    return _section("log", "Audit log", f'<p>{said}</p><p><a href="/log" download="audit.jsonl">Export it</a></p>')


def readable_request(request: str) -> str:
    """A canonical request over several lines."""
    return msgspec.json.format(request.encode(), indent=2).decode()
