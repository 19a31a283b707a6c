"""What programs can import and call, kept as names, is what there is."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest
from processes import ran

from jostle import options, public
from jostle.lang.builtins import BUILTINS
from jostle.lang.lexer import FOREIGN, KEYWORDS
from jostle.lang.library import CORPORA, KEPT, library, written
from jostle.parameters import parameters_of
from jostle.tasks import TASKS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("task", TASKS)
def test_the_modules_hold_the_registered_options(task: str) -> None:
    registered = {name for name in options.names(task) if type(options.get(name)).__module__.startswith("jostle.")}
    for module in TASKS[task].question.modules:
        assert set(library().modules[module]) == registered
    assert registered <= set(library().modules["options"])


def test_old_names_of_modules_hold_what_they_held() -> None:
    assert {"FletcherIslam", "FriedmanSchuster", "JostledTree", "PooledTree"} <= set(library().modules["trees"])
    assert {"BayesTree", "Majority", "NaiveBayes", "PooledBayes", "PooledTree"} <= set(library().modules["classifiers"])
    assert {"AHP", "DAWA", "UniformGrid"} <= set(library().modules["histograms"])
    assert library().modules["public"] == CORPORA == public.CORPORA


def test_what_is_kept_of_the_options_is_what_they_are() -> None:
    """Made anew by python -m jostle.lang.library."""
    assert KEPT.read_text("utf-8") == written()
    assert {task.name for task in library().tasks} == set(TASKS)
    for name, known in library().options.items():
        option = options.get(name)
        assert (known.task, dict(known.parameters)) == (option.task.name, dict(parameters_of(type(option))))
        asked = list(signature(option).parameters)
        assert len(known.asked) == sum(each not in {"epsilon", "site"} for each in asked)


def test_names_are_names() -> None:
    for name in [*BUILTINS, *library().modules, *(name for names in library().modules.values() for name in names)]:
        assert name.isidentifier()
        assert name not in KEYWORDS
        assert name not in FOREIGN


def test_heads_say_how_functions_are_called() -> None:
    assert BUILTINS["sqrt"].head == "sqrt(x)"
    assert BUILTINS["noisyCount"].head == "noisyCount(table, epsilon=...)"
    assert BUILTINS["max"].head == "max(x, *xs)"


PROGRAM = str(ROOT / "programs" / "histogram.jst")


@pytest.mark.parametrize("words", [["explain", "J101"], ["check", PROGRAM], ["fmt", "--check", PROGRAM]])
def test_what_needs_no_rows_loads_no_library_of_numbers(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from jostle.cli import main\n"
        f"sys.argv = ['jostle', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as ending:\n    assert not ending.code, ending.code\n"
        "heavy = {'numpy', 'pandas', 'polars', 'pyarrow', 'scipy', 'sklearn', 'dask', 'narwhals', 'rich', 'lark'}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & heavy))"
    )
    done = ran("-c", code, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
