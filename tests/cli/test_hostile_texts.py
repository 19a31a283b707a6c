"""Texts that would steer a terminal: shown by every command, and steering nothing.

Whoever writes a program, a schema, a site or a file's name writes what the owner of the data reads on a screen. Here
they write what clears lines, sets titles, turns the writing round, begins lines of their own and is painted red.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer
from attrs import fields
from typer.main import get_command

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.cli import main, saying
from jostle.cli.app import app
from jostle.errors import JostleError, SchemaError
from jostle.lang.program import load
from jostle.owner.log import Decided, KeyMade, Log, Noted, Settled, Shared, Waits
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
from jostle.trace import records
from jostle.visible import visible

EVIL = "\x1b[2K\x1b]0;owned\x07[red]no[/red]\u202e\u200b\x9b1A\r\x7f\nleft 100"
"""Clears the line, sets the title, would be a style, turns the writing round, goes up, and says what is left."""
SHOWN = visible(EVIL)
HIDDEN = "[red]no[/red]\u200b\u200d"
"""What a schema may hold: it steers nothing, but is not seen as it is."""
COMMAND = tuple[str, ...]


def safe(text: str) -> bool:
    """Return whether a text steers no terminal, and has no line that only says what is left."""
    return all(character.isprintable() or character == "\n" for character in text) and "\nleft 100" not in text


def commands(group: Any = None, words: COMMAND = ()) -> Iterator[COMMAND]:
    """Yield the words of every command there is."""
    group = get_command(app) if group is None else group
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


# What commands are pointed at


def named(folder: Path, ending: str, content: str | bytes = "") -> str:
    """Return the path of a file with a hostile name."""
    path = folder / f"{EVIL.replace('/', '-')}{ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def program(folder: Path) -> str:
    """Return a program that prints a hostile text, and gives it back. Lines that it prints are its own."""
    text, line = ("".join(f"\\u{ord(letter):04x}" for letter in given) for given in (EVIL, EVIL.partition("\n")[0]))
    head = f'def main(text="{text}", line="{line}"):'
    return named(folder, ".jst", f"{head}\n    print(line)\n    return {{text: [text, 1]}}\n")


def wrong_program(folder: Path) -> str:
    """Return a program with mistakes beside hostile texts."""
    text = f'def main():\n    # {EVIL.partition(chr(10))[0]}\n    return nothing + "\x1b[2K\u202e"\n'
    return named(folder, " wrong.jst", text)


def stopping_program(folder: Path) -> str:
    """Return a program that stops while it runs, having hostile texts in hand."""
    return named(folder, " stopping.jst", 'def main(text="\x1b[2K\u202e"):\n    return {text: 1}[text + text]\n')


def schema_of(folder: Path) -> str:
    """Return a schema with the worst that there can be in one."""
    return named(folder, ".toml", SCHEMA.to_toml())


SCHEMA = Schema({HIDDEN: Numeric(0, 1), "ill": Categorical(["no", f"yes{HIDDEN}"])}, label="ill")


def rows_of(folder: Path) -> str:
    """Return private rows of that schema, one of them outside of it."""
    return named(folder, ".csv", f"{HIDDEN},ill\n0,no\n5,no\n1,maybe\n")


def vault(folder: Path) -> str:
    """Return a vault into which hostile texts were written by other means than Jostle's."""
    path = named(folder, ".vault")
    Path(path).unlink()
    keeper = FileVault(path)
    keeper.create(Fraction(1), TableFacts(("a",)))
    keeper.open(None, TableFacts(("a",))).pay(Fraction(1, 2), "count")
    connection = sqlite3.connect(path)
    connection.execute(
        "UPDATE tables SET columns = ?, name = ?, person = ?, rows_per_person = 2", (json.dumps([EVIL]), EVIL, EVIL)
    )
    connection.execute("UPDATE accounts SET people = ?", (EVIL,))
    connection.execute("UPDATE promises SET reason = ?", (EVIL,))
    connection.execute("UPDATE reservations SET site = ?", (EVIL,))
    connection.commit()
    connection.close()
    return path


def trace(folder: Path) -> str:
    """Return a trace whose every text is hostile."""
    made = []
    for kind in records.KINDS.values():
        given = {each.name: FACTS.get(each.name, EVIL) for each in fields(kind) if each.init}
        made.append(records.to_json(kind(**given)))
    return named(folder, ".jsonl", "".join(f"{line}\n" for line in made))


FACTS: dict[str, Any] = {
    "private": True,
    "columns": (EVIL,),
    "public_rows": 7,
    "size": 1,
    "databases": 1,
    "paths": (EVIL,),
    "files": ((EVIL, EVIL),),
    "values": (1,),
    "unit": Fraction(1, 4),
    "whole": True,
    "seen": ((EVIL, 1.0, 2.0),),
    "usual": ((EVIL, 0.1, 0.9),),
    "predicted": ((EVIL, 0.5, 0.1), (f"{EVIL} too", 0.7, 0.1)),
    "taken": ((EVIL, 1),),
    **dict.fromkeys(("promise", "epsilon", "spent", "left", "scale"), Fraction(1)),
}
"""What else a record holds."""


def public(folder: Path) -> str:
    """Return a public table with hostile names and values."""
    return named(folder, " public.csv", f"{HIDDEN},ill\n" + "0,no\n1,\u202eno\n" * 6)


def owner(folder: Path) -> str:
    """Return an owner's file, beside a log into which hostile texts were written by other means than an office's."""
    path = folder / "owned" / "owner.toml"
    if path.exists():
        return str(path)
    path.parent.mkdir()
    schema = Schema({"age": Numeric(0, 1)})
    schema.write(folder / "owned" / "rows.toml")
    path.write_text('[tables.ward]\nschema = "rows.toml"\nmade_up = 5\npromise = "1"\n', "utf-8")
    (folder / "owned" / "served").mkdir()
    log = Log(folder / "owned" / "served" / "audit.jsonl")
    facts = (
        KeyMade(EVIL, EVIL, "analyst", (EVIL,), EVIL, "2030-01-01T00:00:00+00:00"),
        Shared(1, "ward", EVIL, Fraction(1, 2), EVIL),
        Waits(1, "ward", EVIL, json.dumps({"kind": EVIL, EVIL: EVIL}), Fraction(1)),
        Decided(1, approved=True, reason=EVIL),
        Settled("ward", EVIL, EVIL, 1, json.dumps({"kind": EVIL}), Fraction(1), Fraction(1, 4), "answered"),
        Noted("ward", EVIL, (EVIL,)),
        Waits(2, "ward", EVIL, json.dumps({"kind": EVIL, EVIL: EVIL}), Fraction(1)),
    )
    log.write(lambda _: iter([(EVIL, fact) for fact in facts]))
    log.close()
    return str(path)


def bad_owner(folder: Path) -> str:
    """Return an owner's file with a hostile name and entries."""
    written = json.dumps(EVIL).replace("\x7f", "\\u007f")
    return named(folder, ".toml", f'[tables.{written}]\nschema = {written}\nmade_up = 5\npromise = "1"\n')


Words = Callable[[Path], list[list[str]]]
CASES: dict[COMMAND, Words] = {
    ("check",): lambda at: [[wrong_program(at)], [program(at), "--schema", schema_of(at)]],
    ("fmt",): lambda at: [[program(at), "--check"], [EVIL]],
    ("explain",): lambda at: [[EVIL], [EVIL, "--json"]],
    ("run",): lambda at: [
        [program(at), "--force", f"{EVIL}={EVIL}"],
        [stopping_program(at)],
        [named(at, " count.jst", COUNT), "--epsilon", "1", "--data", rows_of(at), "--schema", schema_of(at)],
    ],
    ("train",): lambda at: [[f"{EVIL}.jst"], [program(at), "--entry", EVIL]],
    ("evaluate",): lambda at: [[EVIL, "--databases", str(at), "--epsilon", "1"]],
    ("advise",): lambda at: [
        [EVIL, "--schema", schema_of(at), "--rows", "9"],
        ["--schema", schema_of(at), "--rows", "9", "--loss", EVIL],
    ],
    ("example",): lambda at: [["--schema", EVIL, "--rows", "3", "--out", f"{EVIL}/none.csv"]],
    ("audit",): lambda at: [[EVIL], [EVIL, "--json"]],
    ("options",): lambda at: [["--task", EVIL]],
    ("reproduce",): lambda at: [[EVIL], [EVIL, "--json"]],
    ("schema", "infer"): lambda at: [[public(at), "--label", EVIL], [public(at), "--json"]],
    ("ledger", "show"): lambda at: [["--vault", vault(at)], ["--vault", vault(at), "--json"]],
    ("vault", "create"): lambda at: [[f"{vault(at)} new", "--epsilon", "1"], [vault(at), "--epsilon", EVIL]],
    ("vault", "show"): lambda at: [[vault(at)], [vault(at), "--json"]],
    ("vault", "raise"): lambda at: [
        [EVIL, "--epsilon", "2", "--reason", "more is needed"],
        [vault(at), "--epsilon", "2", "--reason", EVIL],
    ],
    ("vault", "backup"): lambda at: [[vault(at), f"{vault(at)} copy"], [EVIL, EVIL]],
    ("serve",): lambda at: [[EVIL], [bad_owner(at)]],
    ("connect",): lambda at: [[f"http://{EVIL}", "--token", "x"]],
    ("key", "make"): lambda at: [[owner(at), EVIL], [bad_owner(at), "ada"]],
    ("key", "show"): lambda at: [[owner(at)]],
    ("key", "revoke"): lambda at: [[owner(at), EVIL]],
    ("share", "give"): lambda at: [[owner(at), EVIL, "ada", "--epsilon", "1/4"]],
    ("share", "show"): lambda at: [[owner(at)]],
    ("share", "revoke"): lambda at: [[bad_owner(at), "1", "--reason", EVIL]],
    ("approve",): lambda at: [[owner(at)], [bad_owner(at), "1", "--reason", EVIL]],
    ("audit-log", "verify"): lambda at: [[EVIL], [owner(at), "--head", EVIL]],
    ("audit-log", "export"): lambda at: [[owner(at)], [owner(at), "--out", f"{EVIL}/none"]],
    ("trace", "show"): lambda at: [[trace(at)], [trace(at), "--json"]],
    ("trace", "json"): lambda at: [[trace(at)]],
    ("trace", "why"): lambda at: [[trace(at)], [EVIL]],
}
"""For each command, what it is called with: a command without a case fails."""
COUNT = "def main(db):\n    return {{ len(db) }}\n"
SILENT = {("options",), ("connect",)}
"""Commands that show nothing of what they are given."""


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command prints, as a terminal would get it."""
    monkeypatch.setattr(sys, "argv", ["jostle", *words])
    monkeypatch.setattr(sys.modules[typer.echo.__module__], "should_strip_ansi", lambda *_, **__: False)
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit):
        main()
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.filterwarnings("ignore")  # of a schema that leaves values out, say
@pytest.mark.parametrize("command", CASES, ids=" ".join)
def test_nothing_that_a_command_shows_steers_the_screen(
    command: COMMAND, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path / "home"))
    quoted = ""
    for place in range(len(CASES[command](_folder(tmp_path, "look")))):
        words = CASES[command](_folder(tmp_path, str(place)))[place]
        shown = said(monkeypatch, capsys, *command, *words)
        assert safe(shown), (words, shown)
        quoted += shown
    assert any(f"{escape}[2K" in quoted for escape in ("\\x1b", "\\u001b")) or command in SILENT
    assert any(f"[red]no[{sign}red]" in quoted for sign in "/-") or command in SILENT


def _folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


def test_a_command_that_prints_as_it_likes_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(saying, "visible", str)
    monkeypatch.setattr(saying, "visible_lines", str)
    assert not safe(said(monkeypatch, capsys, "ledger", "show", "--vault", vault(tmp_path)))
    assert not safe(said(monkeypatch, capsys, "run", program(tmp_path)))


# Where texts come in


def test_a_site_is_kept_as_it_is_shown(tmp_path: Path) -> None:
    kept = records.Trace(tmp_path / "trace.jsonl")
    table = Table.from_grid([1, 2, 3])
    db = jostle.protect(table, epsilon=1, vault=tmp_path / "v", trace=kept)
    db.count(Fraction(1, 4), site=EVIL)
    db.allot(Fraction(1, 4), site=EVIL).count(Fraction(1, 8), site=EVIL)

    assert [charge.site for charge in db.charges] == [SHOWN, SHOWN]
    assert [each.site for each in FileVault(tmp_path / "v").statement().reservations] == [SHOWN, SHOWN]
    assert {each.site for each in kept.records[1:]} == {SHOWN, f"{SHOWN}/{SHOWN}"}  # type: ignore[union-attr]  # not Opened
    with pytest.raises(JostleError) as refusal:
        db.count(9, site=EVIL)
    assert SHOWN in refusal.value.title
    with pytest.raises(JostleError, match="not a text"):
        db.count(Fraction(1, 8), site=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x1b[1m", "\x00", "\x7f", "\x9b", "a\u2028b", "\u202eb", "a\u2066"])
def test_a_schema_holds_nothing_that_steers(text: str) -> None:
    for make in (lambda: Schema({text: Numeric(0, 1)}), lambda: Categorical(["no", text])):
        with pytest.raises(SchemaError, match="holds control characters") as refusal:
            make()
        assert safe(str(refusal.value))
    with pytest.raises(SchemaError, match="holds control characters"):
        Schema.from_toml(f"[columns.a]\nkind = 'categorical'\nvalues = ['no', {json.dumps(text)}]\n")


def test_public_texts_that_steer_are_not_declared(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\x1b\nyes,1\nno\x1b[2K,2\n", "utf-8")
    with pytest.warns(UserWarning, match="control characters") as warned:
        schema = Schema.infer_public(tmp_path / "t.csv")
    assert schema.names == ("a",)
    assert schema["a"] == Categorical(["yes"])
    assert len(warned) == 2
    assert all(safe(str(each.message)) for each in warned)


def test_errors_say_what_they_quote() -> None:
    error = JostleError(f"there is no {EVIL}", why=f"see {EVIL}", fix=EVIL)

    assert safe(str(error))
    assert str(error).count("\\x1b[2K") == 3
    assert error.title == f"there is no {EVIL}"


def test_a_program_that_is_run_in_python_prints_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(program(tmp_path)).run("main")

    assert capsys.readouterr().out.splitlines()[0] == SHOWN.partition("\\n")[0]
