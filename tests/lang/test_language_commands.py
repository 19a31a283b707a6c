"""check, fmt and explain, as a user meets them."""

from __future__ import annotations

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from small_tables import SCHEMA

from jostle.cli import main

WRONG = "def f(x):\n    y = 1\n    return z\n"


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run the command in this process and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["jostle", *words])
    with pytest.raises(SystemExit) as ending:
        main()
    return int(ending.value.code or 0)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.jst"
    path.write_text(WRONG)
    return path


def test_check_prints_mistakes_and_ends_with_1(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "check", str(program)) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "error[J101]: `z` is not defined\n"
        f" --> {program}:3:12\n"
        "  |\n"
        "3 |     return z\n"
        "  |            ^\n"
        "  |\n"
        "  = why: a name is a parameter, or was given a value, imported or defined before\n"
        "  = fix: give it a value first: z = ...\n"
    )


def test_check_of_a_good_program_says_so(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text("x = 1\n")
    assert run(monkeypatch, "check", str(program)) == 0
    assert capsys.readouterr().out == f"{program}: no mistakes found\n"


def test_check_as_json(program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "check", str(program), "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == 1
    (mistake,) = told["diagnostics"]
    assert (mistake["code"], mistake["line"], mistake["column"], mistake["end_column"]) == ("J101", 3, 12, 13)
    program.write_text("x = 1\n")
    assert run(monkeypatch, "check", str(program), "--json") == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"] == []


def test_a_missing_file_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "check", str(tmp_path / "none.jst")) == 1
    assert "cannot read" in capsys.readouterr().err


def test_check_of_several_programs_a_folder_and_what_is_typed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "some" / "inside"
    folder.mkdir(parents=True)
    good, wrong = tmp_path / "some" / "good.jst", folder / "wrong.jst"
    good.write_text("def answer(db):\n    return {{ len(db) }}\n")
    wrong.write_text("def answer(db):\n    return x\n")
    assert run(monkeypatch, "check", str(tmp_path / "some"), str(good)) == 1
    shown = capsys.readouterr()
    told = f"{good}: no mistakes found\n  answer spends at most epsilon\n2 programs, 1 with mistakes\n"
    assert shown.out == told
    assert f"--> {wrong}:2:12" in shown.err
    assert run(monkeypatch, "check", str(good), str(tmp_path / "none.jst"), str(wrong), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["status"] for each in found["programs"]] == [0, 1, 1]
    assert found["programs"][1]["error"]["title"].startswith("cannot read the program")
    assert found["programs"][2]["diagnostics"][0]["code"] == "J101"
    assert found["status"] == 1
    good.unlink()
    wrong.unlink()
    assert run(monkeypatch, "check", str(tmp_path / "some")) == 1
    assert "there is no program in" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"def answer(db):\n    return x\n")))
    assert run(monkeypatch, "check", "-") == 1
    assert "--> <stdin>:2:12" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"\xff")))
    assert run(monkeypatch, "check", "-") == 1
    assert "cannot read the program <stdin>: it is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n", "from trees import Mohammed\n"])
def test_check_of_an_empty_program_says_that_there_is_nothing_to_run(
    text: str, program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(text)
    assert run(monkeypatch, "check", str(program)) == 0
    assert capsys.readouterr().out == f"{program}: nothing to run; write a function: def answer(db):\n"


def test_explain_knows_the_codes_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "explain", "J399") == 1
    assert "why: the codes of budget are J301, J302, J303" in capsys.readouterr().err
    assert run(monkeypatch, "explain", "J999") == 1
    assert "why: the codes of a mistake of ours are J901, J902" in capsys.readouterr().err
    assert run(monkeypatch, "explain", "201") == 1
    assert "why: there are J001 to J017 (syntax), J101 to " in capsys.readouterr().err


def test_fmt_writes_and_check_only_looks(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text("x=1 # one\n")
    assert run(monkeypatch, "fmt", str(program), "--check") == 1
    assert program.read_text() == "x=1 # one\n"
    assert run(monkeypatch, "fmt", str(program)) == 0
    assert program.read_text() == "x = 1  # one\n"
    assert run(monkeypatch, "fmt", str(program), "--check") == 0
    assert capsys.readouterr().out == f"{program}: would change\n{program}: rewritten\n{program}: unchanged\n"


COLUMNS = "def answer(db):\n    return {{ select count() from db where regin == 'north' }}\n"


def test_check_with_a_schema_knows_columns(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(COLUMNS)
    schema = program.with_name("rows.toml")
    SCHEMA.write(schema)
    assert run(monkeypatch, "check", str(program)) == 0
    assert run(monkeypatch, "check", str(program), "--schema", str(schema)) == 1
    told = capsys.readouterr().err
    assert "error[J503]: there is no column `regin`" in told
    assert "= fix: `region` has a similar name" in told
    assert run(monkeypatch, "check", str(program), "--schema", str(schema), "--json") == 1
    (mistake,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert mistake["code"] == "J503"

    program.write_text(f"# Schema: rows.toml\n{COLUMNS}")
    assert run(monkeypatch, "check", str(program)) == 1
    program.write_text(f"# Schema: rows.toml\n{COLUMNS.replace('regin', 'region')}")
    assert run(monkeypatch, "check", str(program)) == 0
    assert "answer spends at most epsilon" in capsys.readouterr().out
    schema.unlink()
    assert run(monkeypatch, "check", str(program)) == 1
    assert "error[J112]: the schema `rows.toml` cannot be used" in capsys.readouterr().err


def test_fmt_leaves_a_program_that_it_cannot_read_as_it_is(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text("x = = 1\n")
    assert run(monkeypatch, "fmt", str(program)) == 1
    assert program.read_text() == "x = = 1\n"
    assert "error[J007]" in capsys.readouterr().err
    assert run(monkeypatch, "fmt", str(program), "--json") == 1
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["code"] == "J007"


def test_fmt_as_json(program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "fmt", str(program), "--check", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"program": str(program), "changed": False, "diagnostics": []}


def test_explain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "explain", "j101") == 0
    assert capsys.readouterr().out.startswith("J101 (names): a name that is not defined\n")
    assert run(monkeypatch, "explain", "J101", "--json") == 0
    assert json.loads(capsys.readouterr().out)["code"] == "J101"
    assert run(monkeypatch, "explain", "J999") == 1
    assert "there is no code J999" in capsys.readouterr().err
