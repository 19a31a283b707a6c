"""The language server: mistakes as you type and their mending, names, what they are, and canonical text.

Editors start it with `python -m jostle.lang.server` and talk to it over input and output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from jostle.errors import Diagnostic, Source, Span
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.check import Checked
from jostle.lang.library import library
from jostle.lang.lookup import Found, look_up
from jostle.lang.nodes import defined_in
from jostle.lang.parser import parse_text
from jostle.lang.printer import show
from jostle.lang.references import check_named, schema_named

try:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer
except ModuleNotFoundError as missing:
    raise SystemExit(f'the language server needs {missing.name}: pip install "jostle[lsp]"') from None

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

FROM = re.compile(r"\s*from\s+\w*$")
IMPORT = re.compile(r"\s*from\s+(\w+)\s+import\s+.*$")
AFTER_DOT = re.compile(r"\w+\.\w*$")
IN_QUERY = re.compile(r"\b(select|where|groupby)\b")
FACTS = ("attributes", "label")
"""What is public of every table."""
SIMILAR = re.compile(r"`(\w+)` has a similar name")
TO_IMPORT = re.compile(r"write (from \w+ import \w+) at the top")

Kind = types.CompletionItemKind
Word = tuple[str, types.CompletionItemKind, str]
"""A word that could stand at a place, its kind and what it means."""


def _words(source: Source, line: int, written: str, columns: Iterable[str]) -> Iterator[Word]:
    """Yield the words that could stand at a line, after what is written there."""
    if FROM.match(written):
        yield from ((name, Kind.Module, "") for name in library().modules)
        return
    if imported := IMPORT.match(written):
        yield from ((name, Kind.Variable, f"of {imported[1]}") for name in library().modules.get(imported[1], ()))
        return
    if AFTER_DOT.search(written):
        yield from ((name, Kind.Variable, "") for name in FACTS)
        yield from ((name, Kind.Field, "") for name in columns)
        yield from ((f"{name}_range", Kind.Variable, f"how many values {name} has") for name in columns)
        return
    if IN_QUERY.search(written):
        yield from ((name, Kind.Field, "") for name in columns)
    module = parse_text(source).module
    functions = (node for node in nodes.walk(module) if isinstance(node, nodes.FunctionDefinition))
    for function in functions:
        if function.span.line <= line <= function.span.end_line:
            yield EPSILON, Kind.Variable, "what the caller allotted"
            yield from ((parameter.name, Kind.Variable, "a parameter") for parameter in function.parameters)
            yield from ((name, Kind.Variable, "") for name, _, _ in defined_in(function.body))
    yield from ((name, Kind.Variable, "") for name, _, _ in defined_in(module.body))
    yield from ((builtin.name, Kind.Function, f"{builtin.head}: {builtin.meaning}") for builtin in BUILTINS.values())


def _repair(mistake: Diagnostic) -> tuple[str, Span, str] | None:
    """What does as a mistake's way out says, where that is one word or one line: its title, a place, a text for it."""
    if similar := SIMILAR.search(mistake.fix):
        return f"Write {similar[1]}", mistake.span, similar[1]
    if to_import := TO_IMPORT.search(mistake.fix):
        return f"Add {to_import[1]}", Span(1, 1, 1, 1), f"{to_import[1]}\n"
    return None


server = LanguageServer("jostle", version("jostle"))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def checked(
    server: LanguageServer, params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams
) -> None:
    """Publish the mistakes of a text that was opened or changed."""
    program, _ = check_named(_source(server, params.text_document.uri))
    diagnostics = [
        _diagnostic(server, program, diagnostic, params.text_document.uri) for diagnostic in program.diagnostics
    ]
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, diagnostics))


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def closed(server: LanguageServer, params: types.DidCloseTextDocumentParams) -> None:
    """Take back the mistakes of a text that was closed."""
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(server: LanguageServer, params: types.HoverParams) -> types.Hover | None:
    """The facts known of the word under the cursor."""
    source, word = _look_up(server, params)
    if word is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, word.text)
    return types.Hover(content, _range(server, source, word.span))


@server.feature(types.TEXT_DOCUMENT_DEFINITION)
def definition(server: LanguageServer, params: types.DefinitionParams) -> types.Location | None:
    """The place where the word under the cursor was defined."""
    source, word = _look_up(server, params)
    if word is None or word.definition is None:
        return None
    return types.Location(params.text_document.uri, _range(server, source, word.definition))


@server.feature(types.TEXT_DOCUMENT_FORMATTING)
def formatting(server: LanguageServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
    """The change that makes a text canonical; none if it cannot be read."""
    source = _source(server, params.text_document.uri)
    parsed = parse_text(source)
    text = "" if parsed.diagnostics else show(parsed.module)
    if parsed.diagnostics or text == source.text:
        return []
    whole = types.Range(types.Position(0, 0), types.Position(len(source.lines), 0))
    return [types.TextEdit(whole, text)]


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
def completion(server: LanguageServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    """The words that could stand under the cursor."""
    source = _source(server, params.text_document.uri)
    place = server.workspace.position_codec.position_from_client_units(source.lines, params.position)
    schema, line = _schema(source), place.line + 1
    written = source.lines[line - 1][: place.character] if line <= len(source.lines) else ""
    found: dict[str, types.CompletionItem] = {}
    for word, kind, meaning in _words(source, line, written, () if schema is None else schema.names):
        found.setdefault(word, types.CompletionItem(word, kind=kind, detail=meaning or None))
    return list(found.values())


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
)
def code_action(server: LanguageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The changes that mend the mistakes of the lines that are asked about."""
    uri = params.text_document.uri
    program, _ = check_named(_source(server, uri))
    first, last = params.range.start.line + 1, params.range.end.line + 1
    actions = []
    for mistake in program.diagnostics:
        change = _repair(mistake) if first <= mistake.span.end_line and mistake.span.line <= last else None
        if change is not None:
            title, span, text = change
            edit = types.TextEdit(_range(server, program.source, span), text)
            actions.append(
                types.CodeAction(
                    title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[_diagnostic(server, program, mistake, uri)],
                    edit=types.WorkspaceEdit(changes={uri: [edit]}),
                )
            )
    return actions


def _source(server: LanguageServer, uri: str) -> Source:
    document = server.workspace.get_text_document(uri)
    return Source(document.path or uri, document.source)


def _look_up(server: LanguageServer, params: types.HoverParams | types.DefinitionParams) -> tuple[Source, Found | None]:
    source = _source(server, params.text_document.uri)
    place = server.workspace.position_codec.position_from_client_units(source.lines, params.position)
    return source, look_up(parse_text(source).module, place.line + 1, place.character + 1, _schema(source))


def _schema(source: Source) -> Schema | None:
    """The schema that a program names, if it can be used."""
    schema = schema_named(source)
    return None if isinstance(schema, Diagnostic) else schema


def _range(server: LanguageServer, source: Source, span: Span) -> types.Range:
    """A span in the editor's units: lines from 0, columns in UTF-16 unless it can do better."""
    start = types.Position(max(0, span.line - 1), max(0, span.column - 1))
    end = types.Position(max(0, span.end_line - 1), max(0, span.end_column - 1))
    return server.workspace.position_codec.range_to_client_units(source.lines, types.Range(start, end))


def _diagnostic(server: LanguageServer, program: Checked, mistake: Diagnostic, uri: str) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uri, _range(server, program.source, other.span)), other.text or "here"
        )
        for other in mistake.others
    ]
    return types.Diagnostic(
        range=_range(server, program.source, mistake.span),
        message=f"{mistake.title}\nwhy: {mistake.why}\nfix: {mistake.fix}",
        severity=types.DiagnosticSeverity.Error,
        code=mistake.code,
        source="jostle",
        related_information=related or None,
    )


if __name__ == "__main__":
    server.start_io()
