"""What a program names outside of itself: files that it reads as public, and the schema of the table that it is about.

Of files, whoever runs it says which it may read, before anything of it runs.

The schema is named in the comments at its head, `# Schema: rows.toml`, so that checks and editors know which columns
there are. A run on private data is told with `--schema`. A program may be somebody else's, and looking at it is what
checks are for: it does not say which files of this machine are opened. So what it names is a plain name that ends in
.toml, of a regular file in the program's own folder and of no link, which came with the program or was put there for
it; it is read as a schema and as nothing else, and of one that declares none it is said that it does not, and nothing
of what it holds. Any other is named by whoever checks, with `--schema`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from jostle.errors import Diagnostic, JostleError, Source, Span, shown
from jostle.lang import nodes
from jostle.lang.check import Checked, check
from jostle.lang.messages import Stop, message
from jostle.lang.nodes import defined_in, target_names

if TYPE_CHECKING:
    from jostle.corpora.named import NamedFiles, PublicFiles
    from jostle.tables.schema import Schema

PUBLIC = "public"


def listed(files: PublicFiles | None, path: str) -> NamedFiles:
    """The files named as public at a path; refuse any other, with the same words whether there is one or not."""
    found = None if files is None else files.at(path)
    if found is None:
        raise Stop("J515", path=shown(path))
    return found


def check_files(module: nodes.Module, files: PublicFiles | None) -> Iterator[Diagnostic]:
    """Report calls of `public` with what was not named; where nothing was, all calls.

    A path that is only known while the program runs is refused then.
    """
    if PUBLIC in _own_names(module):
        return
    for node in nodes.walk(module):
        if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Name) and node.function.name == PUBLIC:
            culprit, path = _path(node)
            if path is None and files is not None:
                continue
            try:
                listed(files, "this" if path is None else path)
            except Stop as mistake:
                yield mistake.given(path=None if path is None else shown(path)).at(culprit.span)
            except JostleError:
                continue  # the file was named, and what is wrong with it shows when it is read


def _path(call: nodes.Call) -> tuple[nodes.ExpressionNode, str | None]:
    """The expression in place of a path in a call, and the path, if it is written there."""
    given = [*call.arguments, *(keyword.value for keyword in call.keywords)]
    if len(given) == 1:
        return given[0], given[0].value if isinstance(given[0], nodes.String) else None
    return call, None


def _own_names(module: nodes.Module) -> set[Any]:
    """The names that a program gives a meaning of its own, anywhere."""
    found = {name for name, _, _ in defined_in(module.body)}
    for node in nodes.walk(module):
        match node:
            case nodes.FunctionDefinition():
                found.update(parameter.name for parameter in node.parameters)
                found.update(name for name, _, _ in defined_in(node.body))
            case nodes.Lambda():
                found.update(parameter.name for parameter in node.parameters)
            case nodes.ComprehensionClause():
                found.update(name.name for name in target_names(node.target))
            case _:
                pass
    return found


NAMED = re.compile(r"#\s*Schema:\s*(\S.*?)\s*")
PLAIN = re.compile(r"[^/\\:\0]+\.toml", re.IGNORECASE)
"""Names that lead nowhere else, on any system."""
PROGRAM = ".jst"
MOST_BYTES = 1 << 22
"""An editor reads it again whenever somebody types."""
WHY = "of the files beside it, a program names one that declares a schema, and nothing else is opened for it"
FIX = "jostle check --schema FILE.toml goes by any file, and says what is wrong with it"


def schema_named(source: Source, folder: Path | None = None) -> Schema | Diagnostic | None:
    """The schema that a program names, if it does, or why it cannot be used.

    It is in the program's folder, unless another one is given.
    """
    found = _named(source)
    if found is None:
        return None
    name, span = found
    if folder is None and source.name.endswith(PROGRAM):
        folder = Path(source.name).parent
    schema = "there is no folder that the program is in" if folder is None else _read(folder, name)
    if isinstance(schema, str):
        return message("J112", span, name=name, problem=schema)
    return schema


def _read(folder: Path, name: str) -> Schema | str:
    """The schema in a file, or what is wrong, which says nothing of what the file holds."""
    from jostle.files.content import is_there, read_content  # noqa: PLC0415 - as below
    from jostle.tables.schema import SCHEMA, Schema  # noqa: PLC0415 - without one, no library of numbers is loaded

    place = folder / name
    if not PLAIN.fullmatch(name):
        return "it is no name that ends in .toml, of a file in the program's own folder"
    if place.is_symlink():
        return "it is a link"
    if not is_there(place):
        return "there is no such file"
    try:
        return Schema.from_toml(SCHEMA.decoded(read_content(place, MOST_BYTES).data))
    except JostleError:
        return "it declares no schema"


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
