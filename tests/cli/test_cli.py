"""What commands print, what they load, and how they end."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from processes import LIMIT, ran, started
from run_here import Run

import jostle
from jostle.cli import app
from jostle.errors import FewRowsWarning

PUBLIC = "age,smokes\n31,no\n45,yes\n22,no\n67,no\n18,yes\n50,no\n51,no\n52,yes\n53,no\n54,no\n55,no\n"


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.csv"
    path.write_text(PUBLIC)
    return path


def test_schema_infer_prints_toml_that_reads_back(command: Run, public: Path) -> None:
    schema = jostle.Schema.from_toml(command("schema", "infer", public, "--label", "smokes").out)
    assert schema == jostle.Schema.infer_public(public, label="smokes")
    assert schema.classes == ("no", "yes")


def test_schema_infer_proposes_the_person_in_a_line_whose_mark_can_be_taken_away(command: Run, tmp_path: Path) -> None:
    public, out = tmp_path / "visits.csv", tmp_path / "visits.toml"
    public.write_text("patient_id,ward\n" + "".join(f"p{n // 3},{'AB'[n % 2]}\n" for n in range(60)))
    done = command("schema", "infer", public, "--out", out)
    proposal = (
        'person = "patient_id"  # one value stands in 3 rows: if it says whose each row is, this protects persons'
    )
    assert f"warning: {proposal}\n" in done.err
    text = out.read_text("utf-8")
    assert text.startswith(f"# {proposal}\n")
    assert jostle.Schema.read(out).person is None
    assert jostle.Schema.from_toml(text.removeprefix("# ")).person == "patient_id"


def test_schema_infer_makes_a_vocabulary_of_public_texts_that_the_same_texts_are_not_opened_by(
    command: Run, tmp_path: Path
) -> None:
    texts, schema, program = (tmp_path / name for name in ("texts.csv", "texts.toml", "p.jst"))
    texts.write_text("text,label\nwin free,spam\nwin you,ham\nwin,ham\n")
    words = ("--label", "label", "--texts", "text", "--words", "2", "--out", schema)
    assert command("schema", "infer", texts, *words).status == 0
    found = jostle.Schema.read(schema).features
    assert found is not None
    assert found.names == ("text=win", "text=free")
    program.write_text("from selection import Peeling\n\ndef words(db):\n    return Peeling(db)\n")
    refused = command("run", program, "--data", texts, "--schema", schema, "--epsilon", "1")
    assert (refused.status, "read off this same table" in refused.err) == (1, True)
    assert not list(tmp_path.glob("*.vault"))


def test_a_mistake_is_one_sentence_and_status_1_or_json_where_that_is_asked_for(command: Run) -> None:
    done = command("schema", "infer", "none.csv")
    assert (done.status, done.err.startswith("error: there is no file"), "Traceback" in done.err) == (1, True, False)
    done = command("ledger", "show", "--vault", "none.vault", "--json")
    answer = json.loads(done.out)
    assert answer["status"] == done.status == 1
    assert "no vault" in answer["error"]["title"]


def test_ledger_and_trace_show_what_a_run_spent(command: Run, tmp_path: Path) -> None:
    schema = jostle.Schema({"smokes": jostle.Categorical(["no", "yes"])})
    table = jostle.Table.from_frame(pa.table({"smokes": ["no", "yes", "no", str(tmp_path)]}), schema)
    vault, trace = tmp_path / "v.vault", tmp_path / "t.jsonl"
    db = jostle.protect(table, epsilon="0.5", vault=vault, trace=trace)
    db.count("0.2", site="people")
    with pytest.raises(jostle.JostleError):
        db.count("0.4", site="again")

    (account,) = json.loads(command("ledger", "show", "--vault", vault, "--json").out)["accounts"]
    assert (account["promise"], account["spent"], account["left"]) == ("1/2", "1/5", "3/10")
    assert [line["site"] for line in account["reservations"]] == ["people"]
    assert "0.2 of 0.5 spent, 0.3 left" in command("ledger", "show", "--vault", vault).out
    kinds = [record["kind"] for record in json.loads(command("trace", "json", trace).out)]
    assert kinds == ["opened", "charged", "released", "refused"]
    assert "people" in command("trace", "show", trace).out


def test_audit_of_a_control_says_caught(command: Run) -> None:
    (finding,) = json.loads(command("audit", "PTT", "--samples", "2000", "--json").out)
    assert (finding["name"], finding["verdict"]) == ("PTT", "caught")


def test_it_says_what_there_is_and_which_version_it_is(command: Run) -> None:
    assert [each["name"] for each in json.loads(command("options", "--json").out)] == list(jostle.options.names())
    for flag in ("--version", "-V"):
        assert command(flag).out == f"jostle {version('jostle')}\n"
    done = ran("-m", "jostle", "--help", check=True)
    for name in ("schema", "options", "audit", "trace", "ledger"):
        assert name in done.stdout


SUMS = 'def main(n={}):\n    print("begun")\n    return sum([sum([a * b for a in range(n)]) for b in range(n)])\n'


def test_an_interruption_is_a_sentence_and_status_130(tmp_path: Path) -> None:
    """Ctrl-C while a program computes; the line that it prints first says that it has begun."""
    (tmp_path / "long.jst").write_text(SUMS.format(30000))
    words = ("-u", "-m", "jostle", "run", tmp_path / "long.jst")
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 130
    assert said.endswith("stopped; what was released until then stays recorded\n")


def test_who_is_started_to_ignore_interruptions_ignores_them(tmp_path: Path) -> None:
    """As by `nohup`, or in the background of a script: whoever started it does not want it to hear Ctrl-C."""
    (tmp_path / "short.jst").write_text(SUMS.format(1000))
    words = ("-u", "-m", "jostle", "run", tmp_path / "short.jst")
    with started(*words, hears=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        answer, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 0
    assert answer.startswith("249500250000")
    assert not said


# What commands print with --json has the entries that the page says it has.


PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "files.md").read_text("utf-8")
PROGRAM = """def answer(db):
    a = choose L1 among {stop, go} informed by {epsilon}
    return noisyCount(db, epsilon / 2)
"""
COMMANDS = {
    "`run`, on private data": "run good.jst --data rows.csv --schema rows.toml --epsilon 1 --trace t",
    "`run`, on an example": "run good.jst",
    "`check`, one program": "check good.jst",
    "`check`, several": "check good.jst wrong.jst",
    "`fmt`": "fmt good.jst --check",
    "`explain`": "explain J201",
    "`schema infer`": "schema infer public.csv --label region --out public.toml",
    "`advise`": "advise Majority --schema labelled.toml --rows 1000",
    "`advise --rows-per-person`": "advise --rows-per-person zipf~4~50 --rows 1000 --cells 9",
    "`example`": "example --schema rows.toml --rows 5 --out example.csv",
    "`options`": "options",
    "`reproduce`": "reproduce",
    "`audit`": "audit Majority --samples 400",
    "`trace show`, `trace json`": "trace show t",
    "`trace why`": "trace why t",
    "`ledger show`": "ledger show --vault rows.csv.vault",
    "`vault create`, `show`, `raise`, `backup`": "vault show rows.csv.vault",
}
"""In this order: what later ones look at, earlier ones made."""
LABELLED = """label = "ill"
[columns.age]
kind = "numeric"
low = 0
high = 100
[columns.ill]
kind = "categorical"
values = ["no", "yes"]
"""


def rows_of_the_page() -> dict[str, tuple[str, set[str]]]:
    """For each command whether an object or an array is printed, and its entries."""
    found = re.findall(r"^\| (`.*?) \| an (object|array)[^|]* \| (.*?) \|", PAGE, flags=re.MULTILINE)
    return {command: (kind, set(re.findall(r"`(\w+)`", entries))) for command, kind, entries in found}


def test_what_is_printed_as_json_has_the_entries_on_the_page(command: Run, tmp_path: Path) -> None:
    (tmp_path / "good.jst").write_text(PROGRAM, "utf-8")
    (tmp_path / "wrong.jst").write_text("def answer(db):\n    return nosyCount(db, epsilon)\n", "utf-8")
    (tmp_path / "labelled.toml").write_text(LABELLED, "utf-8")
    (tmp_path / "public.csv").write_text("a,region\n1,x\n2,y\n", "utf-8")
    said = rows_of_the_page()
    assert set(said) == set(COMMANDS)

    for name, words in COMMANDS.items():
        printed: Any = json.loads(command(*(word.replace("~", " ") for word in words.split()), "--json").out)
        kind, entries = said[name]
        assert isinstance(printed, list if kind == "array" else dict), name
        first = set(printed[0] if kind == "array" else printed)
        assert entries <= first if name.startswith("`trace show`") else entries == first, name


# What is loaded: whoever calls a command, or opens a table, does not wait for what others need.


TREES = str(Path(__file__).parent.parent.parent / "programs" / "trees.jst")


def loaded_by(code: str) -> set[str]:
    """Return the modules that are loaded after some code in a process of its own."""
    done = ran("-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))", check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_command_loads_itself_alone() -> None:
    modules = loaded_by(
        "import sys\n"
        "from jostle.cli import main\n"
        f"sys.argv = ['jostle', 'check', {TREES!r}]\n"
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
        "adbc_driver_manager",
        "duckdb",
        "narwhals",
        "pyarrow.parquet",
        "pyarrow.dataset",
        "tomllib",
        "jostle.markup",
        "jostle.options",
    }


# What the command line makes of a warning.


@pytest.mark.filterwarnings("default")
def test_what_is_warned_of_is_a_line_without_the_place_in_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "app", lambda: warnings.warn("9 rows are few\x1b[2J", FewRowsWarning, stacklevel=1))
    monkeypatch.setattr("sys.argv", ["jostle", "run"])
    app.main()
    assert capsys.readouterr().err == "warning: 9 rows are few\\x1b[2J\n"
