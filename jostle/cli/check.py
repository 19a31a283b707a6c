"""What is said of programs without data: `jostle check` mistakes, `explain` their kinds, `fmt` the canonical form."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import MISTAKE, Json, With, echo, echo_lines, load_with, report, say, say_json, show_mistakes
from jostle.errors import JostleError

if TYPE_CHECKING:
    from jostle.lang.check import Checked
    from jostle.tables.schema import Schema

PROGRAMS = "*.jst"
TYPED = Path("-")
"""Stands for what is typed in, or comes through a pipe."""


def check(
    programs: Annotated[
        list[Path],
        typer.Argument(metavar="PROGRAM...", help="Files, folders of .jst files, or - for what comes through a pipe."),
    ],
    schema: Annotated[
        Path | None, typer.Option(help="Public facts about a table; if left out, those that the program names.")
    ] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Report all mistakes in programs that can be found without data, and what their functions spend at most."""
    load_with(with_)
    facts = None
    if schema is not None:
        from jostle.tables.schema import Schema

        facts = Schema.read(schema)
    files = list(_files(programs))
    told = [_check(file, facts, as_json=json_) for file in files]
    wrong = sum(result["status"] != 0 for result in told)
    if json_:
        alone = len(programs) == 1 and not programs[0].is_dir()
        say_json(told[0] if alone else {"programs": told, "status": MISTAKE if wrong else 0})
    elif len(files) > 1:
        echo(f"{len(files)} programs, {wrong or 'none'} with mistakes")
    if wrong:
        raise SystemExit(MISTAKE)


def _files(programs: list[Path]) -> Iterator[Path]:
    """Yield the programs that are named, and those in folders, each once."""
    seen: set[Path] = set()
    for program in programs:
        paths = sorted(program.rglob(PROGRAMS)) if program.is_dir() else [program]
        if not paths:
            raise JostleError(f"there is no program in {program}", fix="name a folder with .jst files in it")
        for file in paths:
            if file not in seen:
                seen.add(file)
                yield file


def _check(file: Path, schema: Schema | None, *, as_json: bool) -> dict[str, Any]:
    """Say what is found in a program; return it as plain data."""
    from jostle.lang.parser import read_source, typed_source

    try:
        source = typed_source(sys.stdin.buffer) if file == TYPED else read_source(file)
    except JostleError as mistake:
        if not as_json:
            echo_lines(f"error: {mistake}", err=True)
        return {"program": str(file), "diagnostics": [], "error": mistake.facts(), "status": MISTAKE}
    from jostle.lang.check import check as check_program
    from jostle.lang.references import check_named

    checked, facts = check_named(source) if schema is None else (check_program(source, schema), schema)
    if not as_json:
        _say(checked, facts)
    mistakes = [diagnostic.as_data() for diagnostic in checked.diagnostics]
    return {"program": source.name, "diagnostics": mistakes, "status": MISTAKE if mistakes else 0}


def _say(checked: Checked, schema: Schema | None) -> None:
    from jostle.lang.roots import runs_something

    source = checked.source
    if checked.diagnostics:
        show_mistakes(source, checked.diagnostics)
        return
    if not runs_something(checked.module):
        echo(f"{source.name}: nothing to run; write a function: def answer(db):")
        return
    echo(f"{source.name}: no mistakes found")
    for price in checked.pricing.prices(schema).values():
        echo(f"  {price.text}")


def explain(
    code: Annotated[str, typer.Argument(help="A code from a message, J201.")],
    json_: Json = False,
) -> None:
    """Explain a kind of mistake: the rule, a wrong program and a right one."""
    from jostle.lang.codes import explain as explain_code

    kind = explain_code(code)
    if json_:
        say_json(kind.as_data())
    else:
        echo_lines(kind.as_text())


def fmt(
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    check: Annotated[bool, typer.Option("--check", help="Only say whether it would change.")] = False,
    json_: Json = False,
) -> None:
    """Write a program in its canonical form, comments kept."""
    from jostle.lang.parser import parse_text, read_source
    from jostle.lang.printer import show

    source = read_source(program)
    parsed = parse_text(source)
    report(source, parsed.diagnostics, as_json=json_ and bool(parsed.diagnostics))
    text = show(parsed.module)
    changed = text.encode() != program.read_bytes()
    if changed and not check:
        program.write_bytes(text.encode())
    words = ("would change" if check else "rewritten") if changed else "unchanged"
    say(f"{program}: {words}", {"program": str(program), "changed": changed, "diagnostics": []}, json_)
    if changed and check:
        raise SystemExit(MISTAKE)
