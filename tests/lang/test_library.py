"""What programs can import and call, kept as names, is what there is."""

from __future__ import annotations

import json
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from jostle import options
from jostle.lang.builtins import BUILTINS
from jostle.lang.library import KEPT, MODULES, library_options, made
from jostle.lang.tokens import FOREIGN, KEYWORDS
from jostle.parameters import parameters_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("task", "modules"), [("grid", ["histograms"]), ("classification", ["trees", "classifiers"])])
def test_the_modules_hold_the_registered_options(task: str, modules: list[str]) -> None:
    registered = {name for name in options.names(task) if type(options.get(name)).__module__.startswith("jostle.")}
    assert {name for module in modules for name in MODULES[module]} == registered


def test_what_is_kept_of_the_options_is_what_they_are() -> None:
    """Made anew by python -m jostle.lang.library."""
    assert json.loads(KEPT.read_text("utf-8")) == json.loads(json.dumps(made()))
    for name, known in library_options().items():
        option = options.get(name)
        assert (known.task, dict(known.parameters)) == (option.task, dict(parameters_of(type(option))))
        asked = list(signature(option).parameters)
        assert len(known.asked) == sum(each not in {"epsilon", "site"} for each in asked)


def test_names_are_names() -> None:
    for name in [*BUILTINS, *MODULES, *(name for names in MODULES.values() for name in names)]:
        assert name.isidentifier()
        assert name not in KEYWORDS
        assert name not in FOREIGN


def test_heads_say_how_functions_are_called() -> None:
    assert BUILTINS["sqrt"].head == "sqrt(x)"
    assert BUILTINS["noisyCount"].head == "noisyCount(table, epsilon=...)"
    assert BUILTINS["max"].head == "max(x, *xs)"


@pytest.mark.parametrize("words", [["check"], ["fmt", "--check"]])
def test_checking_loads_no_library_of_numbers(words: list[str]) -> None:
    program = ROOT / "programs" / "histogram.jst"
    code = (
        "import sys\n"
        "from jostle.cli import main\n"
        f"sys.argv = ['jostle', *{words!r}, {str(program)!r}]\n"
        "try:\n    main()\nexcept SystemExit as ending:\n    assert not ending.code, ending.code\n"
        "heavy = {'numpy', 'pandas', 'polars', 'pyarrow', 'scipy', 'sklearn', 'dask', 'narwhals', 'rich', 'lark'}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
