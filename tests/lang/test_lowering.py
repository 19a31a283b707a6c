"""What programs ask of tables: its sensitivity bounds every neighbour's change, and its value is the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pyarrow as pa
import pytest

from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import ProgramError, Source
from jostle.lang.compiling import Scope
from jostle.lang.frames import Frame
from jostle.lang.program import load_source
from jostle.lang.values import PrivateNumber, numbered
from jostle.lang.values import TableValue as Rows
from jostle.privacy.expressions import sensitivity
from jostle.privacy.opening import raw, rehearse
from jostle.tables.schema import Neighbours

SCHEMA = Schema(
    {"x": Numeric(0, 2, bins=2), "age": Numeric(0, 20, bins=2), "ill": Categorical(["no", "yes"])}, label="ill"
)
KINDS = [(x, age, ill) for x in (0.5, 1.5) for age in (5.0, 15.0) for ill in ("no", "yes")]
EXPRESSIONS = {
    "rows": "len(db)",
    "part": 'len(db[ill = "yes"])',
    "where": "select count() from db where age > 10",
    "where_two": 'select count() from db where age > 10 and ill == "yes"',
    "where_or": "select count() from db where age < 3 or age > 10",
    "where_either": 'select count() from db where age > 10 or ill == "yes"',
    "where_either_and": 'select count() from db[ill = "yes"] where (x == 0 or age > 10) and (x == 1 or ill == "yes")',
    "compared_columns": "select count() from db where age > 10 * x",
    "sum_where_either": 'select sum(age) from db where x == 0 or ill == "yes"',
    "groups_where_either": 'max(select count() from db where age > 10 or ill == "yes" groupby x, ill)',
    "sum": "select sum(age) from db",
    "sum_of_squares": "select sum(age * age / 25) from db where x == 1",
    "sum_negative": "select sum(age - 10) from db",
    "groups": "max(select count() from db groupby ill)",
    "least_group": "min(select count() from db groupby ill)",
    "group_deviation": "stddev(select count() from db groupby age / 10)",
    "group_mean": "mean(select sum(age) from db groupby ill)",
    "group_sum": "sum(select count() from db groupby ill)",
    "one_group": '(select count() from db groupby ill)["yes"]',
    "cells": "select count(values) from db where values > 0",
    "few_cells": "select count(values) from db where values <= 1",
    "cell_deviation": "select stddev(values) from db",
    "largest_cell": "select max(values) from db",
    "difference": 'abs(len(db[ill = "yes"]) - len(db[ill = "no"]))',
    "scaled": "2 * len(db) / 3 - 1 + 0.5",
    "largest_of": "max([len(db[x = v]) for v in [0, 1]])",
    "written_function": 'twice(len(db)) - len(db[ill = "no"])',
    "rule": "maxScore(db.x, db.ill, db)",
    "other_rule": "maxScore(db.ill, db.x, db)",
    "parts_together": 'len(db[ill = "yes"][x = 0]) + len(db[x = 1])',
    "sum_of_parts": "sum([len(db[ill = v]) for v in db.ill])",
    "sum_of_parts_and_all": "sum([len(db[x = v]) for v in [0, 1]] + [len(db)])",
    "mean_of_cells": "mean([len(db), 3 * len(db[x = 0]), 0 - len(db[x = 1])])",
    "least_of": 'min([len(db), 2 * len(db[ill = "no"])])',
    "largest_of_scaled": 'max([0 - 3 * len(db[x = 0]), len(db[ill = "yes"]) / 2])',
    "two_queries_by_group": (
        "max((select count() from db where age > 10 groupby ill) - (select count() from db groupby ill) / 3)"
    ),
    "groups_scaled": "stddev(0 - 3 * (select count() from db groupby ill))",
    "sizes_of_groups": "sum(abs((select count() from db groupby ill) - 1))",
    "two_axes": "max(select count() from db groupby x, ill)",
    "one_of_two_axes": '(select count() from db groupby x, ill)[(0, "yes")]',
    "sum_by_two": "max(select sum(age) from db groupby x, ill)",
    "sum_where_in": 'select sum(age) from db where ill in ["yes"]',
    "sum_clamped_by_a_function": "select sum(min(age, 7) - max(0, age - 12)) from db",
    "mean_cell": "select mean(values) from db",
    "cells_where": "select count(values) from db where values > 1 and x == 1",
    "sum_of_cells": "max(select sum(values) from db groupby x, age / 10)",
    "part_of_a_query": 'select sum(age) from db[ill = "no"] where x == 0',
    "through_a_lambda": "(lambda n, m: 2 * n - m)(len(db[x = 1]), len(db))",
    "nested_sizes": 'abs(abs(len(db[x = 0]) - 2) - len(db[ill = "yes"]))',
    "rules_together": "maxScore(db.x, db.ill, db) - maxScore(db.age, db.ill, db)",
    "rule_of_a_part": "maxScore(db.x, db.ill, db[age = 5])",
}
CONSTANT = {"rows", "group_sum", "scaled", "sum_of_parts", "sum_of_parts_and_all", "mean_cell"}
"""What a row that becomes another does not change; a part of a table sees rows come and go."""
VALUES: dict[str, Callable[[Any], Any]] = {
    "rows": len,
    "part": lambda rows: sum(row[2] == "yes" for row in rows),
    "where": lambda rows: sum(row[1] > 10 for row in rows),
    "where_two": lambda rows: sum(row[1] > 10 and row[2] == "yes" for row in rows),
    "where_either": lambda rows: sum(row[1] > 10 or row[2] == "yes" for row in rows),
    "where_either_and": lambda rows: sum(row[2] == "yes" and (row[0] < 1 or row[1] > 10) for row in rows),
    "compared_columns": lambda rows: sum(row[1] > 10 * int(row[0]) for row in rows),
    "sum_where_either": lambda rows: sum(row[1] for row in rows if row[0] < 1 or row[2] == "yes"),
    "groups_where_either": lambda rows: max(
        sum(row[0] == x and row[2] == ill and (row[1] > 10 or ill == "yes") for row in rows)
        for x in (0.5, 1.5)
        for ill in ("no", "yes")
    ),
    "sum": lambda rows: sum(row[1] for row in rows),
    "sum_of_squares": lambda rows: sum(row[1] ** 2 / 25 for row in rows if row[0] == 1.5),
    "sum_negative": lambda rows: sum(row[1] - 10 for row in rows),
    "groups": lambda rows: max(sum(row[2] == ill for row in rows) for ill in ("no", "yes")),
    "group_mean": lambda rows: sum(row[1] for row in rows) / 2,
    "cells": lambda rows: len(set(rows)),
    "few_cells": lambda rows: 8 - sum(rows.count(row) > 1 for row in set(rows)),
    "largest_cell": lambda rows: max((rows.count(row) for row in rows), default=0),
    "difference": lambda rows: abs(sum(1 if row[2] == "yes" else -1 for row in rows)),
    "scaled": lambda rows: Fraction(2 * len(rows), 3) - Fraction(1, 2),
    "parts_together": lambda rows: sum((row[2] == "yes" and row[0] == 0.5) or row[0] == 1.5 for row in rows),
}


def lowered(expression: str, schema: Schema = SCHEMA) -> Any:
    """Return the private expression that a program's one stands for."""
    text = f"def twice(n):\n    return n + n\n\ndef value(db):\n    return {{{{ {expression} }}}}\n"
    program = load_source(Source("p.jst", text))
    bought = program["value"].definition.body[0].value

    go = program._compiler.expression(bought.value, Scope("value", {"db": "db"}))
    db = Rows(rehearse(table_of((), schema)))
    number = numbered(go(Frame(program, {"db": db}, Fraction(1), 0)))
    assert isinstance(number, PrivateNumber)
    found = number.expression
    for part in number.table.path()[1:]:
        found = found.where(part.column, part.code)
    return found


def test_a_condition_on_several_columns_is_as_sensitive_as_one_on_a_single_column() -> None:
    kinds: tuple[tuple[Neighbours, int], ...] = (("add_remove", 1), ("replace_one", 2))
    for neighbours, either in kinds:
        schema = SCHEMA.with_neighbours(neighbours)
        by_group = [
            EXPRESSIONS[name].removeprefix("max(").removesuffix(")") for name in ("two_axes", "groups_where_either")
        ]
        assert [sensitivity(lowered(each, schema), schema) for each in by_group] == [either, either]
        assert sensitivity(lowered(EXPRESSIONS["where_either"], schema), schema) == 1


def test_a_row_without_a_value_in_a_column_that_a_condition_looks_at_does_not_meet_it() -> None:
    schema = Schema({**dict(SCHEMA.columns), "ill": Categorical(["no", "yes"], outside="other")}, label="ill")
    expression = lowered('select count() from db where age > 10 or ill == "yes"', schema)
    assert raw(table_of([(0.5, 15.0, "perhaps"), (0.5, 15.0, "no")], schema), [expression])[0][0] == 1


def table_of(rows: Sequence[tuple[float, float, str]], schema: Schema = SCHEMA) -> Table:
    """Return a table of rows."""
    kinds = (pa.float64(), pa.float64(), pa.string())
    columns = {
        name: pa.array([row[place] for row in rows], kind)
        for place, (name, kind) in enumerate(zip(schema.names, kinds, strict=True))
    }
    return Table.from_frame(pa.table(columns), schema)


@pytest.mark.representative("name")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_neighbour_changes_it_by_more_than_its_sensitivity(name: str, neighbours: Neighbours) -> None:
    schema = SCHEMA.with_neighbours(neighbours)
    expression = lowered(EXPRESSIONS[name], schema)
    bound = sensitivity(expression, schema)
    tables = [rows for size in range(4) for rows in combinations_with_replacement(KINDS, size)]
    found = {rows: raw(table_of(rows, schema), [expression])[0][0] for rows in tables}
    worst = Fraction(0)
    for rows in tables:
        for new in KINDS:
            if neighbours == "add_remove":
                others = [tuple(sorted((*rows, new)))]
            else:
                others = [tuple(sorted((*rows[:place], *rows[place + 1 :], new))) for place in range(len(rows))]
            worst = max([worst, *(abs(found[other] - found[rows]) for other in others if other in found)])
    assert worst <= bound
    assert worst > 0 or (neighbours == "replace_one" and name in CONSTANT)


@pytest.mark.parametrize("name", VALUES)
def test_it_is_what_the_program_says(name: str) -> None:
    expression = lowered(EXPRESSIONS[name])
    for rows in [rows for size in range(4) for rows in combinations_with_replacement(KINDS, size)][::7]:
        assert raw(table_of(rows), [expression])[0][0] == VALUES[name](rows)


def test_a_grid_with_one_axis_lies_at_0_of_the_other() -> None:
    grid = rehearse(Table.from_grid([1, 2, 3, 4]), epsilon=1000)
    text = "def value(db):\n    return {{ max(select sum(values) from db groupby x / 2, y / sqrt(db.y_range)) }}\n"
    assert round(load_source(Source("p.jst", text)).run("value", grid, epsilon=Fraction(1000))) == 7


@pytest.mark.parametrize(
    "expression",
    [
        "select count() from db groupby age / x",
        "select sum(age) from db where age > x",
        "select max(values) from db where age > x",
        "select count(values) from db",
        "select min(values) from db where x == 0",
        "select sum(ill) from db",
        "select count() from db groupby x, x / 2",
        "select count(values) from db where values % 2 == 0",
        "select sum(values * 2) from db",
        "select sum(age) from db groupby age / 10",
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(expression: str) -> None:
    db = rehearse(table_of(()), epsilon=1)
    program = load_source(Source("p.jst", f"def value(db):\n    return {{{{ {expression} }}}}\n"))
    with pytest.raises(ProgramError) as caught:
        program.run("value", db, epsilon=Fraction(1))
    assert [each.code for each in caught.value.diagnostics] == ["J504"]
    assert db.spent == 0
