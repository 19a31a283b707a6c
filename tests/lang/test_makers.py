"""Choice makers of programs: their Options and metafeatures travel to other processes, and learn there."""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tables import opened

from jostle import Categorical, Schema, Table, load, rehearse
from jostle.choice.learning.history import Runs
from jostle.choice.learning.judging import judge_of
from jostle.choice.learning.markets import read_raw
from jostle.choice.makers.shipped import rehearsals_for
from jostle.corpora.corpus import BEGINNING, Corpus
from jostle.corpora.generators import generated_grids
from jostle.corpora.parts import GridSpec
from jostle.errors import ProgramError, Source
from jostle.lang.program import Program, load_source, named
from jostle.lang.quick_start import QuickStart
from jostle.options import get
from jostle.tasks import CLASSIFICATION, RANGES, make_instance
from jostle.tasks.ranges.instances import GridInstance
from jostle.trace.records import Chosen, Trace

PROGRAMS = Path(__file__).parents[2] / "programs"
CHOICE = """
from histograms import Identity, Uniform
from public import gridCorpus

def sparsity(db):
    num_nonzero = {{ select count(values) from db where values > 0 }}
    return num_nonzero / (db.x_range * db.y_range)

#Option
def Flat(db, queries):
    total = noisyCount(db, epsilon / 2)
    return queries over [total / (db.x_range * db.y_range)]

class Cells(Option):
    def answer(db, queries):
        return Identity(db, queries)

    def predict(F):
        return 1 / 10 + F.sparsity / 100

choice = MkChoiceMaker among {Cells, Uniform, Flat} informed by {sparsity} trained on public("FOLDER") spending 10%

def answer(db, queries):
    return choice(db, queries)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is learned in a place of its own."""
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path / "home"))
    return tmp_path


def grids(folder: Path) -> Path:
    """Return a folder of small public grids, of which half are flat."""
    random = np.random.default_rng(4)
    folder.mkdir()
    for number in range(6):
        flat = random.integers(90, 110, (8, 8))
        peaks = np.where(random.random((8, 8)) < 0.1, 5000, 0) + random.integers(0, 2, (8, 8))
        np.save(folder / f"grid{number}.npy", flat if number % 2 else peaks)
    return folder


def made(folder: Path) -> Program:
    return load_source(Source("choice.jst", CHOICE.replace("FOLDER", str(folder))), files=named(folder))


def instance() -> GridInstance:
    grid = next(each for each in generated_grids(4).grids if len(each.shape) == 2)
    found = make_instance(grid, GridSpec(records=5000, shape=(32, 32)))
    assert isinstance(found, GridInstance)
    return found


def test_options_and_metafeatures_are_pickled_as_their_text(home: Path) -> None:
    program = made(grids(home / "grids"))
    flat = pickle.loads(pickle.dumps(program.options["Flat"]))
    assert (flat.name, flat.task, flat.version) == ("Flat", RANGES, program.options["Flat"].version)
    public = instance()
    maker = program.makers["choice"]
    measure = pickle.loads(pickle.dumps(maker.informed_by[0]))
    assert read_raw([measure], public.table) == read_raw(maker.informed_by[:1], public.table)
    answer = flat(rehearse(public.table, epsilon=1, seed=1), public.workload, epsilon=1)
    assert public.loss(answer) > 0


def test_an_option_s_version_goes_by_what_it_does(home: Path) -> None:
    program = made(grids(home / "grids"))
    text, files = CHOICE.replace("FOLDER", str(home / "grids")), named(home / "grids")
    again = load_source(Source("other.jst", text.replace("epsilon / 2)", "epsilon / 2)  # half")), files=files)
    other = load_source(Source("other.jst", text.replace("epsilon / 2", "epsilon / 3")), files=files)
    assert program.options["Flat"].version == again.options["Flat"].version
    assert program.options["Flat"].version != other.options["Flat"].version
    assert program.options["Cells"].version == other.options["Cells"].version


def test_an_option_may_spend_less_than_it_is_given(home: Path) -> None:
    program = made(grids(home / "grids"))
    public = instance()
    db = rehearse(public.table, epsilon=1, seed=1)
    program.options["Flat"](db, public.workload, epsilon=1)
    assert db.spent == 1  # an allotment is spent whole


def test_predictions_see_metafeatures(home: Path) -> None:
    program = made(grids(home / "grids"))
    prior, none, _ = program.makers["choice"].priors()
    assert prior is not None
    assert none is None
    assert prior({"sparsity": 0.5}) == pytest.approx(0.105)


def test_a_maker_learns_in_other_processes_and_is_kept(home: Path) -> None:
    folder = grids(home / "grids")
    public = instance()
    trace = Trace()
    db = rehearse(public.table, epsilon=1, seed=1, trace=trace)
    answer = made(folder).run("answer", db, public.workload, epsilon=Fraction(1))
    assert public.loss(answer) < 1
    (chosen,) = [each for each in trace.records if isinstance(each, Chosen)]
    assert chosen.taken[0][0] in {"Cells", "Uniform", "Flat"}
    assert db.spent == 1
    assert list((home / "home" / "makers").iterdir())
    again = made(folder).makers["choice"]
    assert again.trained.options[0][0] == "Cells"


JUDGED = """
def loss(answers, truth):
    if len(truth) == 0:
        fail("nothing was asked")
    return BODY

"""


def judged_by(folder: Path, body: str) -> Program:
    """Return the program with a judge of its own."""
    text = CHOICE.replace("FOLDER", str(folder)).replace("\nchoice =", JUDGED.replace("BODY", body) + "choice =")
    return load_source(
        Source("choice.jst", text.replace("spending 10%", "judged by loss spending 10%")), files=named(folder)
    )


def test_a_maker_learns_by_what_it_is_judged_by(home: Path) -> None:
    """By the largest error Cells is best; by its inverse anything else is."""
    folder = grids(home / "grids")
    program = judged_by(folder, "max([abs(a - t) for a, t in zip(answers, truth)])")
    public = instance()
    judge = program.makers["choice"].trainer.judged_by  # type: ignore[union-attr]  # it is to be trained
    assert judge.name.startswith("loss-")
    answer = program.options["Flat"](rehearse(public.table, epsilon=1, seed=1), public.workload, epsilon=1)
    found = np.abs(answer.answers(public.workload) - public.truth).max()
    assert judge.loss(public, answer) == pytest.approx(found)
    assert pickle.loads(pickle.dumps(judge)).loss(public, answer) == judge.loss(public, answer)
    assert judged_by(folder, "1 + 0").makers["choice"].trainer.judged_by.name != judge.name  # type: ignore[union-attr]  # as above
    away = judged_by(folder, "1 / (1 + max([abs(a - t) for a, t in zip(answers, truth)]))")
    best, other = (each.makers["choice"].trained for each in (program, away))
    assert best.options[best.single][0] == "Cells"
    assert other.options[other.single][0] != "Cells"


@pytest.mark.parametrize(
    ("body", "said"),
    [('"bad"', "`loss` gives a text"), ("0 - 1", "`loss` gives -1"), ("truth[100000]", "there is no item 100000")],
)
def test_what_a_judge_gives_is_a_loss(home: Path, body: str, said: str) -> None:
    program = judged_by(grids(home / "grids"), body)
    judge = program.makers["choice"].trainer.judged_by  # type: ignore[union-attr]  # it is to be trained
    public = instance()
    answer = program.options["Flat"](rehearse(public.table, epsilon=1, seed=1), public.workload, epsilon=1)
    with pytest.raises(ProgramError, match=said):
        judge.loss(public, answer)


def test_a_maker_of_models_is_judged_by_a_loss_s_name_or_by_chances(home: Path) -> None:
    text = (
        "from classifiers import Majority, NaiveBayes\nfrom public import tableCorpus\n"
        "def unsure(answers, truth, chances):\n"
        "    return sum([1 - row[label] for row, label in zip(chances, truth)]) / len(truth)\n"
        'ranks = MkChoiceMaker among {Majority, NaiveBayes} trained on tableCorpus judged by "auc"\n'
        "sure = MkChoiceMaker among {Majority, NaiveBayes} trained on tableCorpus judged by unsure\n"
    )
    makers = load_source(Source("choice.jst", text)).makers
    assert makers["ranks"].judge is CLASSIFICATION.judge("auc")
    public, spec = CLASSIFICATION.rehearsal.example()
    found = make_instance(public, spec)
    model = get("NaiveBayes")(rehearse(found.table, epsilon=1, seed=1), epsilon=1)
    judge = makers["sure"].trainer.judged_by  # type: ignore[union-attr]  # it is to be trained
    _, truth = found.lists(model)
    own = [row[label] for row, label in zip(found.chances(model) or [], truth, strict=True)]
    assert judge.loss(found, model) == pytest.approx(1 - np.mean(own))


@pytest.mark.slow
def test_a_judge_that_fails_ends_learning_with_its_mistake(home: Path) -> None:
    """It is not the Options that failed, so it is not noted of them either."""
    program = judged_by(grids(home / "grids"), "0 - 1")
    with pytest.raises(ProgramError, match="`loss` gives -1"):
        _ = program.makers["choice"].trained


def test_something_else_than_an_option_is_not_chosen_among() -> None:
    text = "def f(db):\n    return noisyCount(db, epsilon)\n\nxs = [f]\nchoice = MkChoiceMaker among xs\n"
    with pytest.raises(ProgramError) as caught:
        load_source(Source("p.jst", text))
    assert [each.code for each in caught.value.diagnostics] == ["J408"]


def test_figure_1_2_reads_its_metafeatures_off_grids_of_one_and_two_axes() -> None:
    maker = load(PROGRAMS / "histogram.jst").makers["noisyHistChoice"]
    assert [each.name for each in maker.informed_by[:3]] == ["scale", "uniformity", "sparsity"]
    for counts in ([[0, 3], [2, 0]], [5, 0, 1, 0]):
        table = Table.from_grid(counts)
        found = read_raw(maker.informed_by[2:3], table)
        assert list(found.values()) == [(2.0,)]


@pytest.mark.slow
def test_figure_1_2_chooses_by_the_question_and_gains_by_it(home: Path) -> None:
    """On public grids it learns what it runs; on others, each asked with little and with much, that is worth it."""
    maker = load(PROGRAMS / "histogram.jst").makers["noisyHistChoice"]
    trained = maker.trained
    assert trained.figures.beside_high < 0, "on grids left out it does better than always one Option"

    others = [each for each in generated_grids(40).grids if each.digest[:BEGINNING] not in trained.digests]
    logs: dict[str, list[float]] = defaultdict(list)
    taken: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for grid in [each for each in others if each.axes == 2][:6]:
        public = make_instance(grid, GridSpec(records=3000, shape=(32, 32)))
        for epsilon in ("1/10", "10"):
            for option in (maker, *maker.among):
                trace = Trace()
                db = rehearse(public.table, epsilon=epsilon, seed=1, trace=trace)
                logs[option.name].append(math.log(public.loss(option(db, *public.questions, epsilon=epsilon))))
                taken[epsilon] |= {pair for each in trace.records if isinstance(each, Chosen) for pair in each.taken}
    assert taken["1/10"] != taken["10"]
    chosen, *always = (np.mean(logs[option.name]) for option in (maker, *maker.among))
    assert chosen < min(always)
    assert (home / "home" / "makers").exists()


def test_the_default_entry_is_what_nothing_else_uses() -> None:
    assert load(PROGRAMS / "histogram.jst").entry == "answerHistQueries"
    assert load(PROGRAMS / "tree.jst").entry == "FriedmanSchuster"
    assert load_source(Source("p.jst", "def main():\n    return 1\n\ndef other():\n    return 2\n")).entry == "main"
    assert opened().spent == 0


COMMON = """
from classifiers import Majority, NaiveBayes
from public import tableCorpus
WHO
choice = MkChoiceMaker among {Majority, NaiveBayes} INFORMED trained on tableCorpus

def answer(db):
    return choice(db)
"""


@pytest.mark.slow
def test_a_first_run_learns_from_rehearsals_that_came_with_jostle_where_they_tell_all(home: Path) -> None:
    program = load_source(Source("trees.jst", COMMON.replace("WHO", "").replace("INFORMED", "informed by {}")))
    trained = program.makers["choice"].trained
    assert not (home / "home" / "histories").exists(), "nothing was rehearsed"
    history = rehearsals_for(CLASSIFICATION)
    run = {history.instances[each.instance].database for each in history.lines() if isinstance(each, Runs)}
    assert trained.databases == len({history.databases[digest].name for digest in run})
    assert {name for name, _ in trained.metafeatures} <= {each.name for each in CLASSIFICATION.rehearsal.free}
    before = sorted((home / "home" / "makers").iterdir())
    again = load_source(Source("trees.jst", COMMON.replace("WHO", "").replace("INFORMED", "informed by {}")))
    assert again.makers["choice"].trained.mark == trained.mark
    assert sorted((home / "home" / "makers").iterdir()) == before, "what was learned was kept, and found"


@pytest.mark.slow
def test_the_program_of_trees_chooses_by_the_table_and_gains_by_it(home: Path) -> None:
    """Gains are those on groups of databases that were left out."""
    maker = load(PROGRAMS / "trees.jst").makers["classifierChoice"]
    trained = maker.trained
    assert trained.figures.regret_mean < trained.figures.single_regret - 0.01, "than always what is best on average"
    assert {"log_classes", "log_attributes"} <= {name for name, _ in trained.metafeatures}
    taken = set()
    for attributes, rows, epsilon in ((4, 300, "3/100"), (4, 20_000, 3)):
        trace = Trace()
        maker(rehearse(two_classes(attributes, rows), epsilon=epsilon, seed=1, trace=trace), epsilon=epsilon)
        taken |= {
            name
            for each in trace.records
            if isinstance(each, Chosen) and each.label == maker.label
            for name, _ in each.taken
        }
    assert taken == {"Majority", "PooledTree"}


def two_classes(attributes: int, rows: int) -> Table:
    """A table whose attributes all say a little of a label."""
    random = np.random.default_rng(rows)
    label = random.random(rows) < 0.4
    columns = {
        f"a{place}": np.array(list("abcd"))[np.digitize(random.normal(label, 1.5, rows), [-1, 0, 1])]
        for place in range(attributes)
    }
    schema = Schema(
        {**{name: Categorical(list("abcd")) for name in columns}, "label": Categorical(["no", "yes"])}, label="label"
    )
    return Table.from_frame(pd.DataFrame({**columns, "label": np.where(label, "yes", "no")}), schema)


@pytest.mark.slow
def test_what_did_not_come_with_jostle_is_not_learned_from_there(home: Path) -> None:
    """An Option, a metafeature or a judge of the program's own: these were rehearsed with nowhere."""
    own = "def crowd(db):\n    return {{ select count(*) from db }} / 7\n"
    for who, informed in ((own, "informed by {crowd}"), ("", "informed by {}")):
        program = load_source(Source("trees.jst", COMMON.replace("WHO", who).replace("INFORMED", informed)))
        maker = program.makers["choice"]
        told = QuickStart(corpus=CLASSIFICATION.rehearsal.corpus()).came_with(maker)
        assert (told is not None) == (not who)
        few = Corpus(CLASSIFICATION.rehearsal.corpus().databases[:3])
        assert QuickStart(corpus=few).came_with(maker) is None
    judged = QuickStart(corpus=CLASSIFICATION.rehearsal.corpus(), judged_by=judge_of(lambda answers, truth: 0.5))
    assert judged.came_with(maker) is None
