"""Mechanisms and Options of one's own, audited from the file that they are in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_here import Run

from jostle.audit import subjects
from jostle.cli.app import app
from jostle.errors import AuditError
from jostle.options.base import forget

MINE = """
from jostle.audit import Subject, histogram_pairs, lifted, register

def noisy(share):
    def run(noise, data, epsilon):
        return int(noise.discrete_laplace(share / epsilon, 1)[0]) + data[0]
    return lifted(run)

def made(name, share):
    pairs = histogram_pairs(2, "add_remove")
    return register(Subject(name=name, module=__name__, about="a count", pairs=pairs, sample=noisy(share)))

Cheater, Honest = made("AQuarterOfTheNoise", "1/4"), made("AllOfTheNoise", 1)

def helper():
    pass
""".replace("share / epsilon", "Fraction(share) / epsilon").replace(
    "\nfrom", "\nfrom fractions import Fraction\nfrom", 1
)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(subjects, "_REGISTERED", dict(subjects._REGISTERED))
    file = tmp_path / "my_mechanisms.py"
    file.write_text(MINE, "utf-8")
    return file


@pytest.mark.parametrize(
    ("name", "verdict", "status"), [("Cheater", "breaks its claim", 1), ("Honest", "within its claim", 0)]
)
def test_a_mechanism_in_a_file_is_audited(command: Run, mine: Path, name: str, verdict: str, status: int) -> None:
    done = command("audit", f"{mine}:{name}", "--samples", "4000", "--json")
    (found,) = json.loads(done.out)

    assert (found["verdict"], done.status) == (verdict, status)


OPTIONS = """
import jostle

@jostle.option(task="grid")
def KeptAudited(db, workload=None, *, epsilon):
    return jostle.options.get("Identity")(db, workload, epsilon=epsilon)

@jostle.option(task="grid")
def GreedyAudited(db, workload=None, *, epsilon):
    return db.histogram(*db.schema.names, epsilon=2 * epsilon)

@jostle.option(task="grid")
def TextAudited(db, workload=None, *, epsilon):
    db.count(epsilon / 2)
    return "an estimate"
"""


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("KeptAudited", 0, "within its claim"),
        ("GreedyAudited", 3, "refused: GreedyAudited/histogram asks for epsilon 2, but 1 is left"),
        ("TextAudited", 1, "TextAudited gives back a value of type str, not an estimate of the cells"),
    ],
)
def test_an_option_in_a_file_is_audited_and_what_a_probe_refuses_is_said(
    command: Run, tmp_path: Path, name: str, status: int, said: str
) -> None:
    file = tmp_path / "my_options.py"
    file.write_text(OPTIONS, "utf-8")
    try:
        done = command("audit", f"{file}:{name}", "--samples", "400")
    finally:
        for each in ("KeptAudited", "GreedyAudited", "TextAudited"):
            forget(each)

    assert done.status == status
    assert said in done.out + done.err


def test_what_is_not_there_to_be_audited_is_said(mine: Path, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"no Option and no Subject 'helper' to audit(.|\n)*fix: .*:Cheater"):
        app(["audit", f"{mine}:helper"], standalone_mode=False)
    with pytest.raises(AuditError, match="there is no file"):
        app(["audit", f"{tmp_path / 'none.py'}:Cheater"], standalone_mode=False)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("raise SystemExit(0)", "Failing ends the process"),
        ("{}[1]", "Failing fails: KeyError: 1"),
    ],
)
def test_an_option_that_fails_is_no_finding_and_no_answer(command: Run, tmp_path: Path, ending: str, said: str) -> None:
    """Neither with status 0, whatever the Option ends with."""
    file = tmp_path / "failing.py"
    file.write_text(
        'import jostle\n\n@jostle.option(task="classification")\ndef Failing(db, *, epsilon):\n'
        f"    db.count(epsilon=epsilon / 2)\n    {ending}\n"
    )
    program = tmp_path / "p.jst"
    program.write_text("from options import Failing\n\ndef answer(db):\n    return Failing(db)\n")
    try:
        audited = command("audit", f"{file}:Failing")
        assert (audited.status, said in audited.err) == (1, True), audited
        done = command("run", str(program), "--with", str(file))
        assert done.status == 1
        assert "until the program stopped, it had bought" in done.out
    finally:
        forget("Failing")
