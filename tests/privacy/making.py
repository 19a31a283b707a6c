"""Made-up fields, which make sense, for every member of every closed list and every class of its parts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from attrs import evolve, fields
from some_expressions import SIZES, tiny

from jostle import options
from jostle.errors import JostleError
from jostle.options.classification.tuning import TriedClassifiers
from jostle.privacy.column_scores import (
    Dependence,
    Discernibility,
    FeatureDiscernibility,
    FeatureScore,
    GridQuality,
    SetDiscernibility,
)
from jostle.privacy.descent import Descent
from jostle.privacy.events import (
    EVENTS,
    Allotment,
    Disjoint,
    Event,
    InTurn,
    Laplace,
    PermuteAndFlip,
    Refined,
    Repeated,
    Reserved,
    Selected,
)
from jostle.privacy.expressions import NODES, Above, Along, CellSums, Deviation, Extreme, Mean, Total, known_of
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseTo, AddNoiseToSpread
from jostle.privacy.nodes import Cell, Clamped, Expression, Scaled, Shifted, Sum, Tally
from jostle.privacy.picks import (
    GROUP_SCORES,
    SCORES,
    FindAbove,
    FindNthLargest,
    Pick,
    PickEach,
    PickLargest,
    PickPartition,
    PickSeveral,
)
from jostle.privacy.scores import Fullest, Misfit, MostHits, QuantileScore
from jostle.privacy.selection import NumberOfRuns
from jostle.privacy.split_scores import Halves, LeafMajority, MajoritiesBelow, MixedSplitScore, SplitScore, Utility
from jostle.tables.closed import DENSE_KERNELS, LEVEL_KERNELS
from jostle.tables.feature_kernels import FeatureRefinements, FeatureSums
from jostle.tables.kernels import Counts, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Products, Ranks
from jostle.tables.persons import PersonBands, PersonCount
from jostle.tables.pools import GridCounts, Layer, Pool, Refinements, Stack
from jostle.tables.regions import Box, Haar, Regions
from jostle.tables.routes import LeafCounts, Routing, SplitCounts
from jostle.tables.rules import Agreements, Hits, ManyHits, MarginLevels, Margins, Points
from jostle.tables.slopes import STEEPEST, UNIT, Slopes
from jostle.trace.records import Chosen, Stated

NAMES = tuple(SIZES)
ATTRIBUTES = NAMES[1:]
SCHEMA = tiny()
Chance = random.Random


def vars_of(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(type(value))}


def some_names(chance: Chance, among: Sequence[str] = NAMES, least: int = 0) -> tuple[str, ...]:
    return tuple(chance.choices(among, k=chance.randint(least, 3)))


def a_routing(chance: Chance, among: Sequence[str] = NAMES, *, parts: bool = True) -> Routing:
    """Return trees that may share nodes, down to one leaf for all."""
    columns = some_names(chance, among)
    count = chance.randint(1, 6) if columns else 1
    attribute: list[int] = []
    first: list[int] = []
    children: list[int] = []
    for node in range(count):
        place = chance.randrange(len(columns)) if node < count - 1 and chance.random() < 0.6 else -1
        attribute.append(place)
        first.append(len(children))
        if place >= 0:
            children += [chance.randint(node + 1, count - 1) for _ in range(SIZES[columns[place]])]
    roots = [chance.randrange(count) for _ in range(chance.randint(1, 3))]
    key = chance.randrange(2**64) if parts and chance.random() < 0.3 else None
    return Routing(columns, roots, attribute, first, children, count, key)


def some_groups(chance: Chance, size: int) -> tuple[int, ...]:
    return tuple(chance.randrange(size) for _ in range(size)) if chance.random() < 0.5 else ()


def a_condition(chance: Chance) -> tuple[str, tuple[int, ...]]:
    column = chance.choice(NAMES)
    return column, tuple(chance.randrange(SIZES[column]) for _ in range(chance.randint(0, 3)))


def a_weight(chance: Chance) -> int:
    return chance.choice([chance.randint(-4, 4), 127, -128, 2**15, -(2**15), 2**30 - 1, 1 - 2**30])


def layer(chance: Chance) -> dict[str, Any]:
    columns = some_names(chance)
    weighted = chance.choice([None, *NAMES])
    return {
        "columns": columns,
        "groups": tuple(some_groups(chance, SIZES[name]) for name in columns),
        "where": tuple(a_condition(chance) for _ in range(chance.randint(0, 2))),
        "weighted": weighted,
        "weights": tuple(a_weight(chance) for _ in range(SIZES[weighted])) if weighted else (),
    }


def regions(chance: Chance) -> dict[str, Any]:
    columns = some_names(chance)
    cells = math.prod(SIZES[name] for name in columns)
    order = chance.sample(range(cells), cells)
    starts = [
        [0, *sorted(chance.sample(range(1, cells), chance.randint(0, cells - 1)))] for _ in range(chance.randint(1, 3))
    ]
    return {"columns": columns, "order": order, "starts": starts}


def refinements(chance: Chance) -> dict[str, Any]:
    columns = chance.sample(NAMES, 3)
    base, candidates = columns[: (cut := chance.randint(0, 1))], columns[cut : cut + chance.randint(1, 2)]
    groups = [some_groups(chance, SIZES[name]) for name in (*base, *candidates)] if chance.random() < 0.5 else []
    by = columns[-1] if len(base) + len(candidates) < len(columns) else "a"
    return {"base": base, "candidates": candidates, "by": by, "groups": groups}


def discernibility(chance: Chance) -> dict[str, Any]:
    base, candidates = chance.choice([((), ("b", "c")), (("b",), ("c",)), ((), ("c",)), (("c",), ("b",))])
    groups = [some_groups(chance, SIZES[name]) for name in (*base, *candidates)] if chance.random() < 0.5 else []
    return {"base": base, "candidates": candidates, "groups": groups}


def pool(chance: Chance) -> dict[str, Any]:
    columns = chance.sample(NAMES, chance.randint(0, 3))
    levels = [np.array([[0] * SIZES[name], some_groups(chance, SIZES[name]) or range(SIZES[name])]) for name in columns]
    if chance.random() < 0.2:  # a group for blanks
        levels = [
            np.concatenate([level, [[1], [SIZES[name]]]], axis=1) for name, level in zip(columns, levels, strict=True)
        ]
    taken = [[chance.randint(-1, 1) for _ in columns] for _ in range(chance.randint(1, 3))]
    return {
        "columns": columns,
        "levels": levels,
        "taken": np.array(taken, dtype=np.int64).reshape(len(taken), len(columns)),
    }


def labelled_pool(chance: Chance) -> Pool:
    grids = [each for each in pool(chance)["columns"] if each != "a"]
    levels = [np.array([some_groups(chance, SIZES[name]) or range(SIZES[name])]) for name in grids]
    taken = [[*(chance.randint(-1, 0) for _ in grids), 0] for _ in range(chance.randint(1, 3))]
    return Pool((*grids, "a"), (*levels, np.arange(SIZES["a"])[None]), taken)


def dependence(chance: Chance) -> dict[str, Any]:
    grids = Pool(**pool(chance))
    about = [[place for place, level in enumerate(taken) if level >= 0] for taken in grids.taken.tolist()]
    return {"pool": grids, "own": [chance.choice(places or [0]) for places in about]}


def products(chance: Chance) -> dict[str, Any]:
    columns = chance.sample(("b", "c"), chance.randint(0, 2))
    widths = [chance.randint(0, 2) for _ in columns]
    some = [0, 1, -3, 7, 2**15 - 1]
    return {
        "columns": columns,
        "numbers": [
            np.array([chance.choices(some, k=width) for _ in range(SIZES[name])], dtype=np.int64)
            for name, width in zip(columns, widths, strict=True)
        ],
        "unit": chance.choice([1, 2, 100, 2**15 - 1]),
    }


def slopes(chance: Chance) -> dict[str, Any]:
    columns, marks = some_marks(chance)
    models = chance.randint(1, 2)
    few, far = [0, 1, -300, 2**20], [0, 3 * 2**20, -(2**40), 2**50]
    return {
        "columns": columns,
        "points": [
            np.array([chance.choices(few + far, k=models) for _ in range(SIZES[name])], dtype=np.int64)
            for name in columns
        ],
        "marks": marks,
        "weights": np.array([chance.choices(few, k=models) for _ in marks], dtype=np.int64).reshape(-1, models),
        "mark": chance.choice([0, 1, 700, UNIT]),
        "few": chance.choice([1, 2, 9]),
        "start": chance.choices(few + far, k=models),
        "classes": chance.choices([0, 1], k=models),
        "line": sorted(chance.choices([0, 1, 1000, STEEPEST - 1, STEEPEST], k=chance.randint(1, 5)), reverse=True),
        "first": chance.choice([0, -300, -(2**21), 2**61]),
        "shift": chance.choice([0, 3, 20, 40]),
    }


def some_marks(chance: Chance) -> tuple[list[str], list[str]]:
    """Return some columns, and others of two codes."""
    columns = chance.sample(("b", "c"), chance.randint(0, 2))
    left = [name for name in ATTRIBUTES if SIZES[name] == 2 and name not in columns]
    return columns, left if chance.random() < 0.5 else []


def descent(chance: Chance) -> dict[str, Any]:
    columns, marks = some_marks(chance)
    widths = [chance.randint(0, 2) for _ in columns]
    most = math.isqrt(UNIT**2 // (2 + sum(widths)))
    return {
        "columns": columns,
        "numbers": [
            np.array([chance.choices([0, most, -most, 5], k=width) for _ in range(SIZES[name])], dtype=np.int64)
            for name, width in zip(columns, widths, strict=True)
        ],
        "marks": marks,
        "mark": chance.choice([0, most]),
        "few": chance.choice([1, 2]),
        "constant": chance.choice([0, most]),
        "classes": chance.choices([0, 1], k=chance.randint(1, 2)),
        "loss": chance.choice(["huber", "logistic"]),
        "penalty": chance.choice(["1/1000", "1/10", 1]),
        "rows": chance.choice([1, 2, 3, 100]),
        "steps": chance.choice([1, 2, 7]),
        "bits": chance.choice([0, 1, 3, 12]),
    }


def box(chance: Chance) -> dict[str, Any]:
    columns = some_names(chance)
    low = [chance.randrange(SIZES[name]) for name in columns]
    high = [chance.randint(start + 1, SIZES[name]) for name, start in zip(columns, low, strict=True)]
    return {"columns": columns, "low": low, "high": high}


def points(chance: Chance, cells: int = 1) -> dict[str, Any]:
    columns = some_names(chance, ATTRIBUTES)
    rows = cells * math.prod(SIZES[name] for name in columns)
    table = [[chance.choice([0, 1, -3, 2**40]) for _ in range(SIZES["a"])] for _ in range(rows)]
    return {"columns": columns, "table": np.array(table), "by_leaf": cells > 1}


def hits(chance: Chance) -> dict[str, Any]:
    routing = a_routing(chance, ATTRIBUTES, parts=False) if chance.random() < 0.5 else None
    terms = [Points(**points(chance)) for _ in range(chance.randint(0, 2))]
    if routing is not None and len(routing.leaves) > 1:
        terms.append(Points(**points(chance, len(routing.leaves))))
    return {"terms": terms, "routing": routing}


def many_hits(chance: Chance) -> dict[str, Any]:
    columns, rules = some_names(chance, ATTRIBUTES), chance.randint(1, 3)
    some = [0, 1, -3, 2**50]
    tables = [np.array([chance.choices(some, k=rules) for _ in range(SIZES[name])]) for name in columns]
    return {"columns": columns, "points": tables, "start": chance.choices(some, k=rules)}


def margins(chance: Chance) -> dict[str, Any]:
    cuts = sorted(chance.sample(range(-8, 9), chance.randint(1, 3)))
    return {**hits(chance), "positive": chance.randrange(2), "cuts": cuts}


def halves(chance: Chance) -> dict[str, Any]:
    found = Margins(**margins(chance))
    intervals = len(found.cuts) + 1
    ends = [0, 2, 4] if intervals == 4 and chance.random() < 0.5 else [chance.randint(0, intervals - 2), intervals]
    return {"margins": found, "begins": ends[:-1], "ends": ends[1:]}


def feature_sums(chance: Chance) -> dict[str, Any]:
    return {
        "weights": [[a_weight(chance) >> 20 for _ in range(2)] for _ in range(chance.randint(1, 3))],
        "most": chance.choice([1, 2, 3, 2**20]),
        "totals": chance.random() < 0.5,
        "among": chance.sample(range(3), chance.randint(0, 3)),
    }


def feature_refinements(chance: Chance) -> dict[str, Any]:
    base = chance.sample(range(SIZES["b"]), chance.randint(0, SIZES["b"] - 1))
    return {"base": base, "most": chance.choice([1, 2, 2**20])}


def feature_score(chance: Chance) -> FeatureScore:
    most, rows_bound = chance.choice([1, 2, 2**20]), chance.choice([1, 2, 5, 2**22])
    return FeatureScore(chance.choice(["TC", "DC", "PI", "IG"]), most, rows_bound)


def splits(chance: Chance) -> dict[str, Any]:
    routing = evolve(a_routing(chance, parts=chance.random() < 0.5), columns=("b", "c"))
    routing = evolve(routing, attribute=[-1] * len(routing.attribute))
    leaves = routing.leaves
    candidates = chance.randint(1, 3)
    columns = [chance.choice([0, 0, 1]) for _ in range(candidates)]
    cuts = [chance.choice([0, 1, 2]) if place == 0 else 0 for place in columns]
    chosen = sorted(chance.sample(range(len(leaves)), chance.randint(1, len(leaves))))
    may = np.array([[chance.random() < 0.8 for _ in columns] for _ in chosen])
    may[:, 0] = True
    bound = chance.choice([1, 2, 5, 2**22, 2**40])
    return {
        "routing": routing,
        "open": leaves[chosen],
        "columns": columns,
        "cuts": cuts,
        "may": may,
        "rows_bound": bound,
    }


def split_score(chance: Chance) -> dict[str, Any]:
    return {**splits(chance), "utility": chance.choice(get_args(Utility))}


def mixed_score(chance: Chance) -> dict[str, Any]:
    facts = splits(chance)
    cut = chance.randrange(len(facts["open"]))
    by = chance.sample(get_args(Utility), 2 if cut else 1)
    ends = [(0, cut), (cut, len(facts["open"]))] if cut else [(0, len(facts["open"]))]
    for name in ("open", "may"):
        facts[name] = tuple(facts[name][start:end] for start, end in ends)
    return {**facts, "utilities": by}


def some_ranks(chance: Chance) -> dict[str, Any]:
    return {"column": "b", "starts": [0, *sorted(chance.sample(range(1, 7), chance.randint(0, 3)))]}


def misfit(chance: Chance) -> dict[str, Any]:
    columns = some_names(chance)
    boxes = [box(chance) for _ in range(chance.randint(1, 3))]
    fitting = [each for each in boxes if len(each["columns"]) == len(columns)]
    low = [[chance.randrange(SIZES[name]) for name in columns] for _ in range(max(1, len(fitting)))]
    high = [[chance.randint(start + 1, SIZES[name]) for name, start in zip(columns, row, strict=True)] for row in low]
    answers = [chance.choice([0, 3, -7, 2**40, -(2**62)]) for _ in low]
    sides = (len(low), len(columns))
    return {
        "columns": columns,
        "low": np.array(low, dtype=np.int64).reshape(sides),
        "high": np.array(high, dtype=np.int64).reshape(sides),
        "answers": answers,
    }


def some_shares(chance: Chance, count: int) -> list[Fraction]:
    parts = [chance.randint(1, 5) for _ in range(count)]
    return [Fraction(part, sum(parts)) for part in parts]


def by_level(chance: Chance) -> dict[str, Any]:
    kernel = made(chance, chance.choice(LEVEL_KERNELS))
    return {"tallied": kernel, "shares": some_shares(chance, len(kernel.sizes(SCHEMA)))}


def a_number(chance: Chance) -> Fraction:
    return chance.choice(
        [Fraction(0), Fraction(1), Fraction(-3, 7), Fraction(5, 2), Fraction(1, 3**40), Fraction(10**9)]
    )


def a_tally(chance: Chance, columns: Sequence[str] | None = None) -> dict[str, Any]:
    weighted = chance.choice([None, None, "b"])
    taken = some_names(chance) if columns is None else columns
    coarse = [("b", chance.choice([2, 1, (0, 1, 1)]))] if "b" in taken and chance.random() < 0.3 else []
    column = chance.choice(NAMES)
    values = [chance.choice([0, f"{column}0"]) for _ in range(chance.randint(1, 2))]
    return {
        "columns": taken,
        "conditions": [(column, values)] if chance.random() < 0.4 else [],
        "coarse": coarse,
        "weighted": weighted,
        "weights": [chance.randint(-3, 5) for _ in range(3)] if weighted else [],
    }


def an_expression(chance: Chance, depth: int = 1) -> Expression:
    """Return an expression that fits the schema: of those that do not, no part of another can be drawn."""
    while True:
        kind = chance.choice(NODES.members) if depth else Tally
        found: Expression = kind(**expression_fields(kind)(chance, depth - 1))
        try:
            known_of(found, SCHEMA)
        except JostleError:
            continue
        return found


OWN_FIELDS: dict[type, Callable[[Chance, Expression], dict[str, Any]]] = {
    Scaled: lambda chance, _: {"by": a_number(chance)},
    Shifted: lambda chance, _: {"by": a_number(chance)},
    Above: lambda chance, _: {"threshold": a_number(chance)},
    Deviation: lambda chance, _: {"bits": chance.choice([0, 3, 20, 32])},
    Clamped: lambda chance, _: dict(zip(("low", "high"), sorted((a_number(chance), a_number(chance))), strict=True)),
    Cell: lambda chance, of: {"place": [chance.randrange(side) for side in known_of(of, SCHEMA).shape]},
    Along: lambda chance, of: {
        "how": chance.choice(["sum", "max", "min"]),
        "axis": chance.randrange(max(1, len(known_of(of, SCHEMA).shape))),
    },
    Extreme: lambda chance, _: {"how": chance.choice(["max", "min"])},
    CellSums: lambda chance, of: {
        "sums": [chance.randint(-1, 0) for _ in range(known_of(of, SCHEMA).cells)],
        "shape": chance.choice([[], [1]]),
    },
}
"""What a node has beside its parts, given the first of them."""


def expression_fields(kind: type) -> Callable[..., dict[str, Any]]:
    """Return what makes the fields of a node up, its parts nested so deep at most."""

    def make(chance: Chance, depth: int = 1) -> dict[str, Any]:
        if kind is Tally:
            return a_tally(chance)
        if kind is Sum:
            columns = some_names(chance)
            return {"items": [Tally(**a_tally(chance, columns)) for _ in range(chance.randint(1, 3))]}
        count = chance.randint(1, 3) if kind in {Mean, Extreme} else 1
        items = [an_expression(chance, max(depth, 0)) for _ in range(count)]
        if kind is Along and not known_of(items[0], SCHEMA).shape:
            items = [Tally(("b",))]
        own = OWN_FIELDS[kind](chance, items[0]) if kind in OWN_FIELDS else {}
        return {**({"items": items} if kind in {Mean, Extreme} else {"of": items[0]}), **own}

    return make


def single(chance: Chance) -> Expression:
    found = an_expression(chance)
    return found if not known_of(found, SCHEMA).shape else Total(found)


def an_event(chance: Chance, depth: int = 2) -> Event:
    kinds = EVENTS.members if depth else (Laplace, PermuteAndFlip, Allotment)
    kind = chance.choice(kinds)
    found: Event = kind(**event_fields(kind)(chance, depth - 1))
    return found


def event_fields(kind: type) -> Callable[..., dict[str, Any]]:
    """Return what makes the fields of an event up, its parts nested so deep at most."""

    def make(chance: Chance, depth: int = 1) -> dict[str, Any]:
        if kind in {InTurn, Disjoint, Reserved}:
            at_most = {"at_most": chance.choice([1, "1/3"])} if kind is Reserved else {}
            return {"events": [an_event(chance, max(depth, 0)) for _ in range(chance.randint(0, 3))], **at_most}
        if kind is Refined:
            return {
                "levels": sorted(chance.sample(["1/10", 1, Fraction(1, 3), 10**9], chance.randint(1, 3)), key=Fraction)
            }
        if kind is Repeated:
            return {"event": an_event(chance, max(depth, 0)), "times": chance.choice([0, 1, 7, 2**63 - 1])}
        if kind is Selected:
            eta = chance.choice([Fraction(0), Fraction(1), Fraction(-9, 10), Fraction(1, 2)])
            return {"candidate": an_event(chance, max(depth, 0)), "eta": eta}
        return {"epsilon": chance.choice([Fraction(1), Fraction(1, 3), "0.1", 10**9, Fraction(1, 10**9)])}

    return make


PLAUSIBLE: dict[type, Callable[[Chance], dict[str, Any]]] = {
    # Kernels and their parts
    Counts: lambda chance: {"groups": [some_names(chance) for _ in range(chance.randint(1, 3))]},
    Sums: lambda chance: {
        "column": "b",
        "weights": [a_weight(chance) for _ in range(3)],
        "most": chance.choice([1, 3, 200, 2**30 - 1]),
        "by": some_names(chance),
    },
    Marks: lambda chance: {
        "columns": some_names(chance, least=1),
        "code": chance.randrange(2),
        "most": chance.choice([1, 2, 3, 2**30 - 1]),
    },
    SparseCounts: lambda chance: {
        "columns": (columns := some_names(chance)),
        "groups": [some_groups(chance, SIZES[name]) for name in columns] if chance.random() < 0.5 else [],
    },
    Refinements: refinements,
    FeatureRefinements: feature_refinements,
    FeatureSums: feature_sums,
    Margins: margins,
    MarginLevels: lambda chance: {"margins": Margins(**margins(chance))},
    Pool: pool,
    GridCounts: lambda chance: {"pool": made(chance, Pool)},
    Layer: layer,
    Products: products,
    Slopes: slopes,
    Stack: lambda chance: {"layers": [Layer(**layer(chance)) for _ in range(chance.randint(1, 3))]},
    Routing: lambda chance: vars_of(a_routing(chance)),
    PersonBands: lambda chance: {"once": False},
    PersonCount: lambda chance: {"more_than": chance.randint(0, 3), "once": False},  # once is of persons, not of rows
    LeafCounts: lambda chance: {"routing": a_routing(chance), "by_class": chance.random() < 0.5},
    SplitCounts: lambda chance: {"routing": (routing := a_routing(chance)), "open": routing.leaves},
    Points: points,
    Agreements: lambda chance: {"rules": [Hits(**hits(chance)) for _ in range(chance.randint(1, 3))]},
    Hits: lambda chance: {**hits(chance), "misses": chance.random() < 0.5},
    ManyHits: many_hits,
    Regions: regions,
    Haar: lambda chance: {"columns": some_names(chance)},
    Box: box,
    NumberSum: lambda chance: {"column": "b", "origin": chance.choice([0, 1, 3, -2, 10**6, 2**30 - 1])},
    Moments: lambda chance: {
        "column": "b",
        "degree": chance.choice([1, 2]),
        "most": chance.choice([1, 2, 5, 12, 2**15 - 1, 2**30 - 1]),
        "window": chance.choice([(), (), (0, 1), (1, 2), (2, 1)]),
    },
    Ranks: some_ranks,
    # Scores
    QuantileScore: lambda chance: {
        **some_ranks(chance),
        "part": chance.choice([0, 1, 2, 5]),
        "of": chance.choice([2, 5, 2**20]),
    },
    Fullest: lambda chance: {"columns": some_names(chance)},
    Misfit: misfit,
    MostHits: lambda chance: {"hits": ManyHits(**many_hits(chance))},
    Dependence: dependence,
    MajoritiesBelow: lambda chance: {
        "layers": [
            Layer((name, "a"), (some_groups(chance, SIZES[name]), ()), (a_condition(chance),))
            for name in chance.choices(ATTRIBUTES, k=chance.randint(1, 3))
        ]
    },
    Discernibility: discernibility,
    FeatureDiscernibility: feature_refinements,
    SetDiscernibility: lambda chance: {
        "layers": [
            Layer((*names, "a"), [*(some_groups(chance, SIZES[name]) for name in names), ()])
            for names in (chance.sample(ATTRIBUTES, chance.randint(0, 2)) for _ in range(chance.randint(1, 3)))
        ],
        "price": chance.choice([0, "1/10", "1/3", 1]),
    },
    FeatureScore: lambda chance: {
        each.name: getattr(feature_score(chance), each.name) for each in fields(FeatureScore)
    },
    Halves: halves,
    GridQuality: lambda chance: {
        "pool": labelled_pool(chance),
        "scale": chance.choice(["1/3", 1, Fraction(7, 2), 900, "1e-30", "1e-400"]),
    },
    SplitScore: split_score,
    MixedSplitScore: mixed_score,
    LeafMajority: lambda chance: {"routing": a_routing(chance)},
    # Mechanisms
    AddNoise: lambda chance: {"tallied": made(chance, chance.choice(DENSE_KERNELS))},
    AddNoiseAbove: lambda chance: {"tallied": made(chance, SparseCounts), "threshold": chance.randint(0, 5)},
    AddNoiseByLevel: by_level,
    AddNoiseToSpread: lambda chance: {"tallied": Moments("b", 2, chance.choice([1, 2, 3, 7]))},
    Descent: descent,
    AddNoiseTo: lambda chance: {"expression": an_expression(chance)},
    Pick: lambda chance: {"score": made(chance, chance.choice(SCORES.members))},
    PickEach: lambda chance: {"score": made(chance, chance.choice(GROUP_SCORES.members))},
    PickLargest: lambda chance: {"candidates": [single(chance) for _ in range(chance.randint(1, 3))]},
    PickPartition: lambda chance: {
        "columns": (column := chance.choice([("a",), ("b",), ("a", "c")])),
        "order": chance.sample(range(size := SCHEMA.size(*column)), size),
        "penalty": chance.choice([Fraction(0), Fraction(1, 3), Fraction(7)]),
        "grain": 1 if size > 2 else chance.choice([1, 2, 3]),
    },
    PickSeveral: lambda chance: {"score": feature_score(chance), "times": chance.randint(1, 3)},
    FindAbove: lambda chance: {
        "score": feature_score(chance),
        "threshold": chance.randint(-2, 5),
        "most": chance.randint(1, 3),
        "share": Fraction(1, chance.randint(2, 9)),
    },
    FindNthLargest: lambda chance: {"score": feature_score(chance), "place": chance.randint(1, 3)},
    # Private expressions and events
    **{kind: expression_fields(kind) for kind in NODES},
    **{kind: event_fields(kind) for kind in EVENTS},
    # Selections
    NumberOfRuns: lambda chance: {
        "gamma": chance.choice(["1/50", Fraction(1, 2), 0.05]),
        "eta": chance.choice(["-9/10", Fraction(0), 1, 0.5]),
    },
    TriedClassifiers: lambda chance: {
        "among": [options.get(chance.choice(["Majority", "NaiveBayes"])) for _ in range(chance.randint(1, 3))],
        "score_share": chance.choice(["1/10", Fraction(1, 3), 0.5]),
        "stopping": NumberOfRuns(**PLAUSIBLE[NumberOfRuns](chance)),
    },
    # Records
    Chosen: lambda chance: {
        "site": "here",
        "label": "L",
        "seen": [("rows", 3, chance.choice([4.5, -0.0]))],
        "predicted": [],
        "taken": [("few", chance.randint(0, 9))],
        "why": "so",
    },
    Stated: lambda chance: {"site": "here", "answer": "58.1", "whole": chance.choice([True, False])},
}
"""For each member, and each class that may be a part of one, fields that make sense."""


def made(chance: Chance, kind: type) -> Any:
    """Return a value of a class whose fields make sense."""
    return kind(**PLAUSIBLE[kind](chance))
