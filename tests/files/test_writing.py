"""What is saved to a file that cannot be written is refused in a sentence, whatever it is and whoever writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tables_of_labels import correlated, table_of

import jostle
from jostle.errors import JostleError

SCHEMA, ROWS = correlated(120)
TABLE = table_of(ROWS, SCHEMA)
GRID = jostle.Table.from_grid(np.arange(8))


def estimate(path: str) -> None:
    jostle.options.get("Identity")(jostle.rehearse(GRID, seed=1), epsilon=1).write(path)


def published(path: str) -> None:
    jostle.options.get("PrivPfC")(jostle.rehearse(TABLE, seed=1), epsilon=1).write(path)


def model(path: str) -> None:
    jostle.options.get("Majority")(jostle.rehearse(TABLE, seed=1), epsilon=1).save(path)


def selected(path: str) -> None:
    jostle.options.get("FirstFeatures")(jostle.rehearse(TABLE, seed=1), epsilon=1).save(path)


def schema(path: str) -> None:
    SCHEMA.write(path)


def maker(path: str) -> None:
    jostle.pretrained("classification").trained.save(path)


WRITERS = {
    **{f"estimate{ending}": (estimate, ending) for ending in (".csv", ".parquet", ".npy", ".json")},
    **{f"published{ending}": (published, ending) for ending in (".csv", ".parquet", ".json")},
    **{each.__name__: (each, "") for each in (model, selected, schema, maker)},
}


@pytest.mark.parametrize(("write", "ending"), WRITERS.values(), ids=WRITERS.keys())
def test_what_cannot_be_written_is_refused_in_a_sentence(
    write: Callable[[str], None], ending: str, tmp_path: Path
) -> None:
    (tmp_path / f"folder{ending}").mkdir()
    (tmp_path / "file").write_text("")
    for place in (f"folder{ending}", f"file/a{ending}", f"a\0b{ending}"):
        with pytest.raises(JostleError, match="cannot write"):
            write(str(tmp_path / place))
