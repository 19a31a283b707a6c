"""Answers as frames of the library that whoever asks has, and as files of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from jostle.errors import OptionError

PARQUET = (".parquet", ".pq")
"""Endings of such files."""
Frames = Literal["pyarrow", "pandas", "polars"]


def as_frame(arrow: pa.Table, library: Frames = "pyarrow") -> Any:
    """An Arrow table as a frame of a library."""
    if library == "pyarrow":
        return arrow
    import narwhals as nw  # noqa: PLC0415 - it takes its time to load

    wrapped = nw.from_native(arrow, eager_only=True)
    try:
        if library == "pandas":
            return wrapped.to_pandas()
        if library == "polars":
            return wrapped.to_polars()
    except ModuleNotFoundError:
        raise OptionError(f"{library} is not installed", fix=f"pip install {library}, or to_frame()") from None
    raise OptionError(f"no frames of {library!r} are made", fix='"pyarrow", "pandas" or "polars"')


def write_frame(arrow: pa.Table, path: Path) -> None:
    """Write an Arrow table to a file: Parquet if it is called so, else CSV."""
    if path.suffix.lower() in PARQUET:
        import pyarrow.parquet as pa_parquet  # noqa: PLC0415 - it takes its time to load

        pa_parquet.write_table(arrow, path)
    else:
        import pyarrow.csv as pa_csv  # noqa: PLC0415 - as above

        pa_csv.write_csv(arrow, path)
