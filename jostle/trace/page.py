"""A trace as a web page that needs nothing beside itself: promise and ledger, choices with their reasons, the answer.

Everything on it is in the trace or was released; all texts go through `jostle.markup`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction

from attrs import frozen

from jostle.markup import document, words
from jostle.privacy.amounts import show_amount
from jostle.trace.records import Charged, Chosen, Opened, Record, Trace
from jostle.trace.render import Explanation, cells_of, explanations, readable, runs, whom

__all__ = ["STYLE", "Segment", "Trace", "choices", "part_of_page", "segments", "whole_page"]

STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;max-width:60rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
.jostle h1{font-size:1.5rem;line-height:1.2}.jostle h2{font-size:1.15rem;margin-top:2rem}
.jostle .warning{border:2px solid #b3261e;padding:.5rem .75rem;font-weight:600}
.jostle .bar{display:flex;height:1.75rem;border:1px solid #777;overflow:hidden;margin-bottom:.75rem}
.jostle .bar span{min-width:2px;box-shadow:inset -1px 0 #fff}
.jostle .s0{background:#31567b}.jostle .s1{background:#5b84ab}.jostle .s2{background:#8fb0cd}
.jostle .other{background:#b08a3c}
.jostle .left{background:transparent;box-shadow:none}
.jostle .day{color:#777}.jostle summary{cursor:pointer}
.jostle .key{display:inline-block;width:.75rem;height:.75rem;border:1px solid #777;margin-right:.5rem}
.jostle .wide{overflow-x:auto}
.jostle table{border-collapse:collapse;font-size:.875rem}
.jostle th,.jostle td{overflow-wrap:normal;text-align:left;vertical-align:top;padding:.2rem .75rem .2rem 0}
.jostle td{border-top:1px solid #8884}.jostle pre{white-space:pre-wrap;font-size:.8125rem}
.jostle svg{width:100%;height:auto;max-width:45rem;overflow:visible}
.jostle .loss i{display:inline-block;height:.7rem;background:#5b84ab}
.jostle .loss span{display:inline-block;min-width:12rem;white-space:nowrap}
.jostle .taken{font-weight:700}.jostle svg.among{width:15rem}.jostle h4{margin:.75rem 0 0}
@media(max-width:40rem){.jostle th,.jostle td{padding-right:.4rem}
.jostle svg:not(.among,.square) text{font-size:20px}.jostle .loss i{display:block}
.jostle .loss td:first-child{overflow-wrap:anywhere}
.jostle .seen thead{display:none}.jostle .seen tr,.jostle .seen td:last-child{display:block}
.jostle .seen td:last-child{border:0}}
@media(prefers-color-scheme:dark){.jostle [fill="#31567b"]{fill:#7fb0dc}.jostle [stroke="#31567b"]{stroke:#7fb0dc}}
"""
THIRD = 80
"""Of a line's width."""
STEPS_WIDE, STEPS_HIGH, STEPS_EDGE = 640, 120, 24
MOST_STEPS = 200
"""Charges that are drawn as steps."""
MOST_LINES = 400
"""Of a trace, on a page: the file has all."""


@frozen
class Segment:
    """A part of a promise: what spent it, and how much."""

    site: str
    epsilon: Fraction
    kind: str
    """charge, other (earlier runs, and parts, which are charged for together) or left."""


def segments(opened: Opened | None, records: Iterable[Record]) -> tuple[Segment, ...]:
    """The spendings of a promise, in order, and what is left: they add up to the promise, as it was raised meanwhile.

    What was spent between two charges without one of its own is that of parts, charged for together, or of other runs.
    """
    if opened is None or opened.promise is None:
        return ()
    stretches: list[Segment] = []
    promise, spent, allotted, parts = opened.promise, Fraction(0), set[str](), False
    for record in records:
        if not isinstance(record, Charged) or any(record.site.startswith(f"{site}/") for site in allotted):
            continue
        if record.left is None or record.spent + record.left < promise:
            parts = True
            continue
        promise = record.spent + record.left  # a part has less
        if record.mechanism == "Allotment":
            allotted.add(record.site)
        between = record.spent - record.epsilon - spent
        if between > 0:
            stretches.append(Segment("parts, together" if parts else "before this run, or beside it", between, "other"))
        stretches.append(Segment(record.site, record.epsilon, "charge"))
        spent, parts = record.spent, False
    left = "left, but for what parts have spent since" if parts else "left"
    return (*stretches, Segment(left, promise - spent, "left"))


def whole_page(records: Sequence[Record], *, title: str, answer: str = "", day: date | None = None) -> str:
    """A page about a trace: of itself, without scripts, and with nothing to be fetched.

    *answer* is what was answered, as markup that `jostle.markup` made. *day* is when the page is written, today if it
    is left out: when something was asked, a trace does not know.
    """
    day = day or datetime.now(tz=UTC).date()
    written = f'<p class="day">written on <time>{day.isoformat()}</time></p>'
    answered = f'<section id="answer"><h2>Answer</h2><div class="wide">{answer}</div></section>' if answer else ""
    return document(title, f"{written}{answered}{_parts(records)}", style=STYLE)


def part_of_page(records: Sequence[Record]) -> str:
    """The part of a page that a notebook shows of a trace."""
    return f'<div class="jostle"><style>{STYLE.replace("body{", ".jostle{")}</style>{_parts(records)}</div>'


Trace.markup = staticmethod(part_of_page)


def _parts(records: Sequence[Record]) -> str:
    shown = []
    for opened, run in runs(records):
        shown.append(_ledger(opened, run))
        if chosen := choices(run):
            shown.append(f'<section class="choices"><h2>Choices</h2>{chosen}</section>')
        shown.append(_lines(run))
    return "".join(shown) or "<p>the trace has no records</p>"


def choices(run: Sequence[Record]) -> str:
    """What was chosen in a run: what was seen, what was expected of each alternative, and why one was taken."""
    return "".join(map(_choice, explanations(run)))


def _ledger(opened: Opened | None, run: Sequence[Record]) -> str:
    if opened is None:
        return '<section class="ledger"><h2>Promise</h2><p>The beginning of this run is not in the trace.</p></section>'
    count = len(opened.columns)
    table = f"a table of {count} column{'s' * (count != 1)}"
    amount = "no bound" if opened.promise is None else f"ε = {show_amount(opened.promise)}"
    kept = "" if opened.vault is None else f", kept in {opened.vault}"
    stretches = segments(opened, run)
    promise = sum((stretch.epsilon for stretch in stretches), Fraction(0))
    raised = f" and raised to {show_amount(promise)} since" if opened.promise and promise > opened.promise else ""
    head = f"{amount} {whom(opened)} under {opened.neighbours}, fixed before the run{raised}{kept}; {table}"
    warning = "" if opened.private else '<p class="warning">NOT PRIVATE: a rehearsal on a public table</p>'
    bar, rows, shade = [], [], 0
    for stretch in stretches:
        share = float(stretch.epsilon / promise) if promise else 0.0
        kind = f"s{shade % 3}" if stretch.kind == "charge" else stretch.kind
        shade += stretch.kind == "charge"
        if stretch.epsilon:
            bar.append(f'<span class="{kind}" style="flex:0 1 {share:.4%}" title="{words(stretch.site)}"></span>')
        key = f'<i class="key {kind}"></i>{words(stretch.site)}'
        rows.append(f"<tr><td>{key}</td><td>{words(show_amount(stretch.epsilon))}</td></tr>")
    drawn = (
        f'<div class="bar" role="img" aria-label="what the promise was spent on">{"".join(bar)}</div>' if bar else ""
    )
    columns = "<thead><tr><th>spent on</th><th>ε</th></tr></thead>"
    listed = f'<div class="wide"><table>{columns}<tbody>{"".join(rows)}</tbody></table></div>' if rows else ""
    shown = f"<p>{words(head)}</p>{drawn}{_over(stretches)}{listed}"
    return f'<section class="ledger"><h2>Promise</h2>{warning}{shown}</section>'


def _over(stretches: Sequence[Segment]) -> str:
    """What was left of the promise after each charge, as steps down; of one charge, the bar says as much."""
    spent = [stretch.epsilon for stretch in stretches if stretch.kind != "left" and stretch.epsilon]
    promise = sum((stretch.epsilon for stretch in stretches), Fraction(0))
    if len(spent) < 2 or len(spent) > MOST_STEPS or not promise:
        return ""
    wide, left, points = STEPS_WIDE / len(spent), promise, [f"0,{STEPS_EDGE}"]
    for number, epsilon in enumerate(spent):
        points.append(f"{number * wide:.2f},{_height(left / promise)}")
        left -= epsilon
        points.append(f"{number * wide:.2f},{_height(left / promise)}")
    points.append(f"{STEPS_WIDE},{_height(left / promise)}")
    text = 'font-size="13" fill="currentColor" font-family="system-ui,sans-serif"'
    ground = STEPS_EDGE + STEPS_HIGH
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {STEPS_WIDE} {ground + STEPS_EDGE}" role="img" '
        f'aria-label="what was left after each of {len(spent)} charges">'
        f'<line x1="0" y1="{ground}" x2="{STEPS_WIDE}" y2="{ground}" stroke="currentColor" stroke-opacity="0.3"/>'
        f'<polyline points="{" ".join(points)}" fill="none" stroke="#31567b" stroke-width="2"/>'
        f'<text x="0" y="16" {text}>{words(show_amount(promise))} promised</text>'
        f'<text x="{STEPS_WIDE}" y="{ground + STEPS_EDGE - 6}" text-anchor="end" {text}>'
        f"{words(show_amount(left))} left after {len(spent)} charges</text></svg>"
    )


def _height(share: Fraction) -> str:
    return f"{STEPS_EDGE + (1 - float(share)) * STEPS_HIGH:.2f}"


def _choice(explanation: Explanation) -> str:
    choice: Chosen = explanation.choice
    taken = dict(choice.taken)
    at = "" if choice.places == 1 else f", at {choice.places:,} places"
    named = choice.label if choice.site == choice.label else f"{choice.label} at {choice.site}"
    parts = [f'<article class="choice"><h3>{words(f"{explanation.number}. {named}{at}")}</h3>']
    parts.append(f"<p>took {words(', '.join(taken) or 'nothing')}{words(f': {choice.why}' if choice.why else '')}</p>")
    if explanation.expected:
        parts.append(f'<div class="wide">{_losses(explanation, taken)}</div>')
    if choice.seen:
        parts.append(f'<h4>What it saw</h4><div class="wide">{_seen(choice)}</div>')
    return "".join(parts) + "</article>"


def _seen(choice: Chosen) -> str:
    """A row for each fact: as bought or public, and where that lies among the databases learned from."""
    usual = {name: (low, high) for name, low, high in choice.usual}
    rows = []
    for name, least, most in choice.seen:
        value = f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
        drawn = _among(name, (least + most) / 2, *usual[name]) if name in usual else ""
        rows.append(f"<tr><td>{words(name)}</td><td>{value}</td><td>{drawn}</td></tr>")
    head = "<th>fact</th><th>value</th>" + ("<th>among the databases it learned from</th>" if usual else "<th></th>")
    note = "<p>Marked is this table; a third of those databases lies in each part.</p>" if usual else ""
    return f'<table class="seen"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>{note}'


def _among(name: str, value: float, low: float, high: float) -> str:
    """A line in three parts of a third of the databases each, with a mark where a number lies: never off the line."""
    width = high - low or abs(high) or 1.0
    if value == low == high:
        along = 1.5
    elif value < low:
        along = math.exp((value - low) / width)
    elif value > high:
        along = 3 - math.exp((high - value) / width)
    else:
        along = 1 + (value - low) / width
    text = 'font-size="11" fill="currentColor" text-anchor="middle" font-family="system-ui,sans-serif"'
    zones = "".join(
        f'<rect x="{THIRD * number}" y="6" width="{THIRD - 2}" height="8" fill="{fill}"/>'
        for number, fill in enumerate(("#8fb0cd", "#cfdeeb", "#8fb0cd"))
    )
    return (
        f'<svg class="among" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * THIRD} 30" role="img" '
        f'aria-label="{words(f"{name}: {value:.4g}; the middle third is {low:.4g} to {high:.4g}")}">{zones}'
        f'<circle cx="{along * THIRD:.1f}" cy="10" r="6" fill="#b3261e"/>'
        f'<text x="{THIRD}" y="28" {text}>{low:.4g}</text><text x="{2 * THIRD}" y="28" {text}>{high:.4g}</text></svg>'
    )


def _losses(explanation: Explanation, taken: dict[str, int]) -> str:
    """A bar for each alternative, as long as the loss that was expected of it."""
    most = max((abs(loss) for _, loss, _ in explanation.expected), default=0.0)
    rows = []
    for name, loss, spread in explanation.expected:
        length = 0.0 if most <= 0 else max(0.0, loss) / most
        marked = ' class="taken"' if name in taken else ""
        arrow = " (taken)" if name in taken else ""
        rows.append(
            f"<tr{marked}><td>{words(name)}{arrow}</td><td><span>{loss:.4g} ± {spread:.2g}</span>"
            f'<i style="width:{8 * length:.3f}rem"></i></td></tr>'
        )
    head = "<thead><tr><th>alternative</th><th>expected loss</th></tr></thead>"
    return f'<table class="loss">{head}<tbody>{"".join(rows)}</tbody></table>'


def _lines(run: Sequence[Record]) -> str:
    rows, run = [], readable(run)
    for site, *rest_of_row in map(cells_of, run[:MOST_LINES]):
        # A path may go on in the next line after each of its steps.
        first = words(site).replace("/", "/<wbr>")
        rows.append(f"<tr><td>{first}</td>{''.join(f'<td>{words(cell)}</td>' for cell in rest_of_row)}</tr>")
    more = len(run) - MOST_LINES
    rest = f"<p>and {more:,} more records, which the trace file has</p>" if more > 0 else ""
    head = "<thead><tr><th>site</th><th>what happened</th><th>ε</th><th>left</th></tr></thead>"
    listed = f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"
    return f'<section class="trace"><h2>All that happened</h2><div class="wide">{listed}</div>{rest}</section>'
