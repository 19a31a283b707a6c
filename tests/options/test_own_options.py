"""Options of one's own: found by name, imported by programs, trained, chosen, audited, and named in the trace."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from run_here import Run
from small import tables

import jostle
from jostle.errors import JostleError, OptionError
from jostle.lang.library import library
from jostle.options import base
from jostle.options.functions import FunctionOption, function_option
from jostle.options.registry import load_own, origin_of
from jostle.trace.records import Released, Trusted, read_trace

OWN = '''
"""Two Options: one a class, the other a function."""
import numpy as np
from attrs import frozen

import jostle
from jostle.options import option
from jostle.options.classification.base import Classifier
from jostle.options.models import AdditiveModel
from jostle.parameters import whole
from jostle.privacy.events import Laplace
from jostle.tables.kernels import Counts


@option
@frozen(kw_only=True)
class Commonest(Classifier):
    """The commonest class, counted once."""

    times: int = whole(1, least=1)

    def cost(self, schema, epsilon):
        return Laplace(epsilon)

    def run(self, db, epsilon):
        counts = db.measure(Counts.of(db.schema.label), epsilon, site="classes")
        start = self.times * np.log(np.maximum(counts, 0) + 1.0)
        return AdditiveModel(schema=db.schema, made_by=self.name, epsilon=epsilon, start=start)


@jostle.option(task="classification")
def First(db, *, epsilon):
    """Whatever Majority says of half the budget."""
    return jostle.options.get("Majority")(db, epsilon=epsilon / 2)
'''
MADE = "import jostle\n@jostle.option(task={task!r})\ndef {name}(db, *, epsilon): ..."
PROGRAM = """\
from options import Commonest, First
from trees import PooledTree

#Metafeature
def few(db):
    return {{ len(db) }} / 1000

#Option
def Twice(db):
    return Commonest(times=2)(db)

choice = MkChoiceMaker among {Commonest, First, Twice} informed by {few} trained on public("FOLDER")

def main(db):
    return Commonest(times=2)(db)
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "my_options.py"
    path.write_text(OWN)
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "public"
    folder.mkdir()
    for each in tables(4).tables:
        each.columns.to_pandas().to_csv(folder / f"{each.name}.csv.gz", index=False)
    path = tmp_path / "p.jst"
    path.write_text(PROGRAM.replace("FOLDER", str(folder)))
    return path


def private(tmp_path: Path) -> tuple[Path, Path]:
    """Write a table and its schema."""
    columns = {"a": jostle.Categorical(["x", "y"]), "label": jostle.Categorical(["n", "o"])}
    jostle.Schema(columns, label="label").write(tmp_path / "s.toml")
    pd.DataFrame({"a": ["x", "y"] * 20, "label": ["n"] * 30 + ["o"] * 10}).to_csv(tmp_path / "d.csv", index=False)
    return tmp_path / "d.csv", tmp_path / "s.toml"


def test_they_are_found_by_name_and_parameters(own: Path) -> None:
    assert load_own(own) == ("Commonest", "First")
    assert jostle.options.get("Commonest(times=3)").name == "Commonest(times=3)"
    first = jostle.options.get("First")
    assert isinstance(first, FunctionOption)
    assert {"Commonest", "First"} <= set(jostle.options.names("classification"))
    assert {"Commonest", "First"} <= set(library().modules["classification"]) & set(library().modules["trees"]) & set(
        library().modules["options"]
    )
    assert "First" not in library().modules["histograms"]
    with pytest.raises(OptionError, match="First has no parameters"):
        jostle.options.get("First(times=2)")
    origin = origin_of(first)
    assert origin is not None
    assert (origin.file, origin.digest) == (str(own), blake2b(own.read_bytes(), digest_size=16).hexdigest())
    assert origin_of(jostle.options.get("Majority")) is None


def test_a_program_imports_them_and_its_trace_names_their_code(
    command: Run, own: Path, program: Path, tmp_path: Path
) -> None:
    data, schema = private(tmp_path)
    trace = tmp_path / "t.jsonl"
    program.write_text("".join(line for line in PROGRAM.splitlines(keepends=True) if "among" not in line))
    with_data = ("--data", data, "--schema", schema, "--epsilon", 1, "--entry", "main")
    assert "Commonest(times=2)" in command("run", program, "--with", own, *with_data, "--trace", trace).out
    digest = blake2b(own.read_bytes(), digest_size=16).hexdigest()
    trusted = [each for each in read_trace(trace) if isinstance(each, Trusted)]
    assert trusted == [Trusted("Commonest", str(own), digest), Trusted("First", str(own), digest)]
    assert f"digest {digest}" in " ".join(command("trace", "show", trace).out.split())


def test_checking_knows_them_where_it_is_told_of_them(command: Run, own: Path, program: Path) -> None:
    said = command("check", program).err
    assert "`options` has no `Commonest`" in said
    assert "--with FILE.py" in said
    assert "main spends at most epsilon" in command("check", program, "--with", own).out
    program.write_text(PROGRAM.replace("times=2", "time=2"))
    assert "`Commonest` has no parameter `time`" in command("check", program, "--with", own).err


@pytest.mark.slow
def test_they_are_trained_and_chosen_among(command: Run, own: Path, program: Path, tmp_path: Path) -> None:
    words = ("train", program, "--with", own, "--public", tmp_path / "public", "--repeats", 2, "--workers", 2, "--json")
    done = json.loads(command(*words).out)
    assert done["options"] == ["Commonest", "First", "Twice"]
    assert done["rehearsals"] > 0
    data, schema = private(tmp_path)
    trusted = ("--with", own, "--public", tmp_path / "public")
    asked = ("--data", data, "--schema", schema, "--epsilon", 1, "--entry", "choice", *trusted)
    assert "choice" in command("run", program, *asked).out
    tried = ("--databases", tmp_path / "public", "--epsilon", 1, "--trials", 2)
    assert command("evaluate", program, *tried, *trusted).status == 0


def test_they_are_listed_and_audited(command: Run, own: Path) -> None:
    assert {"Commonest", "First"} <= {
        each["name"] for each in json.loads(command("options", "--task", "classification", "--with", own, "--json").out)
    }
    (finding,) = json.loads(command("audit", "FirstReplaced", "--with", own, "--samples", 400, "--json").out)
    assert finding["name"] == "FirstReplaced"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "registers no Option"),
        ("def f(:", "is no Python: line 1"),
        ("1 / 0", "fails: line 1: ZeroDivisionError"),
        ("raise SystemExit(3)", "fails: line 1: SystemExit: 3"),
        ("x = 1\0", "is no Python: "),
        (
            "class Mute(Exception):\n    def __str__(self): return 1 / 0\nraise Mute",
            "fails: line 3: Mute",
        ),
        ("import jostle\n@jostle.option(task='weather')\ndef F(db, *, epsilon): ...", "there is no task 'weather'"),
        (
            "import jostle\n@jostle.option(task='grid')\ndef DAWA(db, *, epsilon): ...",
            "the name DAWA is taken by jostle",
        ),
    ],
)
def test_a_file_of_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    jostle.options.names()
    with pytest.raises(OptionError, match=said):
        load_own(path)


def test_what_is_no_file_of_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no file"):
        load_own(tmp_path / "none.py")
    with pytest.raises(OptionError, match="is no Python"):
        load_own(tmp_path / "none.txt")


def test_one_that_is_defined_inside_a_function_stays_there() -> None:
    @jostle.option(task="classification")
    def Inner(db: jostle.Probe, *, epsilon: object) -> object:  # noqa: N802 - as Options are called
        return None

    assert Inner.name == "Inner"
    with pytest.raises(OptionError, match="there is no Option 'Inner'"):
        jostle.options.get("Inner")


INSTALLED = """\
import sys
import jostle
from jostle.cli import main

program = jostle.load(sys.argv[1], say=None, public=[sys.argv[1].rpartition("/")[0] + "/public"])
print(program["Commonest"].name, "Commonest" in jostle.options.names())
"""


@pytest.mark.slow
def test_an_installed_package_brings_its_options(own: Path, program: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "own-1.0.dist-info").mkdir(parents=True)
    (site / "brought.py").write_text(own.read_text())
    (site / "own-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    points = "[jostle.options]\nbrought = brought\n"
    (site / "own-1.0.dist-info" / "entry_points.txt").write_text(points)
    done = _python(INSTALLED, program, site)
    assert done.stdout == "Commonest True\n", done.stderr
    (site / "brought.py").write_text("1 / 0")
    done = _python(INSTALLED, program, site)
    assert "the Options of brought cannot be loaded: ZeroDivisionError" in done.stderr


def _python(code: str, program: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"
    return subprocess.run(
        [sys.executable, "-c", command, program], capture_output=True, text=True, check=False, timeout=300
    )


def test_what_is_registered_in_python_is_importable_at_once(own: Path) -> None:
    load_own(own)
    before = base.changes()
    base.forget("First")
    assert base.changes() > before
    assert "First" not in library().modules["options"]
    with pytest.raises(JostleError):
        jostle.options.get("First")


@pytest.mark.parametrize(("given", "said"), [(None, "nothing"), (3, "a value of type int"), ([1.5], "type list")])
def test_what_answers_another_question_is_refused_and_says_what_was_paid(given: object, said: str) -> None:
    def wrong(db: jostle.Probe, *, epsilon: str) -> Any:
        db.count(epsilon, site="rows")
        return given

    option = function_option(wrong, task="classification", predict=None)
    schema = jostle.Schema({"label": jostle.Categorical(["a", "b"])}, label="label")
    trace = jostle.Trace()
    db = jostle.rehearse(jostle.Table.from_frame({"label": ["a", "b", "b"]}, schema), epsilon=1, seed=1, trace=trace)

    with pytest.raises(OptionError) as caught:
        option(db, epsilon="1/4")

    assert said in caught.value.title
    assert "not a model" in caught.value.title
    assert "epsilon 0.25 was paid" in (caught.value.why or "")
    assert "return a model" in (caught.value.fix or "")
    assert db.left == Fraction(3, 4)
    assert any(isinstance(record, Released) and record.site == "wrong/rows" for record in trace.records)
