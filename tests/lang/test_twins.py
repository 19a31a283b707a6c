"""Programs and their twins in Python: equal answers and equal traces, from equal noise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from processes import ran
from tables_of_labels import correlated, table_of

import jostle
from jostle.choice.makers.maker import ChoiceMaker
from jostle.corpora.databases import PublicGrid
from jostle.corpora.parts import GridSpec
from jostle.errors import Source
from jostle.lang.program import Program, load_source, named
from jostle.options import base
from jostle.sites import explore, record, replay
from jostle.tasks import make_instance
from jostle.tasks.ranges.instances import GridInstance
from jostle.trace.records import Charged, Chosen, Released, Trace

PROGRAMS = Path(__file__).parents[2] / "programs"
sys.path.insert(0, str(PROGRAMS.parent))
from programs import dawa_class, dpcomp, histogram, jostled_tree, select_features, trees  # noqa: E402 - scripts beside the programs

for own in base.own():
    base.forget(own)  # what is tested of every Option is tested of Jostle's

GridRun = Callable[[jostle.Probe, Any, Fraction], Any]


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """Return what a trace says was charged, released and chosen; the places in the programs' texts differ."""
    lines: list[tuple[Any, ...]] = []
    for each in trace.records:
        match each:
            case Charged():
                lines.append(("charged", each.mechanism, each.epsilon, each.spent))
            case Released():
                lines.append(("released", each.mechanism, each.scale, each.size, each.values))  # noqa: PD011 - no frame
            case Chosen():
                lines.append(("chosen", each.label, each.seen, each.predicted, each.taken, each.why))
            case _:
                pass
    return lines


def small_grids(folder: Path) -> Path:
    """Return a folder of small public grids, of which half are flat."""
    random = np.random.default_rng(4)
    folder.mkdir()
    for number in range(6):
        flat = random.integers(90, 110, (8, 8))
        peaks = np.where(random.random((8, 8)) < 0.1, 5000, 0) + random.integers(0, 2, (8, 8))
        np.save(folder / f"grid{number}.npy", flat if number % 2 else peaks)
    return folder


def small_tables(folder: Path) -> Path:
    """Return a folder of small public tables, of which half have a label that follows from the attributes."""
    random = np.random.default_rng(5)
    folder.mkdir()
    for number in range(4):
        rows = random.integers(0, 3, (600, 3))
        label = rows[:, 0] if number % 2 else random.integers(0, 2, 600)
        frame = pd.DataFrame(rows, columns=["a", "b", "c"]).map(f"{number} v{{}}".format)
        frame.assign(label=[f"c{code}" for code in label]).to_csv(folder / f"t{number}.csv.gz", index=False)
    return folder


def made(name: str, corpus: str, folder: Path) -> Program:
    """Return a program that learns from another folder than its own corpus."""
    text = (PROGRAMS / f"{name}.jst").read_text("utf-8")
    import_line = f"from public import {corpus}\n"
    assert import_line in text
    rest = text.replace(import_line, "")
    return load_source(Source(f"{name}.jst", rest.replace(corpus, f'public("{folder}")')), files=named(folder))


def taught(twin: ChoiceMaker, maker: ChoiceMaker) -> ChoiceMaker:
    """Return the twin's maker with what the program's has learned: what is the same in both is called the same."""
    assert [each.name for each in twin.among] == [each.name for each in maker.among]
    assert [each.name for each in twin.informed_by] == [each.name for each in maker.informed_by]
    assert twin.label == maker.label

    def renamed(trained: Any) -> Any:
        facts = {each.name: each.version for each in twin.informed_by}
        inner = None if trained.declared is None else renamed(trained.declared)
        return evolve(
            trained,
            options=[(each.name, each.version) for each in twin.among],
            metafeatures=[(name, facts[name]) for name, _ in trained.metafeatures],
            declared=inner,
        )

    return twin.with_trained(renamed(maker.trained))


def peaked() -> GridInstance:
    """Return a public grid with a few full cells."""
    random = np.random.default_rng(8)
    counts = np.where(random.random((16, 16)) < 0.1, 4000, 0) + random.integers(0, 2, (16, 16))
    found = make_instance(PublicGrid.of("peaked", counts), GridSpec(records=5000))
    assert isinstance(found, GridInstance)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "maker", "entry"),
    [("histogram", "noisyHistChoice", "answerHistQueries"), ("dawa_class", "histChoice", "answerHistQueries")],
)
def test_a_maker_of_histograms_and_its_twin_choose_and_answer_alike(
    tmp_path: Path, name: str, maker: str, entry: str
) -> None:
    program = made(name, "gridCorpus", small_grids(tmp_path / "grids"))
    twin = taught({"histogram": histogram, "dawa_class": dawa_class}[name].__dict__[maker], program.makers[maker])
    public = peaked()
    for epsilon in ("1/10", "2"):
        for seed in range(3):
            traces = Trace(), Trace()
            one, other = (jostle.rehearse(public.table, epsilon=epsilon, seed=seed, trace=trace) for trace in traces)
            by_program = program.run(entry, one, public.workload, epsilon=Fraction(epsilon))
            by_twin = twin(other, public.workload, epsilon=epsilon)
            assert np.array_equal(by_program.answers(public.workload), by_twin.answers(public.workload))
            assert told(traces[0]) == told(traces[1])
            assert any(line[0] == "chosen" for line in told(traces[0]))


def test_metafeatures_and_options_of_the_twins_are_those_of_the_programs() -> None:
    """Bought at a price and run for a budget, whatever is chosen in the end."""
    public = peaked()
    for name, twin, maker in (
        ("histogram", histogram.noisyHistChoice, "noisyHistChoice"),
        ("dawa_class", dawa_class.histChoice, "histChoice"),
    ):
        theirs = jostle.load(PROGRAMS / f"{name}.jst").makers[maker]
        assert [each.name for each in twin.informed_by] == [each.name for each in theirs.informed_by]
        for one, other in zip(theirs.informed_by, twin.informed_by, strict=True):
            assert repr(one.purchases(public.schema)) == repr(other.purchases(public.schema))
        for option, same in zip(theirs.among, twin.among, strict=True):
            traces = Trace(), Trace()
            answers = [
                each(jostle.rehearse(public.table, epsilon=1, seed=2, trace=trace), public.workload, epsilon=1)
                for each, trace in zip((option, same), traces, strict=True)
            ]
            assert np.array_equal(*(each.answers(public.workload) for each in answers))
            assert told(traces[0]) == told(traces[1])
        seen = {"uniformity": 3.0, "sparsity": 0.25}
        for prior, same_prior in zip(theirs.priors(), twin.priors(), strict=True):
            assert (prior is None) is (same_prior is None)
            assert prior is None or same_prior is None or prior(seen) == same_prior(seen)


def test_the_jostled_tree_and_its_twin_grow_alike_whatever_is_chosen() -> None:
    program = jostle.load(PROGRAMS / "jostled_tree.jst").options["JostledTree"]
    schema, rows = correlated(400)
    for seed in range(6):
        traces = Trace(), Trace()
        one, other = (jostle.rehearse(table_of(rows, schema), epsilon=3, seed=seed, trace=trace) for trace in traces)
        with explore(seed), record() as chosen:
            by_program = program(one, epsilon=3)
        with replay(chosen.lines), record() as again:
            by_twin = jostled_tree.ChosenTree(other, epsilon=3)
        assert by_program.facts() == by_twin.facts()
        seen = [
            [(line.site, line.among, {k: v.tolist() for k, v in line.seen.items()}) for line in each.lines]
            for each in (chosen, again)
        ]
        assert seen[0] == seen[1]
        without_why = [[line[:-1] if line[0] == "chosen" else line for line in told(trace)] for trace in traces]
        assert without_why[0] == without_why[1]


def test_untrained_both_take_the_first_alternatives_and_say_so() -> None:
    schema, rows = correlated(400)
    traces = Trace(), Trace()
    one, other = (jostle.rehearse(table_of(rows, schema), epsilon=1, seed=1, trace=trace) for trace in traces)
    by_program = jostle.load(PROGRAMS / "jostled_tree.jst").options["JostledTree"](one, epsilon=1)
    assert by_program.facts() == jostled_tree.ChosenTree(other, epsilon=1).facts()
    assert told(traces[0]) == told(traces[1])
    assert {line[-1] for line in told(traces[0]) if line[0] == "chosen"} == {
        "the first alternative listed: nothing was learned for this choice"
    }


@pytest.mark.slow
def test_the_choice_of_classifiers_and_its_twin_choose_and_answer_alike(tmp_path: Path) -> None:
    program = made("trees", "tableCorpus", small_tables(tmp_path / "tables"))
    twin = taught(trees.classifierChoice, program.makers["classifierChoice"])
    schema, rows = correlated(400)
    for seed in range(3):
        traces = Trace(), Trace()
        one, other = (jostle.rehearse(table_of(rows, schema), epsilon=1, seed=seed, trace=trace) for trace in traces)
        by_program = program.run("classify", one, epsilon=Fraction(1))
        assert by_program.facts() == twin(other, epsilon=1).facts()
        assert told(traces[0]) == told(traces[1])


@pytest.mark.slow
def test_the_program_that_selects_trains_and_evaluates_and_its_twin_do_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    program = jostle.load(PROGRAMS / "select.jst")
    twin = taught(select_features.selectorChoice, program.makers["selectorChoice"])
    monkeypatch.setattr(select_features, "selectorChoice", twin)
    table = select_features.made_up(900, seed=3)
    for epsilon in (Fraction(1, 2), Fraction(20)):
        traces = Trace(), Trace()
        one, other = (jostle.rehearse(table, epsilon=epsilon, seed=1, trace=trace) for trace in traces)
        by_program = program.run("selectTrainEvaluate", one, epsilon=epsilon)
        assert by_program.data() == select_features.select_train_evaluate(other, epsilon).data()
        assert told(traces[0]) == told(traces[1])


@pytest.mark.slow
def test_the_table_of_errors_is_the_same(tmp_path: Path) -> None:
    program = made("dpcomp", "gridCorpus", small_grids(tmp_path / "grids"))
    grids = [*jostle.public.folder(tmp_path / "grids")][:2]
    theirs = program.run("errors", scales=[1000], epsilons=[Fraction(1, 10), Fraction(1)])
    ours = dpcomp.errors(grids, scales=[1000], epsilons=["1/10", "1"])
    shown = [
        (grid.name, scale, str(epsilon), best.name, {option.name: error for option, error in found.items()})
        for grid, scale, epsilon, best, found in theirs
    ]
    assert shown[: len(ours)] == ours
    assert len(shown) == 6 * 2


LONG = [pytest.param(name, marks=pytest.mark.slow) for name in ("jostled_tree", "select_features")]


@pytest.mark.parametrize("name", ["tree", *LONG])
def test_a_twin_runs_by_itself(tmp_path: Path, name: str) -> None:
    done = ran(PROGRAMS / f"{name}.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout


TWINS = {"select": "select_features"}
"""Twins by another name: a file select.py beside a program hides Python's own module from it."""


def test_every_program_has_a_twin_that_says_what_it_is() -> None:
    for path in PROGRAMS.glob("*.jst"):
        twin = TWINS.get(path.stem, path.stem)
        head = (PROGRAMS / f"{twin}.py").read_text("utf-8")
        assert f"{path.name}" in head.splitlines()[0]
        assert f"Run: python programs/{twin}.py" in head
