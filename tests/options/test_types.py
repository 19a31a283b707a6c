"""What a type checker knows of Options: what each gives back, so that slips of the pen are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_overloads, get_type_hints

import pytest

import jostle
from jostle.errors import OptionError
from jostle.lang.library import LITERALS, literals
from jostle.options.registry import built_in, get
from jostle.tasks import CLASSIFICATION, RANGES

if TYPE_CHECKING:
    from typing import Any, assert_type

    from jostle import Probe
    from jostle.choice.makers.maker import ChoiceMaker
    from jostle.options import Option
    from jostle.tasks.classification import Model
    from jostle.tasks.evaluation import RocCurve
    from jostle.tasks.publishing import Published
    from jostle.tasks.ranges import Estimate, SparseEstimate
    from jostle.tasks.selection import SelectedFeatures

    def answers(db: Probe, name: str) -> None:
        """Nothing here is run: mypy reads it, with everything else."""
        assert_type(jostle.options.get("PooledTree")(db, epsilon=1), Model)
        assert_type(jostle.options.get("DAWA")(db, epsilon=1), Estimate | SparseEstimate)
        assert_type(jostle.options.get("FriedmanSchuster(depth=2)", task=CLASSIFICATION), Option[Model])
        assert_type(jostle.options.get(name)(db, epsilon=1), Any)
        assert_type(jostle.pretrained("classification"), ChoiceMaker[Model])
        assert_type(jostle.pretrained("ranges")(db, epsilon=1), Estimate | SparseEstimate)
        assert_type(jostle.pretrained("publishing")(db, epsilon=1), Published)
        assert_type(jostle.pretrained("selection")(db, epsilon=1), SelectedFeatures)
        assert_type(jostle.options.get("Peeling")(db, epsilon=1), SelectedFeatures)
        assert_type(jostle.options.get("PriROC")(db, epsilon=1), RocCurve)
        trees = [jostle.options.get("PooledTree"), jostle.options.get("JostledTree")]
        assert_type(jostle.MkChoiceMaker(among=trees)(db, epsilon=1), Model)
        jostle.options.get("PooledTree")(db, epsilon=1).prdict  # type: ignore[attr-defined]  # noqa: B018 - as it is found

        @jostle.option(task="grid")
        def Total(db: Probe, *, epsilon: Any) -> int:  # noqa: N802 - as Options are called
            return db.count(epsilon)

        assert_type(Total(db, epsilon=1), int)


def test_the_names_that_type_checkers_know_are_those_of_today() -> None:
    """Made anew by python -m jostle.lang.library."""
    assert LITERALS.read_text("utf-8") == literals()


def test_type_checkers_know_what_every_built_in_option_gives_back() -> None:
    """By an overload of `get` for the names of each task's."""
    known = {get_args(get_type_hints(each)["name"]): get_type_hints(each)["return"] for each in get_overloads(get)}
    for kind in built_in():
        (given,) = (given for names, given in known.items() if kind.__name__ in names)
        (answer,) = get_args(given)
        assert set(get_args(answer) or (answer,)) == set(kind.task.question.answers), kind.__name__


def test_an_option_of_another_task_is_refused() -> None:
    assert jostle.options.get("DAWA", task=RANGES).name == "DAWA"
    with pytest.raises(OptionError, match="DAWA answers queries of a grid"):
        jostle.options.get("DAWA", task=CLASSIFICATION)


@pytest.mark.slow
def test_mypy_finds_what_a_model_does_not_have(tmp_path: Path) -> None:
    text = """\
import jostle

db = jostle.rehearse(jostle.Table.read("t.csv", jostle.Schema.read("s.toml")), epsilon=1)
model = jostle.options.get("PooledTree")(db, epsilon=1)
print(model.predict)
print(model.prdict)
"""
    (tmp_path / "program.py").write_text(text)
    words = ["-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "program.py")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=600)
    assert 'program.py:6: error: "Model" has no attribute "prdict"; maybe "predict"?  [attr-defined]' in done.stdout
    assert "Found 1 error" in done.stdout, done.stdout
