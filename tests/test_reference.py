"""The reference pages say what the code does."""

from __future__ import annotations

import gzip
import pkgutil
import re
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import jostle
from jostle.cli.app import COMMANDS, Commands
from jostle.cli.saying import INTERRUPTED, MISTAKE, REFUSED
from jostle.corpora.databases import PublicTable
from jostle.corpora.folders import GROUPS, GROUPS_FILE, TABLE_ENDINGS, public, stem_of
from jostle.corpora.named import MOST_FILES
from jostle.files.content import MOST_BYTES
from jostle.tables.readers import GRID_ENDING
from jostle.tables.schema import KINDS, NOT_IN_FILES
from jostle.tables.values import UNITS
from jostle.trace import records

DOCS = Path(__file__).parent.parent / "docs"
FILES = (DOCS / "reference" / "files.md").read_text("utf-8")
CORPORA = (DOCS / "reference" / "corpora.md").read_text("utf-8")
PYTHON = (DOCS / "reference" / "python.md").read_text("utf-8")


def _toml(page: str) -> str:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    return str(text)


def test_the_schema_on_the_page_is_written_as_schemas_are() -> None:
    schema = jostle.Schema.from_toml(_toml(FILES))

    assert schema.to_toml() == _toml(FILES)
    assert (schema.names, schema.identifiers) == (("age", "born", "region", "smokes"), ("patient",))
    assert schema.features is not None
    assert schema.features.names == ("remarks=cough", "remarks=fever")
    assert schema["region"].levels == ((0, 0, 0), (0, 0, 1), (0, 1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_every_entry_of_a_column_means(kind: str) -> None:
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", FILES, flags=re.MULTILINE)
    said = {name for names, of in rows if kind in of for name in re.findall(r"`(\w+)`", names)}

    assert f"`{kind}`" in FILES
    assert said == set(signature(KINDS[kind]).parameters) - NOT_IN_FILES


def test_the_page_names_every_unit_of_dates() -> None:
    assert [unit for unit in UNITS if f"`{unit}`" not in FILES] == []


def test_the_page_names_every_status_and_kind_of_record() -> None:
    statuses = {int(status) for status in re.findall(r"^\| (\d+) \|", FILES, flags=re.MULTILINE)}
    assert statuses == {0, MISTAKE, 2, REFUSED, INTERRUPTED}
    assert [kind for kind in records.KINDS if f"`{kind}`" not in FILES] == []


def test_the_page_names_every_logger_and_no_other() -> None:
    root = Path(jostle.__file__).parent
    having = [path for path in root.rglob("*.py") if "getLogger(__name__)" in path.read_text("utf-8")]
    names = {".".join(("jostle", *path.relative_to(root).with_suffix("").parts)) for path in having}

    assert set(re.findall(r"^\| `(jostle[\w.]+)` \|", FILES, flags=re.MULTILINE)) == names


def test_the_reference_of_python_has_every_public_name() -> None:
    named = re.findall(r"^::: ([\w.]+)$", PYTHON, flags=re.MULTILINE)
    found = [pkgutil.resolve_name(name) for name in named]

    assert len(set(named)) == len(named)
    assert [name for name in jostle.__all__ if not any(getattr(jostle, name) is each for each in found)] == []


def commands() -> dict[str, Any]:
    """Return every command by its words: `trace show`."""
    found: dict[str, Any] = {}
    group = Commands(name="jostle")
    for name in COMMANDS:
        command = group.get_command(None, name)
        below = getattr(command, "commands", None)
        found |= {name: command} if below is None else {f"{name} {each}": below[each] for each in below}
    return found


def test_the_page_of_commands_has_all_of_them_and_each_has_json() -> None:
    page = (DOCS / "reference" / "commands.md").read_text("utf-8")
    assert set(re.findall(r"^\| `jostle ([a-z-]+(?: [a-z]+)?)", page, flags=re.MULTILINE)) == set(commands())
    assert [
        name for name, command in commands().items() if not any("--json" in each.opts for each in command.params)
    ] == []


def test_the_folder_on_the_page_is_read_as_the_page_says(tmp_path: Path) -> None:
    (drawn,) = re.findall(r"^```text\n(.*?)^```$", CORPORA, flags=re.DOTALL | re.MULTILINE)
    names = re.findall(r"^  (\S+) ", drawn, flags=re.MULTILINE)
    table = PublicTable.of("any", {"x": ["1", "?"], "label": ["a", "b"]}).columns
    for name in names:
        if name.endswith(GRID_ENDING):
            np.save(tmp_path / name, np.array([[1.0, 2.0]]))
        elif name == GROUPS:
            (tmp_path / name).write_text(_toml(CORPORA), "utf-8")
        elif name.endswith(".parquet"):
            pq.write_table(table, tmp_path / name)
        elif name.endswith(".csv.gz"):
            (tmp_path / name).write_bytes(gzip.compress(b"x,label\n1,a\n?,b\n3,?\n"))
        else:
            (tmp_path / name).write_text("passed over", "utf-8")

    corpus = public(tmp_path)

    assert corpus.problems == ()
    assert corpus.groups == {"census": ("adult", "nursery"), "taxi_map": ("taxi_map",)}
    (adult, _) = corpus.tables
    assert (len(adult), adult.columns["x"].to_pylist()) == (2, [1.0, None])
    assert [grid.shape for grid in corpus.grids] == [(1, 2)]


def test_the_page_names_every_ending_and_the_limits() -> None:
    endings = set(re.findall(r"`(\.\w+)`", CORPORA))

    assert {part for ending in (*TABLE_ENDINGS, GRID_ENDING) for part in re.findall(r"\.\w+", ending)} == endings
    assert all(stem_of(Path(f"a{ending}")) == "a" for ending in TABLE_ENDINGS)
    assert (MOST_BYTES, GROUPS_FILE.most_bytes) == (2**33, 2**25)
    assert f"{MOST_FILES:,}" in CORPORA
