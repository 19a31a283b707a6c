"""Generated databases: what is asked for, the same every time, and something to learn from."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import ran
from scipy import stats

from jostle.corpora.databases import PublicTable, drawn
from jostle.corpora.generators import (
    KINDS,
    BayesNet,
    GeneratedGrid,
    RandomTree,
    generated,
    generated_grids,
    generated_tables,
)


def codes(table: PublicTable, name: str) -> list[int]:
    found: list[int] = table.columns[name].combine_chunks().indices.to_pylist()
    return found


@given(
    kind=st.sampled_from([BayesNet, RandomTree]),
    rows=st.integers(1, 200),
    attributes=st.integers(1, 12),
    values=st.integers(2, 9),
    classes=st.integers(2, 5),
    skew=st.floats(0.1, 10),
    noise=st.floats(0, 1),
    seed=st.integers(0, 2**40),
)
def test_tables_are_as_asked_for(
    kind: type[BayesNet | RandomTree],
    rows: int,
    attributes: int,
    values: int,
    classes: int,
    skew: float,
    noise: float,
    seed: int,
) -> None:
    made = kind(
        rows=rows, attributes=attributes, values=values, classes=classes, skew=skew, noise=noise, seed=seed
    ).read()
    assert (len(made), made.num_columns) == (rows, attributes + 1)
    assert len(made["label"].unique()) <= classes
    for name in made.column_names[:-1]:
        if str(made[name].type) != "double":
            assert len(made[name].unique()) <= values


def test_the_same_value_makes_the_same_table_and_another_seed_another() -> None:
    tables = [PublicTable("t", BayesNet(seed=seed, rows=50)).digest for seed in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]
    trees = [PublicTable("t", RandomTree(seed=seed, rows=50)).digest for seed in (1, 1, 2)]
    assert trees[0] == trees[1] != trees[2]


def test_another_process_generates_the_same_corpus() -> None:
    program = "from jostle.corpora.generators import generated; print(*(d.digest for d in generated(2)))"
    done = ran("-c", program, check=True)
    assert done.stdout.split() == [database.digest for database in generated(2)]


def test_what_is_made_is_the_same_in_every_version_of_numpy() -> None:
    """Shipped rehearsals know databases by digests. Where one is another, numpy's draws, or ours, have changed."""
    counts = drawn(np.linspace(1, 5, 4096), 10**6, np.random.default_rng(7))  # others by a `Generator` of numpy 2.5
    made = {
        "drawn": counts.tolist(),
        **{
            kind: GeneratedGrid(kind, (64, 64), 10**6, 9, seed=7).read().tolist()
            for kind in ("flat", "spikes", "steps")
        },
        **{
            kind.__name__: kind(rows=500, classes=3, noise=0.1, seed=7).read().to_pydict()
            for kind in (BayesNet, RandomTree)
        },
    }
    found = {name: hashlib.blake2b(json.dumps(each).encode(), digest_size=8).hexdigest() for name, each in made.items()}
    assert found == {
        "drawn": "b9b6693d0ce9ae17",
        "flat": "f8884c9575c1ded4",
        "spikes": "b94d2b4bd8f41af5",
        "steps": "52d0ab9a8f8047af",
        "BayesNet": "161efb7cac660d8a",
        "RandomTree": "43e55b8973468a4a",
    }


def test_one_variable_of_a_bayes_net_has_one_distribution_for_each_value_of_its_parent() -> None:
    """Where a parent is drawn, in about half of the nets, label and attribute depend on each other."""
    dependent = [PublicTable("t", BayesNet(rows=4000, attributes=1, parents=1, seed=seed)) for seed in range(20)]
    independent = [PublicTable("t", BayesNet(rows=4000, attributes=1, parents=0, seed=seed)) for seed in range(20)]

    def dependence(table: PublicTable) -> float:
        counts = np.zeros((4, 2))
        np.add.at(counts, (codes(table, "a0"), codes(table, "label")), 1)
        counts = counts[counts.sum(axis=1) > 0]
        return float(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)

    assert min(dependence(table) for table in independent) > 1e-4
    assert 5 <= sum(dependence(table) < 1e-9 for table in dependent) <= 15


def test_a_tree_without_noise_labels_like_rows_alike() -> None:
    table = PublicTable("t", RandomTree(rows=3000, attributes=4, numbers=0, depth=2, seed=3)).columns
    rows = list(zip(*(table[name].to_pylist() for name in table.column_names[:-1]), strict=True))
    labels: dict[tuple[str, ...], set[str]] = {}
    for row, label in zip(rows, table["label"].to_pylist(), strict=True):
        labels.setdefault(row, set()).add(label)
    assert all(len(found) == 1 for found in labels.values())
    assert len(set(table["label"].to_pylist())) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(256,), (16, 32), (4, 4, 8)])
def test_grids_have_the_shape_and_the_records_they_should(kind: str, shape: tuple[int, ...]) -> None:
    made = GeneratedGrid(kind, shape, 5000, 3, 7)
    counts = made.read()
    assert counts.dtype == np.int64
    assert (counts.shape, int(counts.sum())) == (shape, 5000)
    assert counts.tolist() == made.read().tolist()
    assert kind == "flat" or counts.tolist() != GeneratedGrid("flat", shape, 5000, 3, 7).read().tolist()


def test_each_kind_of_grid_is_what_it_is_called() -> None:
    """With ten million records, counts are within a few percent of what they are drawn from."""
    flat, zipf, falling, spikes, steps = (
        GeneratedGrid(kind, (1000,), 10**7, strength, 5).read().astype(float)
        for kind, strength in (("flat", 1), ("zipf", 1), ("zipf-sorted", 1), ("spikes", 4), ("steps", 5))
    )
    assert flat == pytest.approx(np.full(1000, 10_000), rel=0.06)
    ranks = 1e7 / np.arange(1, 1001) / np.sum(1 / np.arange(1, 1001))
    assert np.sort(zipf)[::-1] == pytest.approx(ranks, rel=0.2)
    assert falling == pytest.approx(ranks, rel=0.2)
    assert np.argmax(zipf) != 0
    highest = np.sort(spikes)[::-1]
    assert highest[:4].sum() / 1e7 == pytest.approx(0.9, abs=0.01)
    assert highest[4] < 2000
    jumps = np.abs(np.diff(steps)) > 6 * np.sqrt(steps[1:] + steps[:-1])
    assert np.sum(jumps) == 4


def test_corpora_are_varied_named_and_begin_alike() -> None:
    corpus = generated_tables(12)
    assert len({table.digest for table in corpus.tables}) == len(corpus.groups) == 12
    assert all(table.artificial and table.group == table.name for table in corpus.tables)
    assert [table.name for table in generated_tables(5)] == [table.name for table in corpus][:5]
    assert corpus.tables[0].name != generated_tables(1, seed=1).tables[0].name
    assert {table.name.partition(" ")[0] for table in corpus} == {"bayes-net", "random-tree"}
    grids = generated_grids(12)
    assert {grid.name.partition(" ")[0] for grid in grids} == set(KINDS)
    assert {grid.shape for grid in grids.grids} == {(4096,), (256, 256)}
    assert len({grid.digest for grid in grids}) == 12
