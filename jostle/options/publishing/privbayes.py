"""PrivBayes: rows drawn from a Bayesian network of noisy counts.

Zhang, Cormode, Procopiuc, Srivastava, Xiao. PrivBayes: private data release via Bayesian networks. SIGMOD 2014; ACM
TODS 42, 2017, whose R is the score here, and whose *theta-usefulness* says how many cells a column and its parents may
have. Columns keep their own values (the vanilla encoding); one of more values than can be told from noise is put
together by its taxonomy, or bins by twos. The label is the first column, where the paper draws one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import isqrt, prod

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.publishing.base import Caution, Publisher, few, noise_scale, released
from jostle.parameters import positive, share, whole
from jostle.privacy.column_scores import Dependence
from jostle.privacy.probe import Probe
from jostle.tables.block import Codes, code_type
from jostle.tables.kernels import LARGEST_KEY, MOST_CELLS
from jostle.tables.pools import Layer, Pool, Stack
from jostle.tables.schema import Schema
from jostle.tasks.publishing import Published

Integers = NDArray[np.int64]
Groups = Mapping[str, tuple[int, ...]]
Family = tuple[str, ...]
"""A column, then its parents."""

MOST_CANDIDATES = 300
"""Pairs of a column and its parents that are picked from at once; of more, so many are drawn."""
MOST_COUNTED = 2**22
DRAW_SEED = 0
"""Rows are drawn from released numbers, the same each time."""
MOST_ROWS = 10**7
DRAWN_AT_ONCE = 2**16
"""Rows whose values are drawn together: few enough that they stay in the processor's cache."""


@option
@frozen(kw_only=True)
class PrivBayes(Publisher):
    """A network picked column by column, then the counts of each column with its parents.

    Privacy: the number of rows by `AddNoise`, unless it is known; a pick by `Dependence` for each column but the label,
    which share a part of epsilon; one tally of all families (a row adds 1 to each) by `AddNoise` at the rest. Which
    candidates there are follows from public facts, the number of rows and earlier picks. In turn these cost epsilon,
    under add_remove and replace_one.
    """

    theta: float = positive(4.0)
    """How many times the noise a cell holds on average at least."""
    degree: int = whole(3, least=1)
    """The most parents that a column has."""
    rows_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of rows, unless it is public."""
    network_share: Fraction = share("3/10")
    """Part of the rest that picks the network; the other counts its families."""
    paper = "Zhang, Cormode, Procopiuc, Srivastava, Xiao, SIGMOD 2014"

    @property
    def holds(self) -> str:
        return "the rows that it draws, 10 million at most"

    def refuses(self, schema: Schema) -> str | None:
        if schema.label is not None and sum(map(schema.size, schema.names)) > MOST_CELLS // 2:
            return "the columns have more values than are counted at once"
        return super().refuses(schema)

    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:
        """A caution that most columns cannot be told from noise, if so."""
        most = self._most_cells(schema, left, rows)
        lost = sum(len(set(groups)) == 1 and len(groups) > 1 for groups in _grouped(schema, most).values())
        if most < 2 * len(schema.classes) or 2 * lost > len(schema.attributes):
            return f"{few(rows)} for {len(schema.names)} columns at this epsilon: most of them are left out"
        return ""

    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:
        schema, label = db.schema, db.schema.label or ""
        rows, left, drowns = self.counted(db, epsilon, self.rows_share, told)
        most = self._most_cells(schema, left, rows)
        groups = _grouped(schema, most)
        names = [name for name in schema.attributes if max(groups[name]) > 0]
        families: list[Family] = [(label,)]
        spent = Fraction(0)
        # The last column is picked as well, with its parents; without columns, all goes to counting.
        each = left * self.network_share / max(len(names), 1)
        for place in range(len(names)):
            candidates = self._candidates(db, groups, families, names, most)
            picked = db.pick(_dependence(groups, candidates), each, site=f"column {place + 1}")
            families.append(candidates[picked])
            names.remove(candidates[picked][0])
            spent += each
        noisy = db.measure(
            Stack([Layer(family, tuple(groups[name] for name in family)) for family in families]),
            left - spent,
            site="families",
        )
        drawn, marginals = _drawn(groups, families, noisy, min(rows, MOST_ROWS))
        published = [name for name in schema.names if name in drawn]
        cells, counts = _distinct([drawn[name] for name in published], [len(marginals[name]) for name in published])
        return Published(
            schema=schema,
            columns=released(published, [groups[name] for name in published], [marginals[name] for name in published]),
            cells=cells,
            counts=counts.astype(np.int64),
            made_by=self.name,
            epsilon=epsilon,
            caution=drowns,
        )

    def _most_cells(self, schema: Schema, left: Fraction, rows: int) -> int:
        counting = left * (1 - self.network_share)
        return int(rows / (self.theta * len(schema.names) * noise_scale(schema, counting)))

    def _candidates(
        self, db: Probe, groups: Groups, families: list[Family], left: list[str], most: int
    ) -> list[Family]:
        """Columns with maximal sets of parents; where many, a draw that has nothing to do with rows."""
        taken = [family[0] for family in families]
        candidates: list[Family] = []
        for name in left:
            room = most // (max(groups[name]) + 1)
            candidates += [(name, *parents) for parents in _maximal(groups, taken, room, self.degree)]
        order = db.shuffled(len(candidates)).tolist() if len(candidates) > MOST_CANDIDATES else range(len(candidates))
        kept: list[Family] = []
        cells = 0
        for place in order:
            size = prod(max(groups[name]) + 1 for name in candidates[place])
            if kept and (len(kept) == MOST_CANDIDATES or cells + size > MOST_COUNTED):
                break
            cells += size
            kept.append(candidates[place])
        return kept


def _drawn(
    groups: Groups, families: list[Family], noisy: Integers, count: int
) -> tuple[dict[str, Codes], dict[str, NDArray[np.float64]]]:
    """So many rows' groups, column by column, and each column's noisy counts."""
    random = np.random.default_rng(DRAW_SEED)
    drawn: dict[str, Codes] = {}
    marginals: dict[str, NDArray[np.float64]] = {}
    start = 0
    for name, *parents in families:
        sides = [max(groups[each]) + 1 for each in (name, *parents)]
        table = noisy[start : start + prod(sides)].reshape(sides[0], -1)
        start += table.size
        marginals[name] = table.sum(axis=1).astype(np.float64)
        running = _running(table)
        drawn[name] = np.empty(count, dtype=code_type(sides[0]))
        for first in range(0, count, DRAWN_AT_ONCE):
            rows = slice(first, min(first + DRAWN_AT_ONCE, count))
            place = np.zeros(rows.stop - first, dtype=np.int64)
            for parent, side in zip(parents, sides[1:], strict=True):
                place = place * side + drawn[parent][rows]
            drawn[name][rows] = _values(running, place, random.random(len(place)))
    return drawn, marginals


def _running(table: Integers) -> NDArray[np.float64]:
    """For each place of the parents, how likely one of the values up to each is, but for the last.

    Where the parents have no count left, by the column's own counts.
    """
    counts = np.maximum(table, 0).astype(np.float64)
    own = np.maximum(table.sum(axis=1), 0).astype(np.float64)
    own = own if own.any() else np.ones_like(own)
    counts[:, ~counts.any(axis=0)] = own[:, None]
    return np.ascontiguousarray(np.cumsum(counts / counts.sum(axis=0), axis=0)[:-1].T)


def _values(running: NDArray[np.float64], place: Integers, uniform: NDArray[np.float64]) -> Integers:
    """A value for each row, by its parents' place: how many of the numbers there a uniform one is not below.

    They rise, so the number is looked for by halves.
    """
    values = running.shape[1]
    codes = np.zeros(len(place), dtype=np.int64)
    for half in reversed(range(values.bit_length())):
        last = codes + ((1 << half) - 1)
        passed = uniform >= running.ravel().take(place * values + last, mode="clip")
        codes += ((last < values) & passed).astype(np.int64) << half
    return codes


def _distinct(columns: list[Codes], sides: list[int]) -> tuple[Codes, Integers]:
    """Different rows in order, and how often each is there."""
    keys, different = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column, side in zip(columns, sides, strict=True):
        if different > LARGEST_KEY // side:
            held, keys = np.unique(keys, return_inverse=True)
            different = len(held)
        keys = keys * side + column
        different *= side
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    kind = code_type(max(sides))
    return np.stack([column[first].astype(kind) for column in columns], axis=1), counts.astype(np.int64)


def _grouped(schema: Schema, most: int) -> Groups:
    """Each column's groups: its finest level that leaves room for a parent, or that at all has few enough."""
    found = {schema.label or "": schema[schema.label or ""].levels[-1]}
    for name in schema.attributes:
        levels = schema[name].levels
        fitting = [level for level in levels if max(level) + 1 <= max(most, 1)]
        roomy = [level for level in fitting if max(level) + 1 <= isqrt(max(most, 1)) and max(level) > 0]
        found[name] = (roomy or fitting or levels[:1])[-1]
    return found


def _dependence(groups: Groups, families: list[Family]) -> Dependence:
    """The score of each family: how far its column is from independent of the parents."""
    named = {name for family in families for name in family}
    columns = tuple(name for name in groups if name in named)  # in one order: what was counted is known again
    places = {name: index for index, name in enumerate(columns)}
    taken = np.full((len(families), len(columns)), -1, dtype=np.int64)
    for row, family in zip(taken, families, strict=True):
        row[[places[name] for name in family]] = 0
    levels = [np.array([groups[name]], dtype=np.int64) for name in columns]
    return Dependence(Pool(columns, levels, taken), [places[name] for name, *_ in families])


def _maximal(groups: Groups, known: list[str], room: int, degree: int) -> list[Family]:
    """Sets of at most so many parents that together have few enough values, and to which none can be added."""
    sizes = {name: max(groups[name]) + 1 for name in known}
    families: list[Family] = []
    for count in range(min(degree, len(known)), -1, -1):
        for parents in combinations(known, count):
            taken = prod(sizes[name] for name in parents)
            fits = taken <= room or not count
            if fits and (
                count == degree or not any(taken * sizes[name] <= room for name in known if name not in parents)
            ):
                families.append(parents)
    return families
