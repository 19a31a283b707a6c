"""The command line, as a user meets it: what it prints and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pytest
from processes import LIMIT, ran, started
from run_here import run

import jostle

PUBLIC = "age,smokes\n31,no\n45,yes\n22,no\n67,no\n18,yes\n50,no\n51,no\n52,yes\n53,no\n54,no\n55,no\n"


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.csv"
    path.write_text(PUBLIC)
    return path


def test_schema_infer_prints_toml_that_reads_back(
    public: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "schema", "infer", str(public), "--label", "smokes") == 0
    schema = jostle.Schema.from_toml(capsys.readouterr().out)
    assert schema == jostle.Schema.infer_public(public, label="smokes")
    assert schema.classes == ("no", "yes")


def test_schema_infer_proposes_the_person_in_a_line_whose_mark_can_be_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    public, out = tmp_path / "visits.csv", tmp_path / "visits.toml"
    public.write_text("patient_id,ward\n" + "".join(f"p{n // 3},{'AB'[n % 2]}\n" for n in range(60)))
    assert run(monkeypatch, "schema", "infer", str(public), "--out", str(out)) == 0
    proposal = (
        'person = "patient_id"  # one value stands in 3 rows: if it says whose each row is, this protects persons'
    )
    assert f"warning: {proposal}\n" in capsys.readouterr().err
    text = out.read_text("utf-8")
    assert text.startswith(f"# {proposal}\n")
    assert jostle.Schema.read(out).person is None
    assert jostle.Schema.from_toml(text.removeprefix("# ")).person == "patient_id"


def test_schema_infer_makes_a_vocabulary_of_public_texts_that_the_same_texts_are_not_opened_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, schema, program = (tmp_path / name for name in ("texts.csv", "texts.toml", "p.jst"))
    texts.write_text("text,label\nwin free,spam\nwin you,ham\nwin,ham\n")
    words = ("--label", "label", "--texts", "text", "--words", "2", "--out", str(schema))
    assert run(monkeypatch, "schema", "infer", str(texts), *words) == 0
    found = jostle.Schema.read(schema).features
    assert found is not None
    assert found.names == ("text=win", "text=free")
    capsys.readouterr()
    program.write_text("from selection import Peeling\n\ndef words(db):\n    return Peeling(db)\n")
    opened = ("--data", str(texts), "--schema", str(schema), "--epsilon", "1")
    assert run(monkeypatch, "run", str(program), *opened) == 1
    assert "read off this same table" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.vault"))


def test_a_missing_file_is_one_sentence_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "schema", "infer", str(tmp_path / "none.csv")) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: there is no file")
    assert "Traceback" not in said


def test_mistakes_are_json_where_json_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "ledger", "show", "--vault", str(tmp_path / "none.vault"), "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == 1
    assert "no vault" in answer["error"]["title"]


def test_ledger_and_trace_show_what_a_run_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = jostle.Schema({"smokes": jostle.Categorical(["no", "yes"])})
    table = jostle.Table.from_frame(pa.table({"smokes": ["no", "yes", "no", str(tmp_path)]}), schema)
    vault, trace = tmp_path / "v.vault", tmp_path / "t.jsonl"
    db = jostle.protect(table, epsilon="0.5", vault=vault, trace=trace)
    db.count("0.2", site="people")
    with pytest.raises(jostle.JostleError):
        db.count("0.4", site="again")

    assert run(monkeypatch, "ledger", "show", "--vault", str(vault), "--json") == 0
    (account,) = json.loads(capsys.readouterr().out)["accounts"]
    assert (account["promise"], account["spent"], account["left"]) == ("1/2", "1/5", "3/10")
    assert [line["site"] for line in account["reservations"]] == ["people"]

    assert run(monkeypatch, "ledger", "show", "--vault", str(vault)) == 0
    assert "0.2 of 0.5 spent, 0.3 left" in capsys.readouterr().out

    assert run(monkeypatch, "trace", "json", str(trace)) == 0
    kinds = [record["kind"] for record in json.loads(capsys.readouterr().out)]
    assert kinds == ["opened", "charged", "released", "refused"]
    assert run(monkeypatch, "trace", "show", str(trace)) == 0
    assert "people" in capsys.readouterr().out


def test_audit_of_a_control_says_caught(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "audit", "PTT", "--samples", "2000", "--json") == 0
    (finding,) = json.loads(capsys.readouterr().out)
    assert (finding["name"], finding["verdict"]) == ("PTT", "caught")


def test_options_lists_every_registered_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "options", "--json") == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == list(jostle.options.names())


def test_python_dash_m_works_and_help_is_quick_to_say_what_there_is() -> None:
    done = ran("-m", "jostle", "--help", check=True)
    for command in ("schema", "options", "audit", "trace", "ledger"):
        assert command in done.stdout


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_it_says_which_version_it_is(
    flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, flag) == 0
    assert capsys.readouterr().out == f"jostle {version('jostle')}\n"


LONG = """
def main(n=30000):
    print("begun")
    return sum([sum([a * b for a in range(n)]) for b in range(n)])
"""
SHORT = """
def main(n=1000):
    print("begun")
    return sum([sum([a * b for a in range(n)]) for b in range(n)])
"""


def test_an_interruption_is_a_sentence_and_status_130(tmp_path: Path) -> None:
    """Ctrl-C while a program computes; the line that it prints first says that it has begun."""
    (tmp_path / "long.jst").write_text(LONG)
    words = ("-u", "-m", "jostle", "run", tmp_path / "long.jst")
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 130
    assert said == "stopped; what was released until then stays recorded\n"


def test_who_is_started_to_ignore_interruptions_ignores_them(tmp_path: Path) -> None:
    """As by `nohup`, or in the background of a script: whoever started it does not want it to hear Ctrl-C."""
    (tmp_path / "short.jst").write_text(SHORT)
    words = ("-u", "-m", "jostle", "run", tmp_path / "short.jst")
    with started(*words, hears=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        answer, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 0
    assert answer.startswith("249500250000")
    assert not said
