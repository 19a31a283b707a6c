"""The schema that a program names in the comments at its head: `# Schema: rows.toml`, a file beside it.

So that checks and editors know which columns there are. A run on private data is told with `--schema`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from jostle.errors import Diagnostic, SchemaError, Source, Span
from jostle.lang.check import Checked, check

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["check_named", "schema_named"]

NAMED = re.compile(r"#\s*Schema:\s*(\S.*?)\s*")


def schema_named(source: Source, folder: Path | None = None) -> Schema | Diagnostic | None:
    """The schema that a program names, if it does, or why it cannot be used.

    Its path is seen from the program's folder, unless another one is given.
    """
    found = _named(source)
    if found is None:
        return None
    from jostle.files.content import is_regular, is_there  # noqa: PLC0415 - as below
    from jostle.tables.schema import Schema  # noqa: PLC0415 - without one, no library of numbers is loaded

    path, span = found
    place = (Path(source.name).parent if folder is None else folder) / path
    try:
        if is_there(place) and not is_regular(place):  # a program could name a pipe, which would be waited for
            raise SchemaError(f"{path}: it is no file", fix="name a file")  # noqa: TRY301 - given its place below
        return Schema.read(place)
    except SchemaError as mistake:
        unread = path in mistake.title
        title = mistake.title.rpartition(f"{path}: ")[2] if unread else mistake.title
        why = mistake.why or "the comment names the schema that the program is checked against"
        fix = (
            None if unread else mistake.fix
        ) or "name a schema file as seen from the program, or take the comment out"
        return Diagnostic("J112", f"the schema `{path}` cannot be used: {title}", span, why, fix)


def check_named(source: Source, folder: Path | None = None) -> tuple[Checked, Schema | None]:
    """A program's tree and its mistakes, on tables with the schema it names, and that schema."""
    found = schema_named(source, folder)
    if isinstance(found, Diagnostic):
        checked = check(source)
        return evolve(checked, diagnostics=(found, *checked.diagnostics)), None
    return check(source, found), found


def _named(source: Source) -> tuple[str, Span] | None:
    for number, line in enumerate(source.lines, start=1):
        if line.strip() and not line.startswith("#"):
            return None
        if match := NAMED.fullmatch(line):
            return match[1], Span(number, match.start(1) + 1, number, match.end(1) + 1)
    return None
