"""The language server, as an editor meets it: another process, spoken to over its input and output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from processes import LIMIT, ran, started
from small_tables import SCHEMA
from test_deep_values import DOUBLING

pytest.importorskip("pygls", reason="needs the extra lsp")

URI = "file:///programs/x.jst"
TEXT = "größe = 1\n\ndef f(db):\n    return noisyCount(db, epsilon) / größe\n"


class Editor:
    """Speaks the protocol: messages in JSON, each after its length."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.writer: IO[bytes] = process.stdin
        self.reader: IO[bytes] = process.stdout
        self.number = 0

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.writer.flush()

    def receive(self) -> dict[str, Any]:
        length = 0
        while line := self.reader.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        found: dict[str, Any] = json.loads(self.reader.read(length))
        return found

    def ask(self, method: str, **params: Any) -> Any:
        """Return the answer to a request."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    def tell(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def mistakes(self, uri: str = URI) -> list[dict[str, Any]]:
        """Return the mistakes that are published next."""
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics":
                assert message["params"]["uri"] == uri
                found: list[dict[str, Any]] = message["params"]["diagnostics"]
                return found

    def open(self, text: str, uri: str = URI) -> list[dict[str, Any]]:
        document = {"uri": uri, "languageId": "jostle", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.mistakes(uri)

    def hover(self, uri: str, line: int, character: int) -> str:
        """Return what is said of the word at a place."""
        where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        said: str = self.ask("textDocument/hover", **where)["contents"]["value"]
        return said


@pytest.fixture
def editor() -> Iterator[Editor]:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with started("-m", "jostle.lang.server", text=False, **pipes) as process:
        editor = Editor(process)
        able = editor.ask("initialize", processId=None, rootUri=None, capabilities={})["capabilities"]
        assert able["hoverProvider"]
        assert able["definitionProvider"]
        assert able["documentFormattingProvider"]
        assert able["completionProvider"]
        assert able["codeActionProvider"]
        editor.tell("initialized")
        yield editor
        editor.ask("shutdown")
        editor.tell("exit")
        assert process.wait(LIMIT) == 0


def at(line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}


def place(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def test_a_session(editor: Editor) -> None:
    assert editor.open(TEXT) == []
    hover = editor.ask("textDocument/hover", **at(3, 12))
    assert hover["contents"]["value"] == (
        "`noisyCount(table, epsilon=...)`: how many rows, with noise\n\na released number; spends epsilon"
    )
    assert hover["range"] == place(3, 11, 21)
    assert editor.ask("textDocument/hover", **at(3, 2)) is None
    target = editor.ask("textDocument/definition", **at(3, 40))
    assert target == {"uri": URI, "range": place(0, 0, 5)}
    assert editor.ask("textDocument/definition", **at(3, 12)) is None

    change = {"range": place(3, 37, 42), "text": "x + 'a' 'b'"}
    document = {"uri": URI, "version": 2}
    editor.tell("textDocument/didChange", textDocument=document, contentChanges=[change])
    (mistake,) = editor.mistakes()
    assert mistake["code"] == "J014"
    assert mistake["source"] == "jostle"
    assert mistake["message"].startswith("`'a'` and `'b'` side by side\nwhy: ")
    assert mistake["range"] == place(3, 45, 48)

    editor.tell("textDocument/didClose", textDocument={"uri": URI})
    assert editor.mistakes() == []


@pytest.mark.representative
@pytest.mark.parametrize("name", DOUBLING)
def test_what_doubles_with_every_line_is_answered(editor: Editor, name: str) -> None:
    """It hung, as each line took twice as long as the one before."""
    text = DOUBLING[name]
    assert not [each for each in editor.open(text) if each["code"].startswith("J9")]
    editor.ask("textDocument/hover", **at(text.count("\n") - 1, 11))


def test_columns_are_counted_as_editors_do(editor: Editor) -> None:
    """A character outside the basic plane takes two of an editor's units."""
    (mistake,) = editor.open('a = "\N{CHIPMUNK}" + b\n')
    assert mistake["range"] == place(0, 11, 12)


def test_places_that_explain_a_mistake_come_along(editor: Editor) -> None:
    (mistake,) = editor.open("half = total\ntotal = 2\n")
    (related,) = mistake["relatedInformation"]
    assert related["location"] == {"uri": URI, "range": place(1, 0, 5)}


def test_formatting(editor: Editor) -> None:
    editor.open("x=1 # one")
    options = {"tabSize": 4, "insertSpaces": True}
    (edit,) = editor.ask("textDocument/formatting", textDocument={"uri": URI}, options=options)
    assert edit["newText"] == "x = 1  # one\n"
    editor.tell("textDocument/didChange", textDocument={"uri": URI, "version": 2}, contentChanges=[{"text": "x = ="}])
    assert len(editor.mistakes()) == 1
    assert editor.ask("textDocument/formatting", textDocument={"uri": URI}, options=options) in (None, [])


def words(editor: Editor, line: int, character: int, uri: str = URI) -> list[str]:
    """Return the words that are offered at a place."""
    where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    return [each["label"] for each in editor.ask("textDocument/completion", **where)]


def test_words_are_offered(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text(SCHEMA.to_toml(), "utf-8")
    uri = (tmp_path / "program.jst").as_uri()
    lines = [
        "# Schema: rows.toml",
        "from histograms import ",
        "def f(db, share):",
        "    half = epsilon / 2",
        "    n = {{ select count() from db where  }} spending half",
        "    return db.",
    ]
    editor.open("\n".join(lines) + "\n", uri)

    assert "DAWA" in words(editor, 1, len(lines[1]), uri)
    assert "histograms" in words(editor, 1, 5, uri)
    assert {"age", "noisyCount", "share"} <= set(words(editor, 4, lines[4].index(" }}"), uri))
    after_dot = words(editor, 5, len(lines[5]), uri)
    assert {"attributes", "label", "age", "age_range"} <= set(after_dot)
    assert "noisyCount" not in after_dot
    assert "age" not in words(editor, 3, 4, uri)


def test_mistakes_are_mended(editor: Editor) -> None:
    (mistake,) = editor.open("def f(db):\n    return nosyCount(db, epsilon)\n")
    where = {"textDocument": {"uri": URI}, "range": mistake["range"], "context": {"diagnostics": [mistake]}}
    (action,) = editor.ask("textDocument/codeAction", **where)
    assert action["title"] == "Write noisyCount"
    assert action["edit"]["changes"] == {URI: [{"range": place(1, 11, 20), "newText": "noisyCount"}]}

    (mistake,) = editor.open("def f(db, queries):\n    return DAWA(db, queries)\n", "file:///programs/y.jst")
    where = {
        "textDocument": {"uri": "file:///programs/y.jst"},
        "range": mistake["range"],
        "context": {"diagnostics": []},
    }
    (action,) = editor.ask("textDocument/codeAction", **where)
    (edit,) = action["edit"]["changes"]["file:///programs/y.jst"]
    assert edit == {"range": place(0, 0, 0), "newText": "from histograms import DAWA\n"}
    elsewhere = {**where, "range": place(0, 0, 0)}
    assert editor.ask("textDocument/codeAction", **elsewhere) == []


def test_without_the_extra_a_sentence_says_what_to_install() -> None:
    """None among the modules is what Python takes for a module that cannot be found."""
    code = "import sys; sys.modules['pygls'] = None; import jostle.lang.server"
    done = ran("-c", code)
    assert done.returncode == 1
    assert done.stderr.endswith('pip install "jostle[lsp]"\n')
    assert "Traceback" not in done.stderr


def test_a_schema_that_a_program_names_is_known(editor: Editor, tmp_path: Path) -> None:
    """Columns and values are checked as one types, and a hover knows what a row adds at most."""
    (tmp_path / "rows.toml").write_text(SCHEMA.to_toml(), "utf-8")
    uri = (tmp_path / "program.jst").as_uri()
    text = "# Schema: rows.toml\n\ndef f(db):\n    return {{ select sum(agee) from db }} spending 5%\n"
    (mistake,) = editor.open(text, uri)
    assert mistake["code"] == "J503"
    assert mistake["message"].endswith("fix: `age` has a similar name")
    assert mistake["range"] == place(3, 25, 29)

    change = {"range": place(3, 25, 29), "text": "age"}
    editor.tell("textDocument/didChange", textDocument={"uri": uri, "version": 2}, contentChanges=[change])
    assert editor.mistakes(uri) == []
    assert editor.hover(uri, 3, 22).endswith("a private number: one row changes it by at most 70")
    assert editor.hover(uri, 3, 26).startswith("column `age`\n\n4 values: [0, 20), ")
    assert editor.hover(uri, 3, 12).endswith("a released number; spends 1/20 of epsilon")
    assert editor.hover(uri, 2, 4).endswith("f spends at most 1/20 of epsilon")

    (tmp_path / "rows.toml").unlink()
    editor.tell("textDocument/didChange", textDocument={"uri": uri, "version": 3}, contentChanges=[{"text": text}])
    (mistake,) = editor.mistakes(uri)
    assert mistake["code"] == "J112"
    assert mistake["range"] == place(0, 10, 19)
