"""What each rule of the grammar makes of its pieces: nodes of the tree.

A method is named for a rule, or for the name after `->`, with `_` before it, and gets all pieces, tokens included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar, cast

from attrs import define, evolve, field, frozen

from jostle.errors import NOWHERE, Diagnostic, Source, Span
from jostle.lang import nodes
from jostle.lang import structural_mistakes as mistakes
from jostle.lang.tokens import Line, Token

__all__ = ["Builder", "read_number", "read_string"]

Piece = Any
Kind = TypeVar("Kind", bound=nodes.Node)

ESCAPES = {"n": "\n", "t": "\t"}


@frozen
class _Clause:
    word: Token
    value: nodes.ExpressionNode


@frozen
class _Block:
    statements: tuple[nodes.Statement, ...]
    span: Span


def read_number(text: str) -> Fraction:
    """Exactly what a number's digits say."""
    return Fraction(text.replace("_", ""))


def read_string(text: str) -> str:
    """The text that a string literal stands for."""

    def stands_for(match: re.Match[str]) -> str:
        written = match[1]
        if len(written) > 1:
            return chr(int(written[1:], 16))
        return ESCAPES.get(written, written)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", stands_for, text[1:-1])


@define
class Builder:
    """Makes the nodes of one text."""

    lines: dict[int, Line]
    """Logical lines by the number of the line they start in."""
    source: Source
    """The text."""
    mistakes: list[Diagnostic] = field(factory=list)
    """What the grammar lets through and the tree cannot hold."""

    def build(self, rule: str, pieces: list[Piece]) -> Piece:
        """The piece that a rule makes of its pieces."""
        make: Callable[[list[Piece]], Piece] = getattr(self, f"_{rule}")
        return make(pieces)

    # Statements

    def _start(self, pieces: list[Piece]) -> list[nodes.Statement]:
        return pieces

    def _statement(self, pieces: list[Piece]) -> nodes.Statement:
        return cast("nodes.Statement", pieces[0])

    def _block(self, pieces: list[Piece]) -> _Block:
        statements = tuple(_only(pieces, nodes.Statement))
        span = statements[0].span.to(statements[-1].span) if statements else NOWHERE
        return _Block(statements, span)

    def _import_statement(self, pieces: list[Piece]) -> nodes.Import:
        module, *names = _tokens(pieces, "NAME")
        imported = tuple(nodes.ImportedName(name.text, span=name.span) for name in names)
        return nodes.Import(module.text, imported, module_span=module.span, **self._place(pieces))

    def _assign(self, pieces: list[Piece]) -> nodes.Assign | nodes.ExpressionStatement:
        target, _, value = pieces
        if not _is_target(target):
            self.mistakes.append(mistakes.target(target))
            return nodes.ExpressionStatement(value, **self._place(pieces))
        return nodes.Assign(target, value, **self._place(pieces))

    def _return_statement(self, pieces: list[Piece]) -> nodes.Return:
        return nodes.Return(pieces[1] if len(pieces) > 1 else None, **self._place(pieces))

    def _pass_statement(self, pieces: list[Piece]) -> nodes.Pass:
        return nodes.Pass(**self._place(pieces))

    def _expression_statement(self, pieces: list[Piece]) -> nodes.ExpressionStatement:
        return nodes.ExpressionStatement(pieces[0], **self._place(pieces))

    def _broken(self, pieces: list[Piece]) -> nodes.Broken:
        return nodes.Broken(tuple(pieces[0].text.split()), span=pieces[0].span)

    def _broken_block(self, pieces: list[Piece]) -> nodes.Broken:
        body = list(pieces[2].statements)
        for branch in pieces[3:]:
            body += branch.body if branch.condition is None else [nodes.If((branch,), span=branch.span)]
        return nodes.Broken(tuple(pieces[0].text.split()), tuple(body), span=_around(pieces))

    def _if_statement(self, pieces: list[Piece]) -> nodes.If:
        _, condition, _, block, *rest = pieces
        own: nodes.Trivia = self._place(pieces)["trivia"]
        inner = evolve(own, above=())
        first = nodes.Branch(condition, block.statements, span=_around(pieces[:4]), trivia=inner)
        return nodes.If((first, *rest), span=_around(pieces), trivia=nodes.Trivia(above=own.above))

    def _elif_branch(self, pieces: list[Piece]) -> nodes.Branch:
        return nodes.Branch(pieces[1], pieces[3].statements, **self._place(pieces))

    def _else_branch(self, pieces: list[Piece]) -> nodes.Branch:
        return nodes.Branch(None, pieces[2].statements, **self._place(pieces))

    def _for_statement(self, pieces: list[Piece]) -> nodes.For:
        return nodes.For(pieces[1], pieces[3], pieces[5].statements, **self._place(pieces))

    def _function(self, pieces: list[Piece]) -> nodes.FunctionDefinition:
        name, block = pieces[1], pieces[-1]
        parameters = pieces[3] if isinstance(pieces[3], tuple) else ()
        marks = tuple(self._line(pieces).marks)
        return nodes.FunctionDefinition(
            name.text, parameters, block.statements, marks, name_span=name.span, **self._place(pieces)
        )

    def _class_definition(self, pieces: list[Piece]) -> nodes.ClassDefinition:
        name, base, block = pieces[1], pieces[3], pieces[-1]
        spans = {"name_span": name.span, "base_span": base.span}
        return nodes.ClassDefinition(name.text, base.text, block.statements, **spans, **self._place(pieces))

    def _parameters(self, pieces: list[Piece]) -> tuple[nodes.ParameterNode, ...]:
        parameters = tuple(_only(pieces, nodes.ParameterNode))
        self.mistakes += mistakes.parameters(parameters)
        return parameters

    _lambda_parameters = _parameters

    def _parameter(self, pieces: list[Piece]) -> nodes.ParameterNode:
        default = pieces[2] if len(pieces) > 1 else None
        return nodes.ParameterNode(pieces[0].text, default, name_span=pieces[0].span, span=_around(pieces))

    def _targets(self, pieces: list[Piece]) -> nodes.Name | nodes.Tuple:
        names = tuple(nodes.Name(token.text, span=token.span) for token in _tokens(pieces, "NAME"))
        if len(names) == 1 and len(pieces) == 1:
            return names[0]
        return nodes.Tuple(names, span=_around(pieces))

    # Expressions with words

    def _bare_tuple(self, pieces: list[Piece]) -> nodes.Tuple:
        return nodes.Tuple(_items(pieces), span=_around(pieces))

    def _conditional(self, pieces: list[Piece]) -> nodes.Conditional:
        return nodes.Conditional(pieces[2], pieces[0], pieces[4], span=_around(pieces))

    def _lambda_expression(self, pieces: list[Piece]) -> nodes.Lambda:
        parameters = pieces[1] if isinstance(pieces[1], tuple) else ()
        return nodes.Lambda(parameters, pieces[-1], span=_around(pieces))

    def _noised(self, pieces: list[Piece]) -> nodes.Noised:
        return nodes.Noised(pieces[1], span=_around(pieces))

    def _noised_spending(self, pieces: list[Piece]) -> nodes.Noised:
        return nodes.Noised(pieces[0].value, pieces[2], span=_around(pieces))

    def _over(self, pieces: list[Piece]) -> nodes.Over:
        return nodes.Over(pieces[0], pieces[2], span=_around(pieces))

    def _select(self, pieces: list[Piece]) -> nodes.Select:
        aggregate = pieces[1]
        value = pieces[3] if isinstance(pieces[3], nodes.ExpressionNode) else None
        source = next(index for index, piece in enumerate(pieces) if isinstance(piece, Token) and piece.kind == "FROM")
        clauses: dict[str, Any] = {}
        for clause in pieces[source + 2 :]:
            if clause[0].kind == "WHERE":
                clauses["where"] = clause[1]
            else:
                clauses["groupby"] = _items(clause)
        span = _around([pieces[0], pieces[-1][-1] if isinstance(pieces[-1], list) else pieces[-1]])
        return nodes.Select(
            aggregate.text, value, pieces[source + 1], **clauses, aggregate_span=aggregate.span, span=span
        )

    def _where(self, pieces: list[Piece]) -> list[Piece]:
        return pieces

    def _groupby(self, pieces: list[Piece]) -> list[Piece]:
        return pieces

    def _clause(self, pieces: list[Piece]) -> _Clause:
        return _Clause(pieces[0], pieces[1])

    def _make_choice_maker(self, pieces: list[Piece]) -> nodes.ExpressionNode:
        span = pieces[0].span.to(pieces[-1].value.span)
        clauses = self._clauses(pieces[0], pieces[1:], ("among", "informed_by", "trained_on", "judged_by", "spending"))
        return nodes.MakeChoiceMaker(**clauses, span=span)

    def _choose(self, pieces: list[Piece]) -> nodes.ExpressionNode:
        label = pieces[1]
        span = pieces[0].span.to(pieces[-1].value.span)
        clauses = self._clauses(pieces[0], pieces[2:], ("among", "informed_by"))
        return nodes.Choose(label.text, **clauses, label_span=label.span, span=span)

    def _clauses(
        self, word: Token, clauses: Sequence[_Clause], known: tuple[str, ...]
    ) -> dict[str, nodes.ExpressionNode]:
        values: dict[str, nodes.ExpressionNode] = {}
        places: dict[str, Span] = {}
        for clause in clauses:
            name = clause.word.kind.lower()
            if name not in known:
                self.mistakes.append(mistakes.clause_not_here(clause.word, word))
            elif name in values:
                self.mistakes.append(mistakes.clause_twice(clause.word, places[name]))
            else:
                values[name], places[name] = clause.value, clause.word.span
        if "among" not in values:
            self.mistakes.append(mistakes.nothing_to_choose(word))
            values["among"] = nodes.Tuple((), span=word.span)
        return values

    # Operations

    def _boolean(self, pieces: list[Piece]) -> nodes.ExpressionNode:
        if len(pieces) == 1:
            return cast("nodes.ExpressionNode", pieces[0])
        return nodes.BooleanOperation(pieces[1].text, _items(pieces), span=_around(pieces))

    def _not_operation(self, pieces: list[Piece]) -> nodes.Not:
        return nodes.Not(pieces[1], span=_around(pieces))

    def _comparison(self, pieces: list[Piece]) -> nodes.Comparison:
        return nodes.Comparison(pieces[0], tuple(pieces[1::2]), tuple(pieces[2::2]), span=_around(pieces))

    def _comparator(self, pieces: list[Piece]) -> str:
        return " ".join(piece.text for piece in pieces)

    def _binary(self, pieces: list[Piece]) -> nodes.BinaryOperation:
        sign = "**" if pieces[1].kind == "POWER" else pieces[1].text
        return nodes.BinaryOperation(pieces[0], sign, pieces[2], span=_around(pieces))

    def _unary(self, pieces: list[Piece]) -> nodes.UnaryOperation:
        return nodes.UnaryOperation(pieces[0].text, pieces[1], span=_around(pieces))

    def _attribute(self, pieces: list[Piece]) -> nodes.Attribute:
        return nodes.Attribute(pieces[0], pieces[2].text, name_span=pieces[2].span, span=_around(pieces))

    def _index(self, pieces: list[Piece]) -> nodes.Index:
        return nodes.Index(pieces[0], pieces[2], span=_around(pieces))

    def _part(self, pieces: list[Piece]) -> nodes.Part:
        return nodes.Part(pieces[0], pieces[2], span=_around(pieces))

    def _conditions(self, pieces: list[Piece]) -> tuple[nodes.Condition, ...]:
        return tuple(_only(pieces, nodes.Condition))

    def _condition(self, pieces: list[Piece]) -> nodes.Condition:
        return nodes.Condition(pieces[0], pieces[2], span=_around(pieces))

    def _call(self, pieces: list[Piece]) -> nodes.Call:
        inner = pieces[2] if isinstance(pieces[2], list) else []
        keywords = tuple(_only(inner, nodes.Keyword))
        self.mistakes += mistakes.arguments(_only(inner, nodes.Node))
        return nodes.Call(pieces[0], _items(inner), keywords, span=_around(pieces))

    def _arguments(self, pieces: list[Piece]) -> list[Piece]:
        return pieces

    def _keyword(self, pieces: list[Piece]) -> nodes.Keyword:
        return nodes.Keyword(pieces[0].text, pieces[2], name_span=pieces[0].span, span=_around(pieces))

    # Values

    def _name(self, pieces: list[Piece]) -> nodes.Name:
        return nodes.Name(pieces[0].text, span=pieces[0].span)

    def _number(self, pieces: list[Piece]) -> nodes.Number:
        return nodes.Number(read_number(pieces[0].text), pieces[0].text, span=pieces[0].span)

    def _percent(self, pieces: list[Piece]) -> nodes.Percent:
        return nodes.Percent(read_number(pieces[0].text), pieces[0].text, span=pieces[0].span)

    def _string(self, pieces: list[Piece]) -> nodes.String:
        return nodes.String(read_string(pieces[0].text), span=pieces[0].span)

    def _constant(self, pieces: list[Piece]) -> nodes.Constant:
        return nodes.Constant({"True": True, "False": False, "None": None}[pieces[0].text], span=pieces[0].span)

    def _grouped(self, pieces: list[Piece]) -> nodes.ExpressionNode:
        return cast("nodes.ExpressionNode", evolve(pieces[1], span=_around(pieces)))

    def _tuple_display(self, pieces: list[Piece]) -> nodes.Tuple:
        return nodes.Tuple(_items(pieces), span=_around(pieces))

    def _list_display(self, pieces: list[Piece]) -> nodes.List:
        return nodes.List(_items(pieces), span=_around(pieces))

    def _set_display(self, pieces: list[Piece]) -> nodes.Set:
        return nodes.Set(_items(pieces), span=_around(pieces))

    def _dict_display(self, pieces: list[Piece]) -> nodes.Dict:
        return nodes.Dict(tuple(_only(pieces, nodes.Entry)), span=_around(pieces))

    def _list_comprehension(self, pieces: list[Piece]) -> nodes.ListComprehension:
        return nodes.ListComprehension(pieces[1], tuple(pieces[2:-1]), span=_around(pieces))

    def _set_comprehension(self, pieces: list[Piece]) -> nodes.SetComprehension:
        return nodes.SetComprehension(pieces[1], tuple(pieces[2:-1]), span=_around(pieces))

    def _dict_comprehension(self, pieces: list[Piece]) -> nodes.DictComprehension:
        return nodes.DictComprehension(pieces[1], tuple(pieces[2:-1]), span=_around(pieces))

    def _entry(self, pieces: list[Piece]) -> nodes.Entry:
        return nodes.Entry(pieces[0], pieces[2], span=_around(pieces))

    def _comprehension(self, pieces: list[Piece]) -> nodes.ComprehensionClause:
        return nodes.ComprehensionClause(pieces[1], pieces[3], tuple(pieces[5::2]), span=_around(pieces))

    # Places

    def _line(self, pieces: list[Piece]) -> Line:
        return self.lines.get(pieces[0].span.line) or Line(0, [])

    def _place(self, pieces: list[Piece]) -> dict[str, Any]:
        line, span = self._line(pieces), _around(pieces)
        if not line.tokens or line.tokens[0].span.column != span.column:  # after a colon on the same line
            return {"span": span}
        trivia = nodes.Trivia(
            above=_collapse(line.above),
            beside=line.beside,
            below=_collapse(line.below),
            inside=tuple(line.inside),
            kept=self._as_written(line) if line.inside else (),
        )
        return {"span": span, "trivia": trivia}

    def _as_written(self, line: Line) -> tuple[str, ...]:
        """The rows of a line without what stands around it, indented relative to its first one."""
        first, last = line.tokens[0].span, line.tokens[-1].span
        rows = list(self.source.lines[first.line - 1 : last.end_line])
        rows[-1] = rows[-1][: last.end_column - 1]
        shift = first.column - 1
        rest = [row[min(shift, len(row) - len(row.lstrip(" "))) :].rstrip() for row in rows[1:]]
        return (rows[0][shift:].rstrip(), *rest)


def _collapse(lines: Sequence[str]) -> tuple[str, ...]:
    """Comments with no more than one empty line in a row."""
    return tuple(line for index, line in enumerate(lines) if line or index == 0 or lines[index - 1])


def _around(pieces: Sequence[Piece]) -> Span:
    first, last = pieces[0].span, pieces[-1].span
    return Span(first.line, first.column, last.end_line, last.end_column)


def _only(pieces: Sequence[Piece], kind: type[Kind]) -> list[Kind]:
    return [piece for piece in pieces if isinstance(piece, kind)]


def _items(pieces: Sequence[Piece]) -> tuple[nodes.ExpressionNode, ...]:
    return tuple(_only(pieces, nodes.ExpressionNode))


def _tokens(pieces: Sequence[Piece], kind: str) -> list[Token]:
    return [piece for piece in pieces if isinstance(piece, Token) and piece.kind == kind]


def _is_target(node: nodes.ExpressionNode) -> bool:
    if isinstance(node, nodes.Tuple):
        return bool(node.items) and all(isinstance(item, nodes.Name) for item in node.items)
    return isinstance(node, nodes.Name)
