"""What the language server does: mistakes as you type and their mending, names, what they are, and canonical text."""

from __future__ import annotations

from importlib.metadata import version

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from jostle.errors import Diagnostic, Source, Span
from jostle.lang.check import Checked
from jostle.lang.completing import completions, repair
from jostle.lang.lookup import Found, look_up
from jostle.lang.parser import parse_text
from jostle.lang.printer import show
from jostle.lang.schema_named import check_named, schema_named

__all__ = ["server"]

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


KINDS = {
    "function": types.CompletionItemKind.Function,
    "module": types.CompletionItemKind.Module,
    "name": types.CompletionItemKind.Variable,
    "column": types.CompletionItemKind.Field,
}


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
def completion(server: LanguageServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    """The words that could stand under the cursor."""
    source = _source(server, params.text_document.uri)
    place = server.workspace.position_codec.position_from_client_units(source.lines, params.position)
    schema = schema_named(source)
    known = None if isinstance(schema, Diagnostic) else schema
    return [
        types.CompletionItem(each.word, kind=KINDS[each.kind], detail=each.meaning or None)
        for each in completions(source, place.line + 1, place.character + 1, known)
    ]


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
        change = repair(mistake) if first <= mistake.span.end_line and mistake.span.line <= last else None
        if change is not None:
            edit = types.TextEdit(_range(server, program.source, change.span), change.text)
            actions.append(
                types.CodeAction(
                    change.title,
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
    schema = schema_named(source)
    known = None if isinstance(schema, Diagnostic) else schema
    return source, look_up(parse_text(source).module, place.line + 1, place.character + 1, known)


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
