"""The reference pages say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import jostle
from jostle.cli.saying import INTERRUPTED, MISTAKE, REFUSED
from jostle.trace.records import KINDS

DOCS = Path(__file__).parent.parent / "docs"
FILES = (DOCS / "reference" / "files.md").read_text("utf-8")


def test_the_schema_on_the_page_is_written_as_schemas_are() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", FILES, flags=re.DOTALL | re.MULTILINE)

    schema = jostle.Schema.from_toml(text)
    assert schema.names == ("age", "smokes")
    assert jostle.Schema.from_toml(schema.to_toml()) == schema


def test_the_page_names_every_status_and_kind_of_record() -> None:
    statuses = {int(status) for status in re.findall(r"^\| (\d+) \|", FILES, flags=re.MULTILINE)}
    assert statuses == {0, MISTAKE, 2, REFUSED, INTERRUPTED}
    assert [kind for kind in KINDS if f"`{kind}`" not in FILES] == []
