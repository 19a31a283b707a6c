"""What a program can read: what whoever runs it named as public, and none of the rest, whatever it tries."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from small_tables import ROWS, SCHEMA

from jostle import load
from jostle.errors import JostleError, PrivateDataError, ProgramError, Source
from jostle.lang.references import MOST_BYTES, check_named
from jostle.lang.running import Outcome, run_program
from jostle.privacy import opening
from jostle.trace.records import NamedPublic, Opened, ReadPublic, read_trace

HEAD = """\
from classifiers import Majority, NaiveBayes
from public import tableCorpus

#Option
def Spy(db):
    n = noisyCount(db, epsilon / 2)
    print("rows", n)
    return Majority(db, epsilon=epsilon / 2)

"""
BODY = """
def answer(db):
    return noisyCount(db, epsilon / 10)
"""
ATTACKS = {
    "rehearsal at the top": "found = [rehearse(Spy, table, 20, 100000) for table in public(PATH)]\n" + BODY,
    "rehearsal inside": "\ndef answer(db):\n    return [rehearse(Spy, table, 20, 100000) for table in public(PATH)]\n",
    "how many there are": "\ndef answer(db):\n    return len(public(PATH)) + noisyCount(db, epsilon / 2)\n",
    "a maker": "maker = MkChoiceMaker among {Spy, NaiveBayes} trained on public(PATH)\n"
    "\ndef answer(db):\n    return maker(db)\n",
    "a maker's union": "maker = MkChoiceMaker among {Spy, NaiveBayes} trained on public(PATH) | tableCorpus\n"
    "\ndef answer(db):\n    return maker(db)\n",
    "a judge": "def judge(given, truth):\n    print(truth)\n    return 1\n\n"
    "maker = MkChoiceMaker among {Spy, NaiveBayes} trained on public(PATH) judged by judge\n"
    "\ndef answer(db):\n    return maker(db)\n",
    "a scale too large": "\ndef answer(db):\n    return [rehearse(Majority, t, 10 ** 9, 1) for t in public(PATH)]\n",
    "by another name": "\ndef answer(db):\n    return len(map(public, [PATH])) + noisyCount(db, epsilon / 2)\n",
    "by name": "\ndef answer(db):\n    return len(public(path=PATH)) + noisyCount(db, epsilon / 2)\n",
    "a path in pieces": '\ndef answer(db):\n    return len(public("" + PATH)) + noisyCount(db, epsilon / 2)\n',
    "a default": "\ndef answer(db, found=public(PATH)):\n    return len(found) + noisyCount(db, epsilon / 2)\n",
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with private data and a folder of public data, where everything is run."""
    lines = [",".join(SCHEMA.names), *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "secret.csv").write_text("\n".join(lines) + "\n", "utf-8")
    np.save(tmp_path / "secret.npy", np.arange(16).reshape(4, 4))
    SCHEMA.write(tmp_path / "rows.toml")
    (tmp_path / "public").mkdir()
    public = ["size,label", *(f"{n % 7},{'no' if n % 3 else 'yes'}" for n in range(600))]
    (tmp_path / "public" / "cups.csv").write_text("\n".join(public) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(text: str, **facts: object) -> Outcome:
    """Return what a program gives on the private data."""
    Path("program.jst").write_text(text, "utf-8")
    given: dict[str, object] = {"data": Path("secret.csv"), "schema": Path("rows.toml"), "epsilon": "1", **facts}
    return run_program(Path("program.jst"), say=None, **given)  # type: ignore[arg-type]


def kept() -> Iterator[str]:
    """Yield the text of whatever was learned or rehearsed."""
    for path in Path(os.environ["JOSTLE_HOME"]).rglob("*"):
        if path.is_file():
            yield path.read_text("utf-8")


PATHS = ["secret.csv", "secret.npy", "public/../secret.csv", "/proc/self/cwd/secret.csv", "no such file", "/etc/passwd"]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("named", [(), (Path("public"),)], ids=["nothing named", "a folder named"])
def test_a_program_does_not_read_the_private_file(attack: str, named: tuple[Path, ...]) -> None:
    for path in PATHS:
        text = HEAD + ATTACKS[attack].replace("PATH", json.dumps(path))
        with pytest.raises(ProgramError) as caught:
            run(text, public=named)
        (mistake,) = caught.value.diagnostics
        assert mistake.code == "J515"
        assert "100" not in mistake.title + mistake.why  # the private file's number of rows
    assert list(kept()) == []


@pytest.mark.parametrize("attack", ["rehearsal at the top", "a maker", "a judge", "by another name"])
def test_what_is_there_and_what_is_not_are_one_to_a_program(attack: str) -> None:
    said = set()
    for path in PATHS:
        with pytest.raises(ProgramError) as caught:
            run(HEAD + ATTACKS[attack].replace("PATH", json.dumps(path)), public=[Path("public")])
        (mistake,) = caught.value.diagnostics
        said.add((mistake.title.replace(repr(path), ""), mistake.why, mistake.fix, mistake.span.line))
    assert len(said) == 1


@pytest.mark.parametrize("imported", ["folder", "public", "error_of", "CORPORA"])
def test_nothing_that_reads_files_is_imported(imported: str) -> None:
    with pytest.raises(ProgramError, match="J104"):
        run(f"from public import {imported}\n" + BODY)


def test_what_is_checked_is_refused_before_anything_is_read(place: Path) -> None:
    (place / "secret.csv").write_text("no table at all\n")
    with pytest.raises(ProgramError, match="J515"):
        run(HEAD + ATTACKS["a maker"].replace("PATH", '"public"'))


def test_a_program_reads_what_was_named_and_the_trace_says_so(place: Path) -> None:
    text = HEAD + "first = len(public('public/cups.csv'))\n".replace("'", '"')
    text += '\ndef answer(db):\n    return len(public("public")) + first + noisyCount(db, epsilon / 10) * 0\n'
    done = run(text, public=[place / "public"], trace=Path("trace.jsonl"))
    assert done.answer == 2
    lines = read_trace("trace.jsonl")
    records = [each for each in lines if isinstance(each, ReadPublic)]
    assert isinstance(lines[0], Opened)
    assert isinstance(lines[1], NamedPublic)
    assert (lines[1].paths, lines[1].databases) == ((str(place / "public"),), 1)
    assert [(each.path, each.databases) for each in records] == [("public/cups.csv", 1), ("public", 1)]
    assert len({each.digest for each in records}) == 2


def test_what_was_learned_with_private_data_named_is_of_the_public_data_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plates = ["width,label", *(f"{n % 11},{'no' if n % 11 < 4 else 'yes'}" for n in range(600))]
    (place / "public" / "plates.csv").write_text("\n".join(plates) + "\n", "utf-8")
    text = HEAD + ATTACKS["a maker"].replace("PATH", '"public"')
    run(text, public=[Path("public")], epsilon="2", train=True)
    learned = "".join(kept())
    assert '"name":"cups"' in learned
    for private in ("secret", "north", "region", str(place / "secret.csv")):
        assert private not in learned
    instances = [json.loads(line) for text in kept() for line in text.splitlines() if '"kind":"instance"' in line]
    assert {each["rows"] for each in instances} <= set(range(601))
    before = sorted(kept())
    (place / "secret.csv").write_text((place / "secret.csv").read_text() + "north,10.0,1.0,yes\n")
    monkeypatch.setattr(opening, "_registry", opening.Registry())  # as if in another process
    run(text, public=[Path("public")], epsilon="2", train=True)
    assert sorted(kept()) == before  # other private rows, and not a byte is learned otherwise


@pytest.mark.parametrize(
    "program", ["def answer(db) no program", HEAD + BODY, 'x = public("public/cups.csv")\n' + BODY]
)
def test_a_folder_with_the_private_file_is_refused_to_its_owner_whatever_the_program_says(
    place: Path, program: str
) -> None:
    (place / "public" / "link.csv").symlink_to(place / "secret.csv")
    with pytest.raises(PrivateDataError, match=re.escape("link.csv")):
        run(program, public=[Path("public")])
    assert list(kept()) == []


@pytest.mark.parametrize("attack", ["rehearsal at the top", "a maker"])
def test_without_private_data_a_program_reads_no_more(attack: str) -> None:
    text = HEAD + ATTACKS[attack].replace("PATH", '"secret.csv"')
    with pytest.raises(ProgramError, match="J515"):
        run(text, data=None, schema=None)
    Path("program.jst").write_text(text)
    for public in ((), "public", ["public"]):
        with pytest.raises(ProgramError, match="J515"):
            load("program.jst", public=public)


def test_python_says_what_a_program_reads_as_well() -> None:
    Path("program.jst").write_text('def answer():\n    return len(public("public"))\n')
    with pytest.raises(ProgramError, match="no files were named"):
        Path("other.jst").write_text("def answer(p):\n    return len(public(p))\n") and load("other.jst").run(
            "answer", 1
        )
    assert load("program.jst", public="public").run("answer") == 1


def test_a_word_of_the_programs_own_is_not_mistaken_for_the_one_that_reads() -> None:
    own = "def public(x):\n    return 2 * x\n\ndef answer(db):\n    return public(3) + 0 * noisyCount(db, epsilon)\n"
    assert run(own).answer == 6


def test_a_file_exchanged_while_a_program_runs_is_not_read(place: Path) -> None:
    """The exchange is made by what the program prints, between the look and the reading."""
    (place / "program.jst").write_text(
        HEAD + 'print("now")\nfound = [rehearse(Spy, t, 20, 1000) for t in public("public/cups.csv")]\n' + BODY
    )

    def exchange(_: str) -> None:
        (place / "public" / "cups.csv").unlink(missing_ok=True)
        (place / "public" / "cups.csv").symlink_to(place / "secret.csv")

    with pytest.raises(JostleError, match="is not what it was"):
        run_program(
            Path("program.jst"),
            data=Path("secret.csv"),
            schema=Path("rows.toml"),
            epsilon="1",
            public=[Path("public")],
            say=exchange,
        )


NAMED = {
    "in another folder": "../secrets/rows.toml",
    "by its whole path": "/etc/hostname",
    "of another kind": "secret.csv",
    "by a link": "link.toml",
    "of other settings": "settings.toml",
    "without an end": "pipe.toml",
    "too long": "long.toml",
    "a folder": "folder.toml",
    "in a folder below": "folder.toml/rows.toml",
    "nowhere": "none.toml",
    "of a name that ends early": "settings.toml\0.toml",
}


@pytest.mark.parametrize("named", NAMED)
def test_a_program_does_not_say_which_files_are_opened_to_check_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A stranger's program named any file, and what was wrong with it quoted what it holds."""
    for folder in ("program", "secrets", "program/folder.toml"):
        (place / folder).mkdir()
        SCHEMA.write(place / folder / "rows.toml")
    home = place / "program"
    (home / "link.toml").symlink_to(place / "secrets" / "rows.toml")
    (home / "settings.toml").write_text('[hunter2]\npassword = "hunter2"\n')
    (home / "long.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    (home / "secret.csv").write_text("hunter2\n")
    os.mkfifo(home / "pipe.toml")
    source = Source(str(home / "program.jst"), f"# Schema: {NAMED[named]}\n" + BODY)
    monkeypatch.chdir(home)
    for checked, found in (check_named(source), check_named(Source("<stdin>", "# Schema: rows.toml\n" + BODY))):
        assert found is None
        (mistake,) = checked.diagnostics
        assert mistake.code == "J112"
        assert "hunter2" not in repr(mistake).replace(NAMED[named], "")
        assert "--schema" in mistake.fix
    assert check_named(Source(source.name, "# Schema: rows.toml\n" + BODY))[1] == SCHEMA


@pytest.mark.parametrize("rows", [37, 38])
def test_a_rehearsal_goes_the_same_way_whatever_the_private_rows_are(place: Path, rows: int) -> None:
    """One of these rehearsals is on as many records, in the same cell, as the private grid has."""
    (place / "grids").mkdir()
    np.save(place / "grids" / "one.npy", np.array([5]))
    np.save(place / "secret.npy", np.array([rows]))
    text = (
        "from histograms import Identity\n\ndef answer(db):\n    n = noisyCount(db, epsilon)\n"
        '    return [rehearse(Identity, grid, scale, 1000) for grid in public("grids") for scale in range(30, 45)]\n'
    )
    done = run(text, data=Path("secret.npy"), schema=None, public=[Path("grids")])
    assert done.problem is None
    assert len(done.answer) == 15
