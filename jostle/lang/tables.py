"""The LALR tables of the grammar, and the loop that runs them.

Lark makes the tables from `jostle.lark`, which takes longer than checking a program. So they are kept in `tables.json`,
marked with a digest of the grammar: if the grammar is another one, they are made anew. `python -m jostle.lang.tables`
writes the file.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from jostle.lang.tokens import Token

__all__ = ["Reading", "Rule", "Tables", "load", "make"]

GRAMMAR, KEPT = Path(__file__).with_name("jostle.lark"), Path(__file__).with_name("tables.json")
END = "$END"


@frozen
class Rule:
    """A rule of the grammar, as the loop needs it."""

    origin: str
    """What it makes a piece of."""
    builds: str
    """The builder's method."""
    length: int
    """How many pieces it takes."""
    passes_single: bool
    """Whether a single piece is handed on as it is."""


@frozen
class Tables:
    """What to do in each state, at each terminal."""

    states: tuple[dict[str, int], ...]
    """The next state, or minus one minus the rule to apply."""
    rules: tuple[Rule, ...]
    end: int
    """The state after a whole program."""


@define
class Reading:
    """One reading of tokens: an LALR parser, fed from outside, so that it can be taken back and fed otherwise."""

    tables: Tables
    """What to do."""
    build: Callable[[str, list[Any]], Any]
    """Makes a piece of pieces, by the name of a rule."""
    states: list[int] = field(factory=lambda: [0])
    values: list[Any] = field(factory=list)
    height: int = 0
    """How many pieces lay there before the last token."""

    def feed(self, token: Token) -> frozenset[str] | None:
        """Take a token and return nothing; or, if it cannot stand here, return what could, and leave it out."""
        before = self.states.copy()
        while True:
            action = self.tables.states[self.states[-1]].get(token.kind)
            if action is None:
                self.height = len(self.values)
                return _expected(self.tables, before)
            if action >= 0:
                self.height = len(self.values)
                self.states.append(action)
                self.values.append(token)
                return None
            self._reduce(self.tables.rules[-1 - action])

    def take_back(self, height: int) -> None:
        """Forget everything from some height on: what was fed since it was the height."""
        del self.values[height:], self.states[height + 1 :]

    def finish(self) -> Any:
        """The meaning of all tokens, or None if more would have to follow."""
        while self.states[-1] != self.tables.end:
            action = self.tables.states[self.states[-1]].get(END)
            if action is None or action >= 0:
                return None
            self._reduce(self.tables.rules[-1 - action])
        return self.values[-1]

    def _reduce(self, rule: Rule) -> None:
        states, values = self.states, self.values
        pieces: list[Any] = []
        if rule.length:
            first = values[-rule.length]
            if isinstance(first, _Several):  # a list that grows at its end: not copied, however long it gets
                pieces = first.pieces
            else:
                pieces.append(first)
            for value in values[len(values) - rule.length + 1 :]:
                if isinstance(value, _Several):
                    pieces += value.pieces
                else:
                    pieces.append(value)
            del states[-rule.length :], values[-rule.length :]
        states.append(self.tables.states[states[-1]][rule.origin])
        if rule.origin.startswith("_"):
            values.append(_Several(pieces))
        elif rule.passes_single and len(pieces) == 1:
            values.append(pieces[0])
        else:
            values.append(self.build(rule.builds, pieces))


@frozen(eq=False)
class _Several:
    pieces: list[Any]


def _expected(tables: Tables, states: list[int]) -> frozenset[str]:
    """The terminals that could stand here, not counting those that some rule would turn down later."""
    kinds = (kind for kind in tables.states[states[-1]] if kind.isupper())
    return frozenset(kind for kind in kinds if _would_take(tables, list(states), kind))


def _would_take(tables: Tables, states: list[int], kind: str) -> bool:
    """Whether a terminal can follow, having applied the rules that come before it."""
    while True:
        if kind == END and states[-1] == tables.end:
            return True
        action = tables.states[states[-1]].get(kind)
        if action is None or action >= 0:
            return action is not None
        rule = tables.rules[-1 - action]
        if rule.length:
            del states[-rule.length :]
        states.append(tables.states[states[-1]][rule.origin])


@cache
def load() -> Tables:
    """The tables of the grammar."""
    try:
        data = json.loads(KEPT.read_bytes())
    except (OSError, ValueError):
        data = {}
    if data.get("grammar") != _digest():
        data = make()
    rules = tuple(Rule(*rule) for rule in data["rules"])
    return Tables(tuple(data["states"]), rules, data["end"])


def _digest() -> str:
    return hashlib.sha256(GRAMMAR.read_bytes()).hexdigest()


def make() -> dict[str, Any]:
    """The tables that Lark makes of the grammar, as plain data, with states numbered as they are met."""
    from lark import Lark  # noqa: PLC0415 - only if the grammar changed
    from lark.parsers.lalr_analysis import Shift  # noqa: PLC0415

    parser: Any = Lark(
        GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", keep_all_tokens=True, maybe_placeholders=False
    ).parser
    table = parser.parser._parse_table  # noqa: SLF001 - Lark offers no other way to them
    numbers: dict[Any, int] = {}
    rules: dict[Any, int] = {}
    states: list[dict[str, int]] = []
    waiting = deque([table.start_states["start"]])
    numbers[waiting[0]] = 0
    while waiting:
        row: dict[str, int] = {}
        for kind, (action, target) in sorted(table.states[waiting.popleft()].items()):
            if action is Shift:
                if target not in numbers:
                    numbers[target] = len(numbers)
                    waiting.append(target)
                row[kind] = numbers[target]
            else:
                row[kind] = -1 - rules.setdefault(target, len(rules))
        states.append(row)
    return {
        "grammar": _digest(),
        "end": numbers[table.end_states["start"]],
        "rules": [
            [
                rule.origin.name,
                rule.alias or str(rule.options.template_source or rule.origin.name),
                len(rule.expansion),
                bool(rule.options.expand1 and not rule.alias),
            ]
            for rule in rules
        ],
        "states": states,
    }


def _lines(data: dict[str, Any]) -> Iterable[str]:
    """The file's lines: one per rule and per state, so that differences can be read."""
    head = {"grammar": data["grammar"], "end": data["end"]}
    yield json.dumps(head)[:-1] + ","
    for name, close in (("rules", "],"), ("states", "]}")):
        yield f'"{name}": ['
        yield ",\n".join(json.dumps(each, separators=(",", ":")) for each in data[name])
        yield close


if __name__ == "__main__":
    KEPT.write_text("\n".join(_lines(make())) + "\n", "utf-8")
