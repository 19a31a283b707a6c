"""Lines of `logging`: where no frame holds private rows, and nowhere else.

A handler is code of whoever installed it, and runs on top of the frames that log: an Option could install one, and look
at the frames below. So lines come from owners' commands on vaults, from listing public databases and from training,
inside which Options' own code runs anyway.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from run_here import ran

import jostle
from jostle.corpora.databases import PublicGrid
from jostle.corpora.folders import read_folder


def test_training_and_listing_say_what_they_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="jostle")
    np.save(tmp_path / "a.npy", np.arange(32))
    (tmp_path / "b\x1b[2K.csv").write_text("x\n1\n")
    read_folder(tmp_path)
    grids = [PublicGrid.of(name, np.arange(1, 17) * size) for name, size in (("a", 9), ("b", 90))]
    maker = jostle.MkChoiceMaker(among=["Identity", "Uniform"], trained_on=grids, label="choice\x1b[2K")
    assert maker.trained.summary

    lines = [(record.name, record.getMessage()) for record in caplog.records]
    assert ("jostle.corpora.folders", f"{tmp_path}: 1 public databases, 1 files that are none") in lines
    assert any(name == "jostle.choice.makers.making" and "learned from" in said for name, said in lines)
    assert not any("\x1b" in said for _, said in lines)


def test_owners_commands_on_vaults_leave_lines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="jostle")
    vault, copy = tmp_path / "v.vault", tmp_path / "copy"
    for words in (("create", vault, "--epsilon", "1"), ("raise", vault, "--epsilon", "2", "--reason", "a second year")):
        assert ran(monkeypatch, capsys, "vault", *words).status == 0
    assert ran(monkeypatch, capsys, "vault", "backup", vault, copy).status == 0

    said = [record.getMessage() for record in caplog.records if record.name == "jostle.cli.vault"]
    assert said == [
        f"made {vault}: epsilon 1",
        f"raised {vault} to epsilon 2: a second year",
        f"copied {vault} to {copy}",
    ]


def test_nothing_is_logged_while_private_rows_are_asked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    db = jostle.protect(jostle.Table.from_grid(np.arange(64)), epsilon=3)
    db.count("1/2")
    jostle.options.get("ShrunkTree")(db, epsilon=1)

    assert [record for record in caplog.records if record.name.startswith("jostle")] == []
