"""What is loaded: whoever calls a command, or opens a table, does not wait for what others need."""

from __future__ import annotations

import json
from pathlib import Path

from processes import ran

PROGRAM = str(Path(__file__).parent.parent.parent / "programs" / "trees.jst")


def loaded_by(code: str) -> set[str]:
    """Return the modules that are loaded after some code in a process of its own."""
    done = ran("-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))", check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_command_loads_itself_alone() -> None:
    modules = loaded_by(
        "import sys\n"
        "from jostle.cli import main\n"
        f"sys.argv = ['jostle', 'check', {PROGRAM!r}]\n"
        "try:\n    main()\nexcept SystemExit as ending:\n    assert not ending.code, ending.code"
    )
    commands = {name for name in modules if name.startswith("jostle.cli.")}
    assert commands == {f"jostle.cli.{name}" for name in ("app", "check", "saying")}
    assert not modules & {"html", "tomllib", "jostle.options"}


def test_an_arrow_table_is_opened_without_what_reads_other_frames_and_files() -> None:
    modules = loaded_by(
        "import jostle, pyarrow as pa\n"
        "schema = jostle.Schema({'a': jostle.Categorical(['x', 'y'])})\n"
        "table = jostle.Table.from_frame(pa.table({'a': pa.array(['x', 'y'])}), schema)\n"
        "jostle.protect(table, epsilon=1)"
    )
    assert "jostle.privacy.vault" in modules
    assert not modules & {
        "narwhals",
        "pyarrow.parquet",
        "pyarrow.dataset",
        "tomllib",
        "jostle.markup",
        "jostle.options",
    }
