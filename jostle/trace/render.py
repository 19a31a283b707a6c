"""Traces for people: one table, a line per charge, release and refusal; and why each choice was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from io import StringIO
from typing import Any

from attrs import frozen
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from jostle.privacy.account import about
from jostle.privacy.amounts import show_amount
from jostle.trace.records import (
    Charged,
    Chosen,
    NamedPublic,
    Opened,
    ReadPublic,
    Record,
    Refused,
    Released,
    Stated,
    Trace,
    Trusted,
)
from jostle.visible import visible


@frozen
class Explanation:
    """One choice, with what would have been taken second."""

    choice: Chosen
    number: int
    """Which choice of the run it is, from 1."""

    @property
    def expected(self) -> tuple[tuple[str, float, float], ...]:
        """The alternatives with what was expected of them, the least loss first."""
        return tuple(sorted(self.choice.predicted, key=lambda each: each[1]))

    @property
    def most_taken(self) -> str | None:
        """The alternative that was taken, or taken at most places; None where there were no places."""
        return max(self.choice.taken, key=lambda each: each[1], default=(None, 0))[0]

    @property
    def second(self) -> str | None:
        """The alternative that would have been taken otherwise: the best expected of the others; None if none was."""
        return next((name for name, _, _ in self.expected if name != self.most_taken), None)

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        choice = self.choice
        return {
            "number": self.number,
            "site": choice.site,
            "label": choice.label,
            "places": choice.places,
            "seen": {name: least if least == most else [least, most] for name, least, most in choice.seen},
            "predicted": [{"name": name, "loss": loss, "spread": spread} for name, loss, spread in self.expected],
            "taken": dict(choice.taken),
            "why": choice.why,
            "usual": {name: [low, high] for name, low, high in choice.usual},
            "second": self.second,
        }

    def as_text(self) -> str:
        """This in sentences, a line each."""
        return "\n".join(map(visible, self._lines()))

    def _lines(self) -> Iterator[str]:
        choice = self.choice
        where = choice.label if choice.site == choice.label else f"{choice.label} at {choice.site}"
        yield f"{self.number}. {where}: {self._taken()}"
        if choice.why:
            yield f"   because {choice.why}"
        yield f"   it saw {self._seen()}"
        if self.expected:
            width = max(len(name) for name, _, _ in self.expected)
            yield "   it expected a loss of"
            yield from (f"     {name:<{width}}  {loss:.4g} ± {spread:.2g}" for name, loss, spread in self.expected)
        else:
            yield "   it expected nothing in particular of any alternative"
        if self.second is not None:
            yield f"   otherwise it would have taken {self.second}{self._gap()}"

    def _taken(self) -> str:
        choice = self.choice
        if choice.places == 1:
            return f"took {self.most_taken}"
        counted = ", ".join(f"{name} at {count:,}" for name, count in choice.taken) or "nothing"
        return f"at {choice.places:,} places took {counted}"

    def _seen(self) -> str:
        usual = {name: f" (usual is {low:.4g} to {high:.4g})" for name, low, high in self.choice.usual}
        said = [
            (f"{name} {least:.4g}" if least == most else f"{name} {least:.4g} to {most:.4g}") + usual.get(name, "")
            for name, least, most in self.choice.seen
        ]
        return ", ".join(said) or "nothing"

    def _gap(self) -> str:
        """By how much the second was expected to be worse, in words; nothing where it was not."""
        losses = {name: loss for name, loss, _ in self.choice.predicted}
        first, second = losses.get(self.most_taken or ""), losses.get(self.second or "")
        if first is None or second is None or first <= 0 or second < first:
            return ""
        return f", with a loss expected to be {second / first - 1:.1%} higher"


def explanations(records: Iterable[Record]) -> tuple[Explanation, ...]:
    """An explanation of every choice, in the order they were made."""
    chosen = (record for record in records if isinstance(record, Chosen))
    return tuple(Explanation(choice, number) for number, choice in enumerate(chosen, start=1))


MOST_ALTERNATIVES = 5
"""Alternatives shown for a choice, beside those taken; the JSON has all, and so has `jostle trace why`."""
TEXT_WIDTH = 110
MOST_SHOWN = 6
"""Released numbers shown on a line; the JSON has more."""


def render_trace(records: Sequence[Record]) -> RenderableType:
    """The records as something that rich prints; each opening of a table begins a part of its own."""
    parts: list[RenderableType] = []
    for opened, lines in runs(records):
        parts.extend([_head(opened), _lines(lines), Text("")])
    return Group(*parts[:-1]) if parts else Text("the trace has no records")


def runs(records: Iterable[Record]) -> list[tuple[Opened | None, list[Record]]]:
    """The records of each opening of a table; the first ones may lack theirs."""
    opened: list[tuple[Opened | None, list[Record]]] = []
    for record in records:
        if isinstance(record, Opened):
            opened.append((record, []))
        else:
            if not opened:
                opened.append((None, []))
            opened[-1][1].append(record)
    return opened


def _head(opened: Opened | None) -> Text:
    if opened is None:
        return Text("the beginning of this run is not in the trace", style="yellow")
    rows = "" if opened.public_rows is None else f", {opened.public_rows:,} rows (public)"
    count = len(opened.columns)
    table = f"table of {count} column{'s' * (count != 1)}{rows}"
    if not opened.private:
        limit = "no bound" if opened.promise is None else f"at most ε = {show_amount(opened.promise)}"
        head = f"NOT PRIVATE: a rehearsal {whom(opened)} under {opened.neighbours}, {limit}, on a public {table}"
        return Text(visible(head), style="bold red")
    # Of a vault's promise, this may be a part, or what was left.
    limit = "no bound" if opened.promise is None else f"at most ε = {show_amount(opened.promise)}"
    kept = "" if opened.vault is None else f", kept in {opened.vault}"
    head = f"a promise {whom(opened)}: {limit} under {opened.neighbours}, fixed before the run{kept}; {table}"
    return Text(visible(head), style="bold")


def whom(opened: Opened) -> str:
    """Whom a promise is about, in words."""
    return about(None if opened.rows_per_person is None else (opened.rows_per_person,))


def _lines(records: Iterable[Record]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("site", overflow="fold")
    table.add_column("what happened", overflow="fold")
    table.add_column("ε", justify="right")
    table.add_column("left", justify="right")
    for record in readable(records):
        table.add_row(*_row(record))
    return table


def readable(records: Iterable[Record]) -> list[Record]:
    """The records for people: numbers in steps of a computation are left out where their answer is stated."""
    kept: list[Record] = []
    for record in records:
        if isinstance(record, Stated) and record.whole:
            here = 0
            while here < len(kept) and _is_of(kept[-1 - here], record.site):
                here += 1
            kept[len(kept) - here :] = [entry for entry in kept[len(kept) - here :] if not isinstance(entry, Released)]
        kept.append(record)
    return kept


def _is_of(record: Record, site: str) -> bool:
    at = record.site if isinstance(record, Charged | Released | Refused) else None
    return at is not None and (at == site or at.startswith(f"{site}/"))


def text_of(records: Sequence[Record]) -> str:
    """The records as text, as they are printed."""
    screen = Console(file=StringIO(), width=TEXT_WIDTH, color_system=None)
    screen.print(render_trace(records))
    return "\n".join(line.rstrip() for line in screen.file.getvalue().splitlines())  # type: ignore[attr-defined]  # it is the file just made


Trace.text = staticmethod(text_of)


def _row(record: Record) -> tuple[Text, ...]:
    # As Text: a name in square brackets would be taken for a style.
    if isinstance(record, Chosen):
        return (Text(visible(record.site)), Text("\n".join(map(visible, _chosen(record)))), Text(""), Text(""))
    style = "red" if isinstance(record, Refused) else ""
    site, happened, *amounts = (visible(cell) for cell in cells_of(record))
    return (Text(site), Text(happened, style=style), *map(Text, amounts))


def cells_of(record: Record) -> tuple[str, str, str, str]:  # noqa: PLR0911 - one per kind
    """A record in four texts: where, what happened, what was spent, what is left. They may hold anything."""
    if isinstance(record, Charged):
        return (record.site, f"charged: {record.mechanism}", show_amount(record.epsilon), _left(record.left))
    if isinstance(record, Released):
        noise = "" if record.scale is None else f", noise of scale {_in_units(record.scale, record)}"
        return (record.site, f"released: {_values(record)}{noise}", "", "")
    if isinstance(record, Stated):
        return (record.site, f"answer: {record.answer}", "", "")
    if isinstance(record, Trusted):
        said = f"code that did not come with Jostle: {record.file}, digest {record.digest or 'unknown'}"
        return (record.option, said, "", "")
    if isinstance(record, NamedPublic):
        return (", ".join(record.paths), f"may be read as public: {_files(record)}", "", "")
    if isinstance(record, ReadPublic):
        return (record.path, f"read as public: {_files(record)}", "", "")
    if isinstance(record, Refused):
        return (record.site, f"refused: {record.reason}", "", "")
    if isinstance(record, Chosen):
        taken = ", ".join(name if record.places == 1 else f"{name} at {count:,}" for name, count in record.taken)
        return (record.site, f"took {taken or 'nothing'}", "", "")
    raise TypeError(type(record).__name__)


def _files(record: NamedPublic | ReadPublic) -> str:
    noun = "database" if record.databases == 1 else "databases"
    return f"{record.databases:,} {noun}, of digest {record.digest}"


def _chosen(record: Chosen) -> Iterator[str]:
    """Yield the lines of a choice: what it saw, what it expected of each alternative, and what it took."""
    taken = dict(record.taken)
    seen = ", ".join(f"{name} {_span(least, most)}" for name, least, most in record.seen)
    yield (f"saw {seen}" if seen else "saw nothing") + ("" if record.places == 1 else f", at {record.places:,} places")
    predicted = {name: (loss, spread) for name, loss, spread in record.predicted}
    named = [*predicted, *(name for name in taken if name not in predicted)]
    shown = [name for index, name in enumerate(named) if index < MOST_ALTERNATIVES or name in taken]
    width = max(map(len, shown), default=0)
    for name in shown:
        loss = f"  {predicted[name][0]:.4f} ± {predicted[name][1]:.4f}" if name in predicted else ""
        arrow = "" if name not in taken else "  <- taken" if record.places == 1 else f"  <- taken at {taken[name]:,}"
        yield f"  {name:<{width}}{loss}{arrow}".rstrip()
    if len(named) > len(shown):
        yield f"  ... and {len(named) - len(shown)} more, expected to be worse"
    if record.why:
        yield f"  {record.why}"


def _span(least: float, most: float) -> str:
    return f"{least:g}" if least == most else f"{least:g} to {most:g}"


def _left(left: Fraction | None) -> str:
    return "" if left is None else show_amount(left)


def _in_units(number: Fraction, record: Released) -> str:
    """A number of a release: exactly where it counts something, else to six digits."""
    return show_amount(number) if record.unit is None else f"{float(number * record.unit):.6g}"


def _values(record: Released) -> str:
    shown = ", ".join(_in_units(Fraction(value), record) for value in record.values[:MOST_SHOWN])
    if record.size <= min(MOST_SHOWN, len(record.values)):
        return shown or "nothing"
    return f"{shown}, ... ({record.size:,} numbers)"
