"""What could be written at a place of a program, and what a mistake could be replaced by: for editors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from jostle.errors import Diagnostic, Source, Span
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.library import modules
from jostle.lang.parser import parse_text
from jostle.lang.scopes import defined_in

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["Completion", "Repair", "completions", "repair"]

Kind = Literal["function", "module", "name", "column"]

FROM = re.compile(r"\s*from\s+\w*$")
IMPORT = re.compile(r"\s*from\s+(\w+)\s+import\s+.*$")
AFTER_DOT = re.compile(r"\w+\.\w*$")
IN_QUERY = re.compile(r"\b(select|where|groupby)\b")
FACTS = ("attributes", "label")
"""What is public of every table."""
SIMILAR = re.compile(r"`(\w+)` has a similar name")
TO_IMPORT = re.compile(r"write (from \w+ import \w+) at the top")


@frozen
class Completion:
    """A word that could stand at a place."""

    word: str
    kind: Kind
    meaning: str = ""


@frozen
class Repair:
    """A change that mends a mistake: a text in place of what stands there."""

    title: str
    span: Span
    text: str


def completions(source: Source, line: int, column: int, schema: Schema | None = None) -> tuple[Completion, ...]:
    """Words that could stand at a line and column, both from 1, each once; with a schema, columns are among them."""
    written = source.lines[line - 1][: column - 1] if line <= len(source.lines) else ""
    found: dict[str, Completion] = {}
    for each in _at(source, written, line, schema):
        found.setdefault(each.word, each)
    return tuple(found.values())


def _at(source: Source, written: str, line: int, schema: Schema | None) -> Iterator[Completion]:
    if FROM.match(written):
        yield from (Completion(name, "module") for name in modules())
        return
    if imported := IMPORT.match(written):
        yield from (Completion(name, "name", f"of {imported[1]}") for name in modules().get(imported[1], ()))
        return
    columns = () if schema is None else schema.names
    if AFTER_DOT.search(written):
        yield from (Completion(name, "name") for name in FACTS)
        yield from (Completion(name, "column") for name in columns)
        yield from (Completion(f"{name}_range", "name", f"how many values {name} has") for name in columns)
        return
    if IN_QUERY.search(written):
        yield from (Completion(name, "column") for name in columns)
    module = parse_text(source).module
    for definition in module.body:
        if (
            isinstance(definition, nodes.FunctionDefinition)
            and definition.span.line <= line <= definition.span.end_line
        ):
            yield Completion(EPSILON, "name", "what the caller allotted")
            yield from (Completion(parameter.name, "name", "a parameter") for parameter in definition.parameters)
            yield from (Completion(name, "name") for name, _, _ in defined_in(definition.body))
    yield from (Completion(name, "name") for name, _, _ in defined_in(module.body))
    yield from (Completion(each.name, "function", f"{each.head}: {each.meaning}") for each in BUILTINS.values())


def repair(mistake: Diagnostic) -> Repair | None:
    """Change that does what a mistake's way out says, where that is one word or one line."""
    if similar := SIMILAR.search(mistake.fix):
        return Repair(f"Write {similar[1]}", mistake.span, similar[1])
    if to_import := TO_IMPORT.search(mistake.fix):
        return Repair(f"Add {to_import[1]}", Span(1, 1, 1, 1), f"{to_import[1]}\n")
    return None
