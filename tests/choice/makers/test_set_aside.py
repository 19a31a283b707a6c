"""Databases set aside: what was learned is judged by them, and nothing is learned from them or from their people."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from small import METAFEATURES, options, table, tables

from jostle.choice.learning.regret import figures
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.policies.learn import Labelled
from jostle.choice.trainer import LearnedMaker, train_maker, train_policies
from jostle.corpora.corpus import Corpus, check_set_aside
from jostle.corpora.databases import PublicTable
from jostle.errors import CorpusError, JostleError
from jostle.options.registry import get
from jostle.sites import choose
from jostle.tasks import CLASSIFICATION

AMONG = options()


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path / "home"))


def folder(place: Path, *given: PublicTable, groups: str = "") -> Path:
    """Write tables to a folder."""
    place.mkdir()
    for each in given:
        each.columns.to_pandas().to_csv(place / f"{each.name}.csv.gz", index=False)
    if groups:
        (place / "groups.toml").write_text(groups)
    return place


def trained(judge: Path | None, corpus: Corpus | None = None) -> LearnedMaker:
    training = Training(corpus=corpus or tables(4), epsilons=("1/10", "10"), repeats=2)
    maker = ChoiceMaker(among=AMONG, informed_by=METAFEATURES[:1], trainer=training, label="mine")
    return train_maker(maker, engine="threads", judge=judge)


def test_what_was_learned_is_judged_by_them_and_shown_beside_what_it_learned_from(tmp_path: Path) -> None:
    aside = folder(tmp_path / "aside", *(table(seed) for seed in (20, 21, 22)))
    learned, alone = trained(aside), trained(None)
    assert learned.trained.to_json() == alone.trained.to_json(), "nothing was learned from them"
    assert learned.judged is not None
    assert {cell.database for cell in learned.judged.cells} == {"t20", "t21", "t22"}
    assert {str(cell.epsilon) for cell in learned.judged.cells} == {"1/10", "10"}
    cells = learned.judged.cells
    mean = sum(cell.loss for cell in cells) / len(cells)
    lines = learned.as_text().splitlines()
    (own,) = (line.split() for line in lines if line.startswith("learned from, each left out in turn"))
    (said,) = (line.split() for line in lines if line.startswith(f"set aside in {aside}"))
    assert own[7:9] == ["4", f"{learned.trained.figures.loss_mean:.4g}"]
    assert said[4:6] == ["3", f"{mean:.4g}"]
    assert f"(90%: {learned.judged.figures.regret_low:.2f} to {learned.judged.figures.regret_high:.2f})" in " ".join(
        said
    )
    assert any(line.startswith("on the databases set aside: ") for line in lines)
    held = json.loads(json.dumps(learned.as_data()))
    assert held["judged"]["loss_mean"] == pytest.approx(mean)
    assert alone.as_data()["judged"] is None


@pytest.mark.parametrize(
    ("name", "same", "groups", "said"),
    [
        ("t1", True, "", "t1, to be judged by, has the same rows as t1, which is learned from"),
        ("other", True, "", "other, to be judged by, has the same rows as t1, which is learned from"),
        (
            "t2",
            False,
            "",
            "t2, to be judged by, is of the group t2, and so is t2, which is learned from",
        ),
        ("u", False, 't3 = ["u"]', "u, to be judged by, is of the group t3, and so is t3"),
    ],
)
def test_what_is_learned_from_is_not_judged_by(tmp_path: Path, name: str, same: bool, groups: str, said: str) -> None:
    shared = evolve(table(1 if same else 30), name=name)
    aside = folder(tmp_path / "aside", table(20), shared, groups=groups)
    with pytest.raises(CorpusError) as refused:
        trained(aside)
    assert refused.value.title.startswith(said)
    assert not (tmp_path / "home" / "histories").exists(), "it is refused before anything is rehearsed"


def test_nobody_is_on_both_sides_under_another_name() -> None:
    numbers = np.random.default_rng(0).normal(size=(500, 2))
    whole = pd.DataFrame({"x": numbers[:, 0], "y": numbers[:, 1], "label": ["a", "b"] * 250})
    one, other = (PublicTable.of(name, rows) for name, rows in (("one", whole[:400]), ("other", whole[100:])))
    with pytest.raises(CorpusError, match="other, to be judged by, shares rows with one, which is learned from"):
        check_set_aside(Corpus([other]), [one])
    check_set_aside(Corpus([PublicTable.of("apart", whole[400:])]), [one])


def test_a_folder_without_databases_of_the_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JostleError, match="has no database of the task 'classification' to judge by"):
        trained(folder(tmp_path / "aside"))


def test_what_labels_are_worth_is_measured_on_them(tmp_path: Path) -> None:
    aside = folder(tmp_path / "aside", table(20), table(21))
    entry = Labelled("Stump", "mark", "p.py", CLASSIFICATION, _chooses)
    learned = train_policies(entry, corpus=tables(3), epsilons=["1"], engine="threads", runs=12, judge=aside)
    assert learned.judged is not None
    assert (learned.tried_on, learned.judged.tried_on) == ("the same", "2 databases")
    assert "on databases set aside, of which nothing was learned:" in learned.as_text()
    with pytest.raises(CorpusError, match="t20, to be judged by, has the same rows"):
        train_policies(entry, corpus=Corpus([table(20)]), epsilons=["1"], engine="threads", judge=aside)


def _chooses(db: object, epsilon: float, *_: object) -> object:
    taken = choose("How", among=("Majority", "NaiveBayes"), informed_by={"epsilon": float(epsilon)})
    return get(taken)(db, epsilon=epsilon)


def test_how_sure_a_mean_is_goes_by_groups() -> None:
    """Twenty cells of one database tell no more than one; cells of twenty databases do."""
    chosen = np.tile([0.2, 0.4], 20)
    even = np.full(40, 0.2)
    many = figures(chosen, even, even, floor=0.01, groups=np.arange(40).astype(str))
    few = figures(chosen, even, even, floor=0.01, groups=np.repeat(np.arange(10), 4).astype(str))
    two = figures(chosen, even, even, floor=0.01, groups=np.tile(["a", "b"], 20))
    assert many.regret_mean == few.regret_mean == two.regret_mean == pytest.approx(1.5)
    assert many.regret_low == pytest.approx(1.5 - 1.645 * 0.5 / np.sqrt(40), abs=0.03)
    assert few.regret_high - few.regret_low == pytest.approx(0), "each group has the same cells"
    assert (two.regret_low, two.regret_high) == pytest.approx((1.0, 2.0))
    assert two.beside_low == pytest.approx(0.0)
