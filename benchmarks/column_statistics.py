"""How far statistics are off beside other ways to them: OpenDP's, one exponential pick, and the way there was before.

    python benchmarks/column_statistics.py           # writes docs/benchmarks/statistics.md and statistics.json
    python benchmarks/column_statistics.py --tune    # the shapes that rules were set on, to look at
    python benchmarks/column_statistics.py --only quantile    # leaves the other statistics as they were measured

A column of whole numbers from 0 to a million is made up, and a statistic asked of it over and over with other noise.
The Options run as they are, on a probe that tallies a column once and releases the tally with new noise each time.
OpenDP's measurements are built by OpenDP (in an environment of its own), which says how wide their noise is for the
budget by its own privacy map; the noise is drawn here, exactly as wide. Their candidates for a quantile are all numbers
that there may be, and the selection is permute-and-flip, as theirs is. Errors are means of distances from the truth.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import peers
import pyarrow as pa
from numpy.typing import NDArray

from jostle import Numeric, Schema, Table
from jostle.options.statistics.choosing import RULES
from jostle.options.statistics.moments import BoundedMean, BoundedSum, MomentVariance
from jostle.options.statistics.quantiles import CountedQuantiles, PickedQuantiles
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.scores import pick_rate
from jostle.tables.number_kernels import Ranks
from jostle.tasks import MEANS, QUANTILES, SUMS, VARIANCES

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks" / "statistics.md"
WIDTH = 1_000_000
ROWS = (100, 1_000, 20_000, 1_000_000)
EPSILONS = ("0.1", "0.5", "2")
TIMES = 144
"""Runs of a cell; of quantiles a quarter."""
INTERVALS = 12
"""Runs of which intervals are worked out, which takes longer than the runs."""
BEFORE = PickedQuantiles(counting=Fraction(1, 2), intervals=2**14)
"""Half for the pick and half for counts around it."""
OPENDP = ["opendp==0.16.0"]
OPENDP_SCRIPT = """
import json, sys
import opendp.prelude as dp
dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
asked = json.load(sys.stdin)
width, found = float(asked["width"]), {}
def least(make, change, epsilon):
    return dp.binary_search(lambda scale: make(scale).map(change) <= epsilon, bounds=(1e-9, 1e30))
one, counted = dp.atom_domain(bounds=(0.0, width)), dp.atom_domain(T=int)
change = dp.symmetric_distance()
whole = (dp.vector_domain(dp.atom_domain(bounds=(0, int(width)))), change)
for epsilon in asked["epsilons"]:
    of = {}
    of["sum"] = least(lambda scale: whole >> dp.t.then_sum() >> dp.m.then_laplace(scale), 1, epsilon)
    of["count"] = least(lambda scale: whole >> dp.t.then_count() >> dp.m.then_laplace(scale), 1, epsilon)
    for part in asked["parts"]:
        make = lambda scale: dp.m.make_private_quantile(
            dp.vector_domain(counted), change, dp.max_divergence(), [0, 1, 2], part, scale)
        of[f"quantile {part}"] = least(make, 1, epsilon)
    for rows in asked["rows"]:
        sized = (dp.vector_domain(one, size=rows), change)
        fixed = (dp.vector_domain(dp.atom_domain(bounds=(0, int(width))), size=rows), change)
        mean = lambda scale: sized >> dp.t.then_mean() >> dp.m.then_laplace(scale)
        variance = lambda scale: sized >> dp.t.then_variance(ddof=0) >> dp.m.then_laplace(scale)
        total = lambda scale: fixed >> dp.t.then_sum() >> dp.m.then_laplace(scale)
        of[f"mean {rows}"] = least(mean, 2, epsilon)
        of[f"variance {rows}"] = least(variance, 2, epsilon)
        of[f"sum {rows}"] = least(total, 2, epsilon)
        for part in asked["parts"]:
            make = lambda scale: dp.m.make_private_quantile(
                dp.vector_domain(counted, size=rows), change, dp.max_divergence(), [0, 1, 2], part, scale)
            of[f"quantile {part} {rows}"] = least(make, 2, epsilon)
    found[str(epsilon)] = of
print(json.dumps(found))
"""
Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Numbers]


def _two(chance: np.random.Generator, rows: int, places: tuple[float, float], wide: float, share: float) -> Numbers:
    return np.where(chance.random(rows) < share, *(chance.normal(place, wide, rows) for place in places))


TUNED: dict[str, Draw] = {
    "uniform": lambda chance, rows: chance.random(rows),
    "normal": lambda chance, rows: chance.normal(0.4, 0.05, rows),
    "lognormal": lambda chance, rows: chance.lognormal(-3.5, 0.8, rows),
    "Zipf": lambda chance, rows: chance.zipf(1.5, rows) / 1000,
    "two normals": lambda chance, rows: _two(chance, rows, (0.2, 0.8), 0.03, 0.5),
    "a point": lambda chance, rows: np.where(chance.random(rows) < 0.6, 0.25, chance.random(rows)),
    "sparse": lambda chance, rows: np.where(chance.random(rows) < 0.9, 0.0, chance.random(rows)),
}
"""Shares of the width; what lies beyond is cut off."""
SHAPES: dict[str, Draw] = {
    "triangle": lambda chance, rows: chance.triangular(0.1, 0.3, 0.95, rows),
    "gamma": lambda chance, rows: chance.gamma(2, 0.03, rows),
    "Pareto": lambda chance, rows: 0.002 * (1 + chance.pareto(1.3, rows)),
    "Student": lambda chance, rows: 0.6 + 0.02 * chance.standard_t(3, rows),
    "three heaps": lambda chance, rows: chance.choice([0.11, 0.5, 0.93], rows) + chance.normal(0, 0.01, rows),
    "steps": lambda chance, rows: np.round(chance.beta(2, 5, rows) * 40) / 40,
    "few": lambda chance, rows: np.where(chance.random(rows) < 0.97, 0.01, chance.beta(5, 2, rows)),
}
"""Other ones, with other parameters, than those that the rules were set on."""
WHY = """\
Intervals of quantiles are wide, since a pick says nothing of how sure it is, and a twentieth of the budget is left for
counts that do. `options.get("PickedQuantiles(counting=1/2)")` has narrow ones, and twice the error. The rule takes it
where rows are known to be so many on a step that picks hit it as it is."""
PARTS = ("0.5", "0.9")
MANY = {
    3: ("0.25", "0.5", "0.75"),
    9: tuple(f"{part / 10}" for part in range(1, 10)),
    19: tuple(f"{part / 20}" for part in range(1, 20)),
}


class Scored:
    """Candidates by score: of those with equal ones, one is as likely to be picked as another."""

    def __init__(self, scores: NDArray[Any]) -> None:
        self.order = np.argsort(-scores, kind="stable").astype(np.int32)
        worse, self.first, self.count = np.unique(-scores[self.order], return_index=True, return_counts=True)
        self.gaps = worse - worse[0]

    def picked(self, rate: float, times: int, chance: np.random.Generator, *, flip: bool) -> NDArray[np.int64]:
        """Return the places picked, by permute-and-flip or by the exponential mechanism."""
        groups = self.groups(rate, times, chance, flip=flip)
        return np.array([self.order[self.first[group] + chance.integers(self.count[group])] for group in groups])

    def groups(self, rate: float, times: int, chance: np.random.Generator, *, flip: bool) -> NDArray[np.int64]:
        """Return which score was picked, counted from the best."""
        # Such as come up next to never are left out.
        near = np.searchsorted(self.gaps, (60 + math.log(len(self.order))) / rate)
        count = self.count[: max(1, near)]
        chances = np.exp(-self.gaps[: len(count)] * rate)
        # By the exponential mechanism; by permute-and-flip, one of those that come up.
        if not flip:
            held = count * chances
            return chance.choice(len(count), size=times, p=held / held.sum())
        found = []
        for _ in range(times):
            held = chance.binomial(count, chances)
            found.append(int(chance.choice(len(count), p=held / held.sum())))
        return np.array(found)

    def off(self, truth: float) -> Numbers:
        """Return how far candidates of a score are off on average, for every score."""
        return np.add.reduceat(np.abs(self.order - truth), self.first) / self.count


class Again:
    """A probe on made-up rows that tallies once, and releases what it tallied with new noise each time."""

    def __init__(self, numbers: Numbers, schema: Schema, seed: int) -> None:
        self.table = Table.from_frame(pa.table({"x": numbers.astype(np.int64)}), schema)
        self.schema = schema
        self.rows, self.unit = schema.rows, 1
        self.noise = Noise(SeededBits(seed))
        self.chance = np.random.default_rng(seed)
        self._numbers = np.sort(numbers)
        self._tallies: dict[str, Any] = {}
        self._scored: dict[str, Scored] = {}

    def perform(self, mechanism: Any, epsilon: Fraction, *, site: str) -> Any:  # noqa: ARG002 - as a probe has it
        """Return a mechanism's answer."""
        return mechanism.release(self._tally(mechanism.kernel(self.schema)), self.schema, epsilon, self.noise)

    def _tally(self, kernel: Any) -> Any:
        if isinstance(kernel, Ranks):  # numbers are whole, and so are steps
            below = np.searchsorted(self._numbers, kernel.starts)
            return np.diff(np.append(below, len(self._numbers)))
        if f"{kernel}" not in self._tallies:
            self._tallies[f"{kernel}"] = self.table._source.tally(kernel, ())  # noqa: SLF001 - public rows, made up here
        return self._tallies[f"{kernel}"]

    def measure(self, kernel: Any, epsilon: Fraction, *, site: str) -> Any:
        """Return a tally with noise."""
        return self.perform(AddNoise(kernel), epsilon, site=site)

    def pick(self, score: Any, epsilon: Fraction, *, site: str) -> int:  # noqa: ARG002 - as a probe has it
        """Return the place of a candidate."""
        key = f"{len(score.starts)} {score.part}/{score.of}"
        if key not in self._scored:
            scores = score.scores(self._tally(score.kernel(self.schema)), self.schema)
            self._scored[key] = Scored(scores)
        rate = pick_rate(epsilon, score.sensitivity(self.schema), monotone=False)
        return int(self._scored[key].picked(float(rate), 1, self.chance, flip=True)[0])

    def known(self, _: Any, *, so_far: bool = False) -> tuple[None]:  # noqa: ARG002 - as a probe has it
        """Return that nothing was released before."""
        return (None,)


def made(shapes: dict[str, Draw], shape: str, rows: int) -> Numbers:
    """Return a column."""
    chance = np.random.default_rng(zlib.crc32(f"{shape} {rows}".encode()))
    return np.clip(np.round(shapes[shape](chance, rows) * WIDTH), 0, WIDTH)


def schema_of(rows: int | None) -> Schema:
    """Return the public facts: the bounds, and the number of rows where it is declared."""
    column = {"x": Numeric(0, WIDTH, unit=1, bins=64, missing="drop")}
    return Schema(column) if rows is None else Schema(column, neighbours="replace_one", rows=rows)


def answers(option: Any, db: Again, asked: tuple[Any, ...], epsilon: str, times: int) -> list[Any]:
    """Return answers of an Option."""
    budget = Fraction(epsilon)
    return [option.run(db, "x", *asked, budget) for _ in range(times)]


def error(given: list[Any], truth: Numbers) -> list[float]:
    """Return how far each answer is off; of several numbers, on average."""
    return [float(np.abs(np.ravel(np.asarray(answer, dtype=float)) - truth).mean()) for answer in given]


def widths(given: list[Any], truth: Numbers) -> tuple[float, float]:
    """Return how wide intervals at level .95 are, their median, and how often they hold the truth."""
    ends = np.array([np.ravel(answer.interval(0.95)) for answer in given[:INTERVALS]])
    inside = (ends[:, 0] <= truth + 0.5) & (truth - 0.5 <= ends[:, 1])
    return float(np.median(ends[:, 1] - ends[:, 0])), float(inside.mean())


def scored(numbers: Numbers, part: float) -> Scored:
    """Return all numbers that there may be, by how many rows have to change sides."""
    upto = np.cumsum(np.bincount(numbers.astype(np.int64), minlength=WIDTH + 1))
    below, target = np.append(0, upto[:-1]), part * len(numbers)
    return Scored(-np.maximum(np.maximum(target - upto, below - target), 0))


def peer_errors(  # noqa: PLR0917 - as above
    what: str,
    numbers: Numbers,
    every: Scored | None,
    rows: int | None,
    of: dict[str, float],
    times: int,
    chance: np.random.Generator,
) -> tuple[list[float], list[float]]:
    """Return how far OpenDP's answers are off, and where there is one, those of one exponential pick."""
    count = len(numbers)

    def laplace(scale: float) -> Numbers:
        return chance.laplace(0, scale, times)

    if every is not None:
        part = float(what.split()[1])
        truth = float(np.sort(numbers)[max(0, math.ceil(part * count) - 1)])
        scale = of[f"{what} {rows}" if rows else what]
        off = every.off(truth)
        theirs = off[every.groups(1 / scale, times, chance, flip=True)]
        once = off[every.groups(of["epsilon"] / 2, 20 * times, chance, flip=False)]
        return theirs.tolist(), once.tolist()
    if rows:
        off = laplace(of[f"{what} {rows}"])
    elif what == "sum":
        off = laplace(of["sum"])
    else:
        # A share of the budget for each of the sums, by the width of their noise alone.
        pieces = 2 if what == "mean" else 3
        counted = np.maximum(count + laplace(pieces * of["count"]), 1)
        mean = np.clip((numbers.sum() + laplace(pieces * of["sum"])) / counted, 0, WIDTH)
        if what == "mean":
            return np.abs(mean - numbers.mean()).tolist(), []
        squares = ((numbers**2).sum() + laplace(pieces * of["sum"] * WIDTH)) / counted
        off = np.clip(squares - mean**2, 0, WIDTH**2 / 4) - numbers.var()
    return np.abs(off).tolist(), []


STATISTICS: dict[str, tuple[Any, Any, Callable[[Numbers], float]]] = {
    "mean": (MEANS, BoundedMean(), lambda x: float(x.mean())),
    "sum": (SUMS, BoundedSum(), lambda x: float(x.sum())),
    "variance": (VARIANCES, MomentVariance(), lambda x: float(x.var())),
    "quantile 0.5": (QUANTILES, BEFORE, lambda x: float(np.sort(x)[math.ceil(0.5 * len(x)) - 1])),
    "quantile 0.9": (QUANTILES, BEFORE, lambda x: float(np.sort(x)[math.ceil(0.9 * len(x)) - 1])),
}


def cells(shapes: dict[str, Draw], scales: dict[str, dict[str, float]], only: str) -> Iterator[dict[str, Any]]:
    """Yield for every statistic, shape, number of rows, budget and promise how far everybody is off."""
    for shape in shapes:
        for rows in ROWS:
            numbers = made(shapes, shape, rows)
            every = {f"quantile {part}": scored(numbers, float(part)) for part in PARTS}
            for declared in (None, rows):
                schema = schema_of(declared)
                db = Again(numbers, schema, zlib.crc32(f"{shape} {rows} {declared}".encode()))
                for epsilon in EPSILONS:
                    for what, (task, before, truth_of) in STATISTICS.items():
                        if not what.startswith(only):
                            continue
                        times = TIMES // 4 if task is QUANTILES else TIMES
                        asked: tuple[Any, ...] = ((Fraction(what.split()[1]),),) if task is QUANTILES else ()
                        truth = np.array([truth_of(numbers)])
                        rule = RULES[task.name]
                        option = rule.chosen(rule.seen(db, ("x", *asked), Fraction(epsilon)))  # type: ignore[arg-type]  # a stand-in
                        given = answers(option, db, asked, epsilon, times)
                        former = given if option == before else answers(before, db, asked, epsilon, times)
                        own, old = error(given, truth), error(former, truth)
                        chance = np.random.default_rng(zlib.crc32(f"{shape} {rows} {epsilon} {what}".encode()))
                        of = {key: each / float(epsilon) for key, each in scales["1.0"].items()} | {
                            "epsilon": float(epsilon)
                        }
                        theirs, once = peer_errors(what, numbers, every.get(what), declared, of, 3 * times, chance)
                        yield {
                            "statistic": what,
                            "shape": shape,
                            "rows": rows,
                            "epsilon": epsilon,
                            "promise": "replace_one, rows declared" if declared else "add_remove",
                            "option": option.name,
                            "interval": widths(given, truth),
                            "interval before": widths(former, truth),
                            **{
                                name: [significant(np.mean(each)), significant(np.std(each) / math.sqrt(len(each)))]
                                for name, each in (("own", own), ("before", old), ("opendp", theirs), ("once", once))
                                if each
                            },
                        }


def significant(number: Any) -> float:
    """Return a number in four digits."""
    return float(f"{float(number):.4g}")


def many(shapes: dict[str, Draw], options: list[Any], times: int) -> Iterator[dict[str, Any]]:
    """Yield how far several quantiles at once are off, on average, by each way."""
    for shape in shapes:
        for rows in (1_000, 20_000):
            numbers = made(shapes, shape, rows)
            db = Again(numbers, schema_of(None), zlib.crc32(shape.encode()))
            for count, parts in MANY.items():
                exact = tuple(map(Fraction, parts))
                truth = np.array([np.sort(numbers)[math.ceil(part * rows) - 1] for part in exact])
                for epsilon in ("0.1", "1"):
                    found = {
                        option.name: significant(np.mean(error(answers(option, db, (exact,), epsilon, times), truth)))
                        for option in options
                    }
                    yield {"shape": shape, "rows": rows, "quantiles": count, "epsilon": epsilon, "off": found}


def of_shape(
    tune: bool,  # noqa: FBT001 - of a pool
    shape: str,
    scales: dict[str, dict[str, float]],
    only: str,
) -> tuple[list[Any], list[Any]]:
    """Return what there is to say of columns of one shape."""
    shapes = {shape: (TUNED if tune else SHAPES)[shape]}
    return list(cells(shapes, scales, only)), list(many(shapes, [PickedQuantiles(), CountedQuantiles()], 4))


def ratio(cell: dict[str, Any], *others: str) -> tuple[float, float]:
    """Return one's own error over the least of others', and how far chance usually takes that."""
    own, least = cell["own"], min((cell[other] for other in others if other in cell), key=lambda each: each[0])
    if not least[0] or not own[0]:
        return (1.0 if own[0] <= least[0] + 0.5 else own[0] / max(least[0], 0.5)), 0.0
    found = own[0] / least[0]
    return found, found * math.hypot(own[1] / own[0], least[1] / least[0])


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(float(np.mean(np.log(np.maximum(values, 1e-6))))) if values else math.nan


def _chosen(count: int) -> str:
    """Return the way to so many quantiles of a column whose rows nobody knows."""
    rule = RULES[QUANTILES.name]
    return rule.chosen({fact.name: 0.0 for _, fact, _ in rule.cases} | {"quantiles": count}).name


def page(found: list[dict[str, Any]], several: list[dict[str, Any]]) -> str:  # noqa: C901 - a table after the other
    """Return the page."""
    head, *_, last = (__doc__ or "").strip().split("\n\n")
    lines = ["# Statistics", "", head, "", "Made by `python benchmarks/column_statistics.py`.", "", last, ""]
    lines += ["## The rules", "", "Which way is taken hangs on free facts alone:", ""]
    lines += [f"- {name}: `{rule.formula}`" for name, rule in RULES.items()]
    lines += [
        "",
        "## Beside others",
        "",
        "Error over that of the better of OpenDP's and the way there was before; geometric means over shapes and rows.",
        "A miss is a cell above 1.05 by more than two standard errors.",
        "",
        "| statistic | promise | ε .1 | .5 | 2 | worst cell | misses |",
        "|---|---|---|---|---|---|---|",
    ]
    missed = []
    for what in STATISTICS:
        for promise in dict.fromkeys(cell["promise"] for cell in found):
            some = [cell for cell in found if (cell["statistic"], cell["promise"]) == (what, promise)]
            means = [
                geometric([ratio(cell, "before", "opendp")[0] for cell in some if cell["epsilon"] == epsilon])
                for epsilon in EPSILONS
            ]
            out = [cell for cell in some if (it := ratio(cell, "before", "opendp"))[0] - 2 * it[1] > 1.05]
            missed += out
            worst = max(ratio(cell, "before", "opendp")[0] for cell in some)
            numbers = " | ".join(f"{mean:.2f}" for mean in means)
            lines.append(f"| {what} | {promise} | {numbers} | {worst:.2f} | {len(out)} of {len(some)} |")
    quantiles = [cell for cell in found if "once" in cell]
    lines += [
        "",
        "Quantiles over one pick by the exponential mechanism with all of ε, by rows:",
        "",
        "| statistic | promise | 100 | 1,000 | 20,000 | 1,000,000 | worst cell | above 1.0 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for what in PARTS:
        for promise in dict.fromkeys(cell["promise"] for cell in quantiles):
            some = [cell for cell in quantiles if (cell["statistic"], cell["promise"]) == (f"quantile {what}", promise)]
            means = [geometric([ratio(cell, "once")[0] for cell in some if cell["rows"] == rows]) for rows in ROWS]
            out = [cell for cell in some if (it := ratio(cell, "once"))[0] - 2 * it[1] > 1]
            numbers = " | ".join(f"{mean:.2f}" for mean in means)
            worst = max(ratio(cell, "once")[0] for cell in some)
            lines.append(f"| quantile {what} | {promise} | {numbers} | {worst:.2f} | {len(out)} of {len(some)} |")
    lines += [
        "",
        "## Intervals",
        "",
        "At level .95: how wide they are over those of the way there was before, geometric means over cells where both",
        "have a width, and how often they hold the statistic of the table.",
        "",
        "| statistic | promise | ε .1 | .5 | 2 | hold it |",
        "|---|---|---|---|---|---|",
    ]
    for what in STATISTICS:
        for promise in dict.fromkeys(cell["promise"] for cell in found):
            some = [cell for cell in found if (cell["statistic"], cell["promise"]) == (what, promise)]
            means = [
                geometric(
                    [
                        cell["interval"][0] / cell["interval before"][0]
                        for cell in some
                        if cell["epsilon"] == epsilon and cell["interval"][0] and cell["interval before"][0]
                    ]
                )
                for epsilon in EPSILONS
            ]
            numbers = " | ".join(f"{mean:.2f}" for mean in means)
            lines.append(f"| {what} | {promise} | {numbers} | {np.mean([cell['interval'][1] for cell in some]):.3f} |")
    lines += [
        "",
        "## Several quantiles at once",
        "",
        "Error over that of a pick for each, geometric means over shapes:",
        "",
    ]
    lines += ["| quantiles | rows | ε | a tree of counts | chosen |", "|---|---|---|---|---|"]
    for count in MANY:
        for rows in (1_000, 20_000):
            for epsilon in ("0.1", "1"):
                some = [
                    each["off"]
                    for each in several
                    if (each["quantiles"], each["rows"], each["epsilon"]) == (count, rows, epsilon)
                ]
                gain = geometric([(each["CountedQuantiles"] + 1) / (each["PickedQuantiles"] + 1) for each in some])
                lines.append(f"| {count} | {rows:,} | {epsilon} | {gain:.2f} | {_chosen(count)} |")
    lines += ["", "## Misses", ""]
    lines += ["| statistic | promise | shape | rows | ε | over the better | way |", "|---|---|---|---|---|---|---|"]
    for cell in missed:
        found_ratio, spread = ratio(cell, "before", "opendp")
        lines.append(
            f"| {cell['statistic']} | {cell['promise']} | {cell['shape']} | {cell['rows']:,} | {cell['epsilon']} "
            f"| {found_ratio:.2f} ± {spread:.2f} | {cell['option']} |"
        )
    if not missed:
        lines.append("| none | | | | | | |")
    lines += ["", WHY]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, or say how the tuned shapes fare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="statistics whose names begin so; others stay as they were measured")
    given = parser.parse_args()
    shapes = TUNED if given.tune else SHAPES
    # Scales of noise go with 1 / epsilon.
    request = {"width": WIDTH, "epsilons": [1.0], "rows": ROWS, "parts": list(map(float, PARTS))}
    scales = peers.run("opendp", OPENDP, OPENDP_SCRIPT, request)
    with ProcessPoolExecutor(given.processes) as pool:
        found, several = [], []
        for these, those in pool.map(of_shape, repeat(given.tune), shapes, repeat(scales), repeat(given.only)):
            found += these
            several += those
    if given.only:
        kept = json.loads(PAGE.with_suffix(".json").read_text("utf-8"))["cells"]
        found += [cell for cell in kept if not cell["statistic"].startswith(given.only)]
    text = page(found, several)
    if given.tune:
        sys.stdout.write(text)
        return
    PAGE.write_text(text, "utf-8")
    kept = {"cells": found, "several": several}
    parts = (f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in kept.items())
    PAGE.with_suffix(".json").write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
