"""Neighbouring tables of two attributes and a class, given as counts."""

from __future__ import annotations

from collections.abc import Iterator

from jostle.audit.pairs import Pair, Pairs, Relation, histograms_adjacent
from jostle.audit.selections import Table

__all__ = ["grid_pairs", "table_pairs", "tables_adjacent"]

WORSE_BY = 8
"""Records that the second grid misclassifies and the first does not, times d, which is large when epsilon is small."""


def tables_adjacent(first: Table, second: Table, relation: Relation) -> bool:
    """Whether two tables are one record apart."""
    flat = [tuple(count for row in table for cell in row for count in cell) for table in (first, second)]
    return histograms_adjacent(flat[0], flat[1], relation)


def table_pairs() -> Pairs[Table]:
    """Small tables before and after a record is added that counts for one of the two attributes only."""

    def table(*counts: int) -> Table:
        a, b, c, d, e, f, g, h = counts
        return (((a, b), (c, d)), ((e, f), (g, h)))

    pairs = (
        Pair(table(*[0] * 8), table(0, 1, *[0] * 6), "no records; the first comes"),
        # Class 1 leads where the first attribute puts the record, and lags where the second does.
        Pair(table(0, 3, 2, 0, 4, 0, 0, 0), table(0, 4, 2, 0, 4, 0, 0, 0), "the first attribute gains on the second"),
        Pair(table(4, 1, 4, 1, 4, 1, 4, 1), table(4, 1, 4, 2, 4, 1, 4, 1), "neither attribute gains"),
        Pair(table(0, 2, 0, 2, 9, 0, 9, 0), table(0, 3, 0, 2, 9, 0, 9, 0), "the first attribute leads and gains"),
    )

    def neighbours(first: Table, second: Table) -> bool:
        return tables_adjacent(first, second, "add_remove")

    return Pairs(relation="add_remove", make=lambda: pairs, neighbours=neighbours)


def grid_pairs(relation: Relation) -> Pairs[Table]:
    """Tables on which a record raises the quality of one grid by all it can, and lowers that of the other.

    A record of class 0 comes to a value of the first attribute where class 0 leads by d, so that the expected
    misclassification falls, and to a value of the second where class 1 leads by d. Under replace_one it comes
    from values where it does as much: one where class 1 leads by d, and one where class 0 does. Further values
    hold records that the first attribute tells apart and the second does not, so that the second
    grid is rarely chosen.
    """

    def table(lead: int, last: tuple[int, int]) -> Table:
        counts = [[[0, 0] for _ in range(3)] for _ in range(4)]
        counts[0][1][1] = lead
        counts[1][0][0] = lead
        counts[2][2][0] = counts[3][2][1] = WORSE_BY * lead
        counts[last[0]][last[1]][0] += 1
        return tuple(tuple((cell[0], cell[1]) for cell in row) for row in counts)

    def without(lead: int) -> Table:
        full = [[list(cell) for cell in row] for row in table(lead, (1, 1))]
        full[1][1][0] -= 1
        return tuple(tuple((cell[0], cell[1]) for cell in row) for row in full)

    def make() -> Iterator[Pair[Table]]:
        for lead in (1, 2, 3, 4, 6, 9, 13, 17, 25, 40, 70, 120, 170):
            before = without(lead) if relation == "add_remove" else table(lead, (0, 0))
            yield Pair(before, table(lead, (1, 1)), f"leads of {lead}; one grid gains what the other loses")

    def neighbours(first: Table, second: Table) -> bool:
        return tables_adjacent(first, second, relation)

    return Pairs(relation=relation, make=make, neighbours=neighbours)
