"""Whether the bands of `jostle advise` hold what they say, and how wide they are: makes docs/benchmarks/advice.md.

    python benchmarks/advice.py FOLDER [--only ranges-1d]

FOLDER is the one that `benchmarks/roles.py` reads. Options and makers run on the databases whose role it is to be
judged by, once at each budget, and each loss lies in the band that public facts gave beforehand, or not. Beside that
stands how often losses of rehearsals lie in bands that were made without their group. Nothing in a band was set by what
is measured here.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from fitted_bands import left_out, lessons
from roles import Listed, database_of, listed

from jostle import advise, pretrained
from jostle.choice.learning.rehearse import seed_of
from jostle.choice.makers.shipped import ADVISED
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks.base import make_instance

FOLDERS = {"classification": "tabular", "ranges-1d": "lines", "ranges-2d": "points"}
EPSILONS = ("1/10", "1/2", "2")
RECORDS = (1000, 100_000)
SPECS: dict[str, tuple[tuple[Any, str], ...]] = {
    "classification": tuple((TableSpec(seed=2000), epsilon) for epsilon in EPSILONS),
    "ranges-1d": tuple((GridSpec(records=records, seed=7), "1/10") for records in RECORDS),
    "ranges-2d": tuple((GridSpec(records=records, seed=7), "1/10") for records in RECORDS),
}
DRAWS = 2000
TABLE = "| bands | role | groups | in the band | 90% | width |\n|---|---|---|---|---|---|"
BY_OPTION = "\n## By Option, on judge databases\n"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "advice.md"
HEAD = """# Bands of expected losses

    python benchmarks/advice.py FOLDER_OF_PUBLIC_DATABASES

What `jostle advise` says before anything is spent, beside what then happened. A band is to hold four losses in five.
*Learn*: rehearsals on databases that makers learn from, each group in a band that was made without it. Bands were
calibrated there. *Judge*: each Option that the maker chooses among and the maker itself. Each is run once at each
budget on one database of each group that took part in nothing. Intervals are 90%, by resampling groups. Widths are
means: of the share of wrong predictions, and on grids of the decimal logarithm of the error. There 0.5 is from 0.56 to
1.78 times what is expected. *ranges-1d* and *ranges-2d* are random ranges on grids of one and of two axes.
"""


@frozen
class Ran:
    """A loss beside its band."""

    group: str
    option: str
    inside: bool
    width: float


def ran(name: str, database: PublicDatabase, group: str) -> list[tuple[bool, Ran]]:
    """Losses on one database; and whether the band was told how common the commonest class is."""
    maker = ADVISED[name].maker or name
    ways: dict[str, Any] = {**{each: get(each) for each in ADVISED[name].among}, maker: pretrained(maker)}
    found = []
    for spec, epsilon in SPECS[name]:
        instance: Any = make_instance(database, spec)
        schema, grid = instance.table.schema, name != "classification"
        commonest = None if grid else float(np.bincount(instance.labels).max() / len(instance.labels))
        said = {
            told: {
                each.option: each
                for each in advise(
                    name, schema=schema, rows=instance.rows, epsilons=[epsilon], commonest=commonest if told else None
                ).expected
            }
            for told in ((False,) if grid else (False, True))
        }
        for option, way in ways.items():
            db = rehearse(instance.table, epsilon=epsilon, seed=seed_of(instance.key, option, epsilon, 0))
            loss = (
                ADVISED[name]
                .task.rehearsal.judges[0]
                .loss(instance, way(db, *instance.questions, epsilon=Fraction(epsilon)))
            )
            for told, by_option in said.items():
                band = by_option[option]
                width = float(np.log10(band.high / band.low)) if grid else band.high - band.low
                found.append((told, Ran(group, option, band.low <= loss <= band.high, width)))
    return found


def interval(shares: list[float]) -> tuple[float, float]:
    """90% interval of the mean over groups."""
    draws = np.random.default_rng(0).choice(shares, (DRAWS, len(shares))).mean(axis=1)
    low, high = np.quantile(draws, [0.05, 0.95])
    return float(low), float(high)


def by_group(runs: list[Ran]) -> list[float]:
    """Of each group the share of losses in their bands."""
    groups = defaultdict(list)
    for each in runs:
        groups[each.group].append(each.inside)
    return [float(np.mean(each)) for each in groups.values()]


def row(what: str, role: str, shares: list[float], width: float | None) -> str:
    """A line of the page."""
    low, high = interval(shares)
    said = "" if width is None else f"{width:.2f}"
    return f"| {what} | {role} | {len(shares)} | {np.mean(shares):.1%} | {low:.1%} to {high:.1%} | {said} |"


def of_learn(name: str, *, told: bool) -> list[float]:
    """Of each group the share of rehearsals that lie in bands made without it, over a maker's Options."""
    known = lessons(name)
    real = set(known.cases.groups[~known.cases.artificial].tolist())
    found = [
        left_out(known.rehearsed(option, told=told)) for option in (*ADVISED[name].among, ADVISED[name].maker or name)
    ]
    return [float(np.mean([each[group] for each in found])) for group in sorted(real)]


def one_of_each_group(folder: Path, inside: str) -> list[Listed]:
    """The first database of every group that is to be judged by."""
    return list({each.group: each for each in reversed(listed(folder, inside, "judge"))}.values())


def told_of(name: str) -> tuple[bool, ...]:
    """Whether bands are asked for without the commonest class's share, and with it."""
    return (False, True) if name == "classification" else (False,)


def lines_of(name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Lines of the page's first table, and of the one by Option, of one kind of bands."""
    judged = one_of_each_group(folder, FOLDERS[name])
    runs: list[tuple[bool, Ran]] = []
    for number, each in enumerate(judged, start=1):
        runs += ran(name, database_of(folder / FOLDERS[name], each.name), each.group)
        print(f"{name}: {number} of {len(judged)}", flush=True)
    above, detail = [], []
    for told in told_of(name):
        mine = [each for was_told, each in runs if was_told == told]
        what = named(name, told=told)
        above.append(row(what, "learn", of_learn(name, told=told), None))
        above.append(row(what, "judge", by_group(mine), float(np.mean([each.width for each in mine]))))
        for option in dict.fromkeys(each.option for each in mine):
            of_option = [each for each in mine if each.option == option]
            width = float(np.mean([each.width for each in of_option]))
            detail.append(row(what, option, by_group(of_option), width))
    return above, detail


def named(name: str, *, told: bool) -> str:
    """What the page calls a kind of bands."""
    return f"{name}, the commonest class's share known" if told else name


def as_before(name: str) -> tuple[list[str], list[str]]:
    """The same lines as the page has them."""
    above, _, below = PAGE.read_text(encoding="utf-8").partition(BY_OPTION)
    heads = tuple(f"| {named(name, told=told)} |" for told in told_of(name))
    return (
        [line for line in above.splitlines() if line.startswith(heads)],
        [line for line in below.splitlines() if line.startswith(heads)],
    )


def main() -> int:
    """Run, and write the page; what stands below its tables stays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=FOLDERS, help="measure these bands; lines of others stay as they are")
    given = parser.parse_args()
    found = [lines_of(name, given.folder) if given.only in {None, name} else as_before(name) for name in FOLDERS]
    _, _, prose = PAGE.read_text(encoding="utf-8").partition(BY_OPTION)[2].rpartition("\n| ")
    above = [line for first, _ in found for line in first]
    detail = [line for _, second in found for line in second]
    tables = [HEAD, TABLE, *above, BY_OPTION, TABLE.replace("role", "Option"), *detail]
    PAGE.write_text("\n".join(tables) + "\n" + prose.partition("\n")[2], encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
