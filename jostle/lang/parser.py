"""From a text to a tree: the one way in.

A line that cannot be read is reported and becomes a `Broken` node, and reading goes on, so that one run finds the
mistakes of all lines.

The LALR tables are made of `jostle.lark` by Lark, which takes longer than checking a program. So they are kept in
`tables.json`, marked with a digest of the grammar: if the grammar is another one, they are made anew.
`python -m jostle.lang.parser` writes the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from attrs import define, evolve, field, fields, frozen

from jostle.errors import NOWHERE, Diagnostic, JostleError, Label, ProgramError, Source, Span
from jostle.files.kinds import FileKind
from jostle.lang import nodes
from jostle.lang.lexer import MOST_MISTAKES, Line, Text, Token
from jostle.lang.messages import message
from jostle.lang.mistakes import explain_rejection

ENDING = ".jst"
"""Of programs. What comes through a pipe has a name without one."""
PROGRAM = FileKind("program", JostleError, "save it as UTF-8 in your editor", most_bytes=1 << 24)
GRAMMAR, KEPT = Path(__file__).with_name("jostle.lark"), Path(__file__).with_name("tables.json")
END = "$END"
MOST_DEPTH = 100
"""Nodes in nodes: so deep that nobody writes it, and flat enough for passes that call themselves."""


@frozen
class Parsed:
    """What became of a text: a tree, and the mistakes that were found on the way."""

    source: Source
    """The text."""
    module: nodes.Module
    """The tree; with `Broken` statements in it where a line could not be read."""
    diagnostics: tuple[Diagnostic, ...]
    """The mistakes, in source order; empty if the tree is whole."""
    deep: bool = False
    """Whether the tree goes too deep for functions that call themselves."""


def read_source(path: Path | str) -> Source:
    """The text of a program file; a file of another kind is not read: messages quote lines of what is."""
    if Path(path).suffix not in {ENDING, ""}:
        raise JostleError(f"{path} is no program: its name does not end in {ENDING}", fix=f"name a {ENDING} file")
    return Source(str(path), PROGRAM.at(path).text())


def typed_source(stream: BinaryIO) -> Source:
    """The text of a program that is typed in, or comes through a pipe."""
    return Source("<stdin>", PROGRAM.at("<stdin>").decoded(stream.read(PROGRAM.most_bytes)))


def parse(source: Source) -> nodes.Module:
    """The tree of a text, or raise `ProgramError` with all syntax mistakes in it."""
    parsed = parse_text(source)
    if parsed.diagnostics:
        raise ProgramError(source, parsed.diagnostics)
    return parsed.module


def parse_expression(text: str) -> nodes.ExpressionNode:
    """The tree of a single expression, for tests and the Python front door."""
    body = parse(Source("expression", text)).body
    if len(body) != 1 or not isinstance(body[0], nodes.ExpressionStatement):
        raise JostleError(f"{text!r} is not one expression", fix="write one expression on one line")
    return body[0].value


def parse_text(source: Source) -> Parsed:
    """The tree of a text, and the syntax mistakes in it."""
    text = Text(source)
    builder = Builder(source, {line.start.line: line for line in text.lines})
    statements = Reading(text, builder).read()
    span = text.lines[0].start.to(text.lines[-1].tokens[-1].span) if text.lines else NOWHERE
    module = nodes.Module(statements, trivia=nodes.Trivia(above=tuple(text.lost)), span=span)
    deep = list(_too_deep(module))
    found = {*text.mistakes, *builder.mistakes, *deep}
    ordered = sorted(found, key=lambda each: (each.span, each.code, each.title))[:MOST_MISTAKES]
    return Parsed(source, module, tuple(ordered), deep=bool(deep))


def _too_deep(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report each statement in which something is nested too deep."""
    for statement in module.body:
        waiting: list[tuple[nodes.Node, int]] = [(statement, 1)]
        while waiting:
            node, depth = waiting.pop()
            if depth > MOST_DEPTH:
                yield message("J008 nodes", node.span, most=MOST_DEPTH)
                break
            waiting.extend((child, depth + 1) for child in nodes.children(node))


# Tables


@frozen
class Rule:
    """A rule of the grammar, as the loop needs it."""

    origin: str
    """What it makes a piece of."""
    builds: str
    """The node that it builds."""
    length: int
    """How many pieces it takes."""
    kept: tuple[int, ...]
    """Which of them count: not those that are the same in every text."""
    passes_single: bool
    """Whether a single piece is handed on as it is."""


@frozen
class Tables:
    """What to do in each state."""

    actions: tuple[dict[str, int], ...]
    """At each terminal: the next state, or minus one minus the rule to apply."""
    gotos: tuple[dict[str, int], ...]
    """After each rule: the next state."""
    rules: tuple[Rule, ...]
    end: int
    """The state after a whole program."""


@cache
def tables() -> Tables:
    """The tables of the grammar."""
    try:
        data = json.loads(KEPT.read_bytes())
    except (OSError, ValueError):
        data = {}
    if data.get("grammar") != hashlib.sha256(GRAMMAR.read_bytes()).hexdigest():
        data = made()
    rules = tuple(
        Rule(origin, builds, length, tuple(kept), single) for origin, builds, length, kept, single in data["rules"]
    )
    return Tables(tuple(data["actions"]), tuple(data["gotos"]), rules, data["end"])


def made() -> dict[str, Any]:
    """The tables that Lark makes of the grammar, as plain data, with states numbered as they are met."""
    from lark import Lark  # noqa: PLC0415 - only if the grammar changed
    from lark.parsers.lalr_analysis import Shift  # noqa: PLC0415

    lark: Any = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False)
    table = lark.parser.parser._parse_table  # noqa: SLF001 - Lark offers no other way to them
    written = {terminal.name: terminal.pattern.value for terminal in lark.terminals}
    texts = ("STRING", "TEXT_START", "TEXT_MIDDLE", "TEXT_END")
    terminals = {END, *written, *lark.ignore_tokens, "NAME", "NUMBER", "PERCENT", *texts, "BROKEN"}
    numbers: dict[Any, int] = {}
    rules: dict[Any, int] = {}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    waiting = deque([table.start_states["start"]])
    numbers[waiting[0]] = 0
    while waiting:
        actions.append({})
        gotos.append({})
        for kind, (action, target) in sorted(table.states[waiting.popleft()].items()):
            is_terminal = kind in terminals or kind in {"_NEWLINE", "_INDENT", "_DEDENT"}
            if action is not Shift:
                number = -1 - rules.setdefault(target, len(rules))
            elif target in numbers:
                number = numbers[target]
            else:
                number = numbers[target] = len(numbers)
                waiting.append(target)
            (actions if is_terminal else gotos)[-1][written.get(kind, kind)] = number
    return {
        "grammar": hashlib.sha256(GRAMMAR.read_bytes()).hexdigest(),
        "end": numbers[table.end_states["start"]],
        "rules": [
            [
                rule.origin.name,
                rule.alias or str(rule.options.template_source or rule.origin.name),
                len(rule.expansion),
                [
                    index
                    for index, symbol in enumerate(rule.expansion)
                    if rule.options.keep_all_tokens or not (symbol.is_term and symbol.filter_out)
                ],
                bool(rule.options.expand1 and not rule.alias),
            ]
            for rule in rules
        ],
        "actions": actions,
        "gotos": gotos,
    }


def _rows(data: dict[str, Any]) -> Iterator[str]:
    """The file's lines: one per rule and per state, so that differences can be read."""
    yield json.dumps({"grammar": data["grammar"], "end": data["end"]})[:-1] + ","
    for name, close in (("rules", "],"), ("actions", "],"), ("gotos", "]}")):
        yield f'"{name}": ['
        yield ",\n".join(json.dumps(each, separators=(",", ":")) for each in data[name])
        yield close


# Reading

Piece = Any


@frozen(eq=False)
class _Several:
    pieces: list[Piece]


@define
class Reading:
    """One reading of a text by the tables: an LALR parser that can be taken back to the start of a line."""

    text: Text
    builder: Builder
    states: list[int] = field(factory=lambda: [0])
    pieces: list[Piece] = field(factory=list)
    spans: list[Span | None] = field(factory=list)
    """Where each piece stands; None for one without a text."""
    height: int = 0
    """How many pieces lay there before the last token."""
    tables: Tables = field(factory=tables)

    def read(self) -> tuple[nodes.Statement, ...]:
        """The statements of the text; a line that does not fit is reported, and something else is read in its place."""
        for line in self.text.lines:
            self._read_line(line)
        for token in self.text.ends() if self.text.lines else ():
            self.feed(token)
        while self.states[-1] != self.tables.end:
            action = self.tables.actions[self.states[-1]].get(END, 0)
            if action >= 0:
                if not self.builder.mistakes and not self.text.mistakes:
                    span = self.text.lines[0].end if self.text.lines else NOWHERE
                    self.builder.mistakes.append(message("J901 text", span))
                return ()
            self._reduce(self.tables.rules[-1 - action])
        return tuple(self.pieces[-1])

    def _read_line(self, line: Line) -> None:
        for token in line.before:
            self.feed(token)
        mistakes = self.builder.mistakes
        known, start = len(mistakes), None
        for index, token in enumerate(line.instead if line.broken else (*line.tokens, *line.after)):
            expected = self.feed(token)
            start = self.height if start is None else start
            if expected is None:
                continue
            del mistakes[known:]
            if not line.broken and len(self.text.mistakes) + known < MOST_MISTAKES:
                mistakes.append(explain_rejection(line.tokens, index, token, expected))
            line.broken = True
            del self.pieces[start:], self.spans[start:], self.states[start + 1 :]
            for other in line.instead:
                self.feed(other)
            return

    def feed(self, token: Token) -> frozenset[str] | None:
        """Take a token and return nothing; or, if it cannot stand here, return what could, and leave it out."""
        before = self.states.copy()
        while True:
            action = self.tables.actions[self.states[-1]].get(token.kind)
            if action is None:
                self.height = len(self.pieces)
                return frozenset(kind for kind in self.tables.actions[before[-1]] if self._takes(before.copy(), kind))
            if action >= 0:
                self.height = len(self.pieces)
                self.states.append(action)
                self.pieces.append(token)
                self.spans.append(None if token.kind.startswith("_") else token.span)
                return None
            self._reduce(self.tables.rules[-1 - action])

    def _reduce(self, rule: Rule) -> None:
        start = len(self.pieces) - rule.length
        pieces: list[Piece] = []
        for index in rule.kept:
            piece = self.pieces[start + index]
            if not isinstance(piece, _Several):
                pieces.append(piece)
            elif pieces:
                pieces += piece.pieces
            else:  # a list that grows at its end: not copied, however long it gets
                pieces = piece.pieces
        spans = [span for span in self.spans[start:] if span is not None]
        span = spans[0].to(spans[-1]) if spans else None
        del self.states[start + 1 :], self.pieces[start:], self.spans[start:]
        self.states.append(self.tables.gotos[self.states[-1]][rule.origin])
        if rule.origin.startswith("_"):
            piece = _Several(pieces)
        elif rule.passes_single and len(pieces) == 1:
            piece = pieces[0]
        else:
            piece = self.builder.build(rule.builds, pieces, span or NOWHERE)
        self.pieces.append(piece)
        self.spans.append(span)

    def _takes(self, states: list[int], kind: str) -> bool:
        """Whether a terminal can follow some states, having applied the rules that come before it."""
        while True:
            if kind == END and states[-1] == self.tables.end:
                return True
            action = self.tables.actions[states[-1]].get(kind)
            if action is None or action >= 0:
                return action is not None
            rule = self.tables.rules[-1 - action]
            del states[len(states) - rule.length :]
            states.append(self.tables.gotos[states[-1]][rule.origin])


# Nodes of pieces


@cache
def _positions(kind: Any) -> tuple[tuple[str, ...], bool, frozenset[str]]:
    """The fields that pieces of a text fill in order, whether the last takes all that are left, and all fields."""
    names = [each.name for each in fields(kind) if each.init and not each.kw_only]
    takes_rest = bool(names) and str(getattr(fields(kind), names[-1]).type).startswith("tuple[")
    return tuple(names), takes_rest, frozenset(each.name for each in fields(kind))


@frozen
class Builder:
    """Makes the nodes of one text of their pieces: by the class that a rule is called after, or by a method."""

    source: Source
    lines: dict[int, Line]
    """Logical lines by the number of the line they start in."""
    mistakes: list[Diagnostic] = field(factory=list)
    """Lines that the grammar does not let through, and what it does and the tree cannot hold."""

    def build(self, rule: str, pieces: list[Piece], span: Span) -> Piece:
        """The piece that a rule makes of its pieces."""
        own = getattr(self, f"_{rule}", None)
        return self._node(rule, pieces, span) if own is None else own(pieces, span)

    def _node(self, rule: str, pieces: Sequence[Piece], span: Span, **more: Any) -> Any:
        kind: Any = getattr(nodes, rule.title().replace("_", ""))
        names, takes_rest, known = _positions(kind)
        values: dict[str, Any] = {"span": span, **more}
        if takes_rest and not (len(pieces) == len(names) and isinstance(pieces[-1], tuple)):
            values[names[-1]] = tuple(pieces[len(names) - 1 :])
            pieces = pieces[: len(names) - 1]
        for name, piece in zip(names, pieces, strict=False):
            values[name] = piece
            if isinstance(piece, Token):
                values[name] = piece.text
                if f"{name}_span" in known:
                    values[f"{name}_span"] = piece.span
        if "trivia" in known:
            values.setdefault("trivia", self._trivia(span))
        return kind(**values)

    def _start(self, pieces: list[Piece], _: Span) -> list[Piece]:
        return pieces

    def _block(self, pieces: list[Piece], _: Span) -> tuple[Piece, ...]:
        return tuple(pieces)

    _groupby = _block

    def _where(self, pieces: list[Piece], _: Span) -> Piece | None:
        return pieces[0] if pieces else None

    _counted = _where

    def _clause(self, pieces: list[Piece], _: Span) -> tuple[Piece, ...]:
        return tuple(pieces)

    def _comparator(self, pieces: list[Piece], _: Span) -> str:
        return " ".join(piece.text for piece in pieces)

    # Statements

    def _sign(self, pieces: list[Piece], _: Span) -> str:
        return str(pieces[0].kind.removesuffix("="))

    def _assign_computed(self, pieces: list[Piece], span: Span) -> Any:
        """The node of `x += e`, which is x = x + e in any way but as it is written."""
        target, sign, value = pieces
        if not isinstance(target, nodes.Name):
            return self._assign([target, value], span)
        value = nodes.BinaryOperation(target, sign, value, span=span)
        return self._node("assign", [target, value], span, short=True)

    def _assign(self, pieces: list[Piece], span: Span) -> Any:
        target, value = pieces
        names = target.items if isinstance(target, nodes.Tuple) else (target,)
        if names and all(isinstance(name, nodes.Name) for name in names):
            return self._node("assign", pieces, span)
        inside = isinstance(target, nodes.Index | nodes.Attribute | nodes.Part)
        self._report("J007 assigned_inside" if inside else "J007 assigned", target.span)
        return self._node("expression_statement", [value], span)

    def _broken(self, pieces: list[Piece], span: Span) -> nodes.Broken:
        words, *blocks = pieces
        body: list[nodes.Statement] = []
        for block in blocks:
            if isinstance(block, tuple):
                body += block
            else:
                body += block.body if block.condition is None else [nodes.If((block,), span=block.span)]
        return nodes.Broken(tuple(words.text.split()), tuple(body), span=span)

    def _if(self, pieces: list[Piece], span: Span) -> nodes.If:
        first, *rest = pieces
        inner = evolve(first, trivia=evolve(first.trivia, above=()))
        return nodes.If((inner, *rest), span=span, trivia=nodes.Trivia(above=first.trivia.above))

    def _else_branch(self, pieces: list[Piece], span: Span) -> Any:
        return self._node("branch", [None, *pieces], span)

    def _function_definition(self, pieces: list[Piece], span: Span) -> Any:
        return self._node("function_definition", [*pieces, tuple(self._line(span).marks)], span)

    def _parameters(self, pieces: list[Piece], _: Span) -> tuple[nodes.ParameterNode, ...]:
        default: Any = None
        for each in self._named_once(pieces, "J009 parameter"):
            if each.default is None and default is not None:
                self._report("J009 default", each.name_span, name=each.name, before=default.name)
            default = default if each.default is None else each
        return tuple(pieces)

    def _named_once(self, pieces: list[Piece], said: str) -> list[Piece]:
        """Pieces with names; report the names that stand twice."""
        seen: dict[str, Piece] = {}
        for piece in pieces:
            if piece.name in seen:
                others = (Label(seen[piece.name].name_span, "first here"),)
                self._report(said, piece.name_span, others=others, name=piece.name)
            seen.setdefault(piece.name, piece)
        return pieces

    # Expressions

    def _call(self, pieces: list[Piece], span: Span) -> nodes.Call:
        function, *given = pieces
        keywords = [each for each in given if isinstance(each, nodes.Keyword)]
        self._named_once(keywords, "J009 keyword")
        named = None
        for each in given:
            if isinstance(each, nodes.Keyword):
                named = each
            elif named is not None:
                self._report("J009 plain", each.span, name=named.name)
        plain = [each for each in given if not isinstance(each, nodes.Keyword)]
        return nodes.Call(function, tuple(plain), tuple(keywords), span=span)

    def _make_choice_maker(self, pieces: list[Piece], span: Span) -> nodes.MakeChoiceMaker:
        allowed = ("among", "informed_by", "trained_on", "judged_by", "spending")
        return nodes.MakeChoiceMaker(**self._clauses("MkChoiceMaker", span, pieces, allowed), span=span)

    def _choose(self, pieces: list[Piece], span: Span) -> nodes.Choose:
        label, *clauses = pieces
        values = self._clauses("choose", span, clauses, ("among", "informed_by"))
        return nodes.Choose(label.text, **values, label_span=label.span, span=span)

    def _clauses(self, word: str, span: Span, clauses: Sequence[Piece], allowed: tuple[str, ...]) -> dict[str, Any]:
        """The values of clauses by name."""
        start = Span(span.line, span.column, span.line, span.column + len(word))
        values: dict[str, Any] = {}
        places: dict[str, Span] = {}
        for given, value in clauses:
            name = given.kind.replace(" ", "_")
            if name not in allowed:
                self._report("J402 foreign", given.span, clause=given.text, word=word)
            elif name in values:
                others = (Label(places[name], "first here"),)
                self._report("J402 twice", given.span, others=others, clause=given.text)
            else:
                values[name], places[name] = value, given.span
        if "among" not in values:
            self._report("J401", start, word=word)
            values["among"] = nodes.Tuple((), span=start)
        return values

    def _boolean_operation(self, pieces: list[Piece], span: Span) -> nodes.BooleanOperation:
        return nodes.BooleanOperation(pieces[1].text, tuple(pieces[::2]), span=span)

    def _binary_operation(self, pieces: list[Piece], span: Span) -> nodes.BinaryOperation:
        left, sign, right = pieces
        return nodes.BinaryOperation(left, sign.kind, right, span=span)

    def _comparison(self, pieces: list[Piece], span: Span) -> nodes.Comparison:
        return nodes.Comparison(pieces[0], tuple(pieces[1::2]), tuple(pieces[2::2]), span=span)

    def _conditional(self, pieces: list[Piece], span: Span) -> nodes.Conditional:
        then, condition, otherwise = pieces
        return nodes.Conditional(condition, then, otherwise, span=span)

    def _grouped(self, pieces: list[Piece], span: Span) -> nodes.ExpressionNode:
        return cast("nodes.ExpressionNode", evolve(pieces[0], span=span))

    def _number(self, pieces: list[Piece], span: Span) -> nodes.Number:
        return nodes.Number(_read_number(pieces[0].text), pieces[0].text, span=span)

    def _percent(self, pieces: list[Piece], span: Span) -> nodes.Percent:
        return nodes.Percent(_read_number(pieces[0].text), pieces[0].text, span=span)

    def _string(self, pieces: list[Piece], span: Span) -> nodes.String:
        return nodes.String(_read_string(pieces[0].text), span=span)

    def _formatted(self, pieces: list[Piece], span: Span) -> nodes.ExpressionNode:
        """The node of a text with values in it; values that are texts as written are a part of its own."""
        parts: list[nodes.ExpressionNode] = []
        for piece in pieces:
            added: Sequence[nodes.ExpressionNode]
            if isinstance(piece, Token):
                start, at = 2 if piece.kind == "TEXT_START" else 1, piece.span
                place = Span(at.line, at.column + 1, at.end_line, at.end_column - 1)
                added = [nodes.String(_unescaped(_plain_braces(piece.text[start:-1])), span=place)]
            else:
                added = piece.parts if isinstance(piece, nodes.Formatted) else [piece]
            for node in added:
                if isinstance(node, nodes.String) and parts and isinstance(parts[-1], nodes.String):
                    parts[-1] = evolve(parts[-1], value=parts[-1].value + node.value, span=parts[-1].span.to(node.span))
                elif node != nodes.String(""):
                    parts.append(node)
                nested = next((one for one in nodes.walk(node) if isinstance(one, nodes.Formatted)), None)
                if nested is not None:
                    self._report("J003 inside_another", nested.span)
                    return nodes.String("", span=span)
        if len(parts) == 1 and isinstance(parts[0], nodes.String):
            return evolve(parts[0], span=span)
        return nodes.Formatted(tuple(parts), span=span)

    def _constant(self, pieces: list[Piece], span: Span) -> nodes.Constant:
        return nodes.Constant({"True": True, "False": False, "None": None}[pieces[0].text], span=span)

    # Places

    def _report(self, said: str, span: Span, **facts: Any) -> None:
        self.mistakes.append(message(said, span, **facts))

    def _line(self, span: Span) -> Line:
        return self.lines.get(span.line) or Line(0)

    def _trivia(self, span: Span) -> nodes.Trivia:
        """The comments of a statement; none after a colon on the same line."""
        line = self._line(span)
        if not line.tokens or line.start.column != span.column:
            return nodes.Trivia()
        above, below = _collapsed(line.above), _collapsed(line.below)
        kept = self._as_written(line) if line.inside else ()
        return nodes.Trivia(above=above, beside=line.beside, below=below, inside=tuple(line.inside), kept=kept)

    def _as_written(self, line: Line) -> tuple[str, ...]:
        """The rows of a line without what stands around it, indented relative to its first one."""
        last = line.tokens[-1].span
        rows = list(self.source.lines[line.start.line - 1 : last.end_line])
        rows[-1] = rows[-1][: last.end_column - 1]
        shift = line.start.column - 1
        rest = [row[min(shift, len(row) - len(row.lstrip(" "))) :].rstrip() for row in rows[1:]]
        return (rows[0][shift:].rstrip(), *rest)


def _read_number(text: str) -> Fraction:
    """Exactly what a number's digits say."""
    return Fraction(text.replace("_", ""))


def _read_string(text: str) -> str:
    """The text that a string literal stands for."""
    return _unescaped(_plain_braces(text[2:-1]) if text.startswith("f") else text[1:-1])


def _plain_braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def _unescaped(text: str) -> str:
    def stands_for(match: re.Match[str]) -> str:
        written = match[1]
        if len(written) > 1:
            return chr(int(written[1:], 16))
        return {"n": "\n", "t": "\t"}.get(written, written)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", stands_for, text)


def _collapsed(lines: Sequence[str]) -> tuple[str, ...]:
    """Comments with no more than one empty line in a row."""
    return tuple(line for index, line in enumerate(lines) if line or index == 0 or lines[index - 1])


if __name__ == "__main__":
    KEPT.write_text("\n".join(_rows(made())) + "\n", "utf-8")
