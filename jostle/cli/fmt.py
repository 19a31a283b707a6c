"""`jostle fmt`: a program in its canonical form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import MISTAKE, Json, report, say

app = typer.Typer(add_completion=False)


@app.command()
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
