"""Audit everything that is registered and write the auditor's table, docs/benchmarks/audit.md.

Run from the project's root: python benchmarks/audit.py
With names behind --only, these and what the table lacks are audited, and all other lines of the table stay.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from jostle.audit import CONFIDENCE, Bound, Finding, audit, names, show_epsilon, subject
from jostle.privacy.amounts import show_amount
from jostle.privacy.noise import Noise, SeededBits

TABLE = Path("docs/benchmarks/audit.md")
SEED = 1
AMOUNTS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
RUNS = (5_000, 20_000, 100_000, 1_000_000)

HEAD = f"""# What the auditor sees

Lower bounds on the privacy loss of every mechanism registered with the auditor, each at the epsilon named. *Exact*
bounds are found by enumerating all outputs on pairs of neighbouring inputs; *sampled* bounds hold with confidence
{CONFIDENCE} over everything that was tried. A claim is broken when a bound is above it. Bounds are rounded down.

Made by `python benchmarks/audit.py`, with noise from seed {SEED}, so that the table repeats itself.
"""

CONTROLS = """
## Positive controls

Each has one fault and must be caught. *Runs* is how often the mechanism was run on each input, half of it to choose
what to measure.
"""

HONEST = """
## Honest mechanisms

None may be accused. How near the exact bound comes to the claim says how tight the mechanism is on the pairs tried;
how near the sampled one comes to the exact one says how much sampling sees.
"""

POWER = """
## How much sampling sees

The sampled bound on a noisy histogram, whose true loss is epsilon, as a share of it.
"""


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--only", nargs="+", default=())
    asked = parser.parse_args()
    out: Path = asked.out
    kept = _lines_of(out) if asked.only else {}
    found = {
        name: _audited(name)
        for controls in (True, False)
        for name in names(controls=controls)
        if name in asked.only or name not in kept
    }
    lines = {**kept, **{name: _lines(each) for name, each in found.items()}}
    controls, honest = ([lines[name] for name in names(controls=controls)] for controls in (True, False))
    text = "\n".join(
        [
            HEAD + CONTROLS,
            *_head("mechanism", "claimed", "exact", "sampled", "runs", "verdict", "shown by"),
            *(row for row, _ in controls),
            "",
            *(fault for _, fault in controls),
            HONEST,
            *_head("mechanism", "claimed", "exact", "sampled", "runs", "verdict", "what it is"),
            *(row for row, _ in honest),
            POWER,
            *_head("runs", *(f"epsilon {show_amount(amount)}" for amount in AMOUNTS)),
            *(kept[str(runs)][0] if str(runs) in kept else _row(_power_row(runs)) for runs in RUNS),
            "",
        ]
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(text)
    unexpected = [each.name for each in found.values() if not each.as_expected]
    if unexpected:
        raise SystemExit(f"not as expected: {', '.join(unexpected)}")


def _lines_of(table: Path) -> dict[str, tuple[str, str]]:
    """By name, the lines of a table that was written before: a row, and of a control what is wrong with it."""
    text = table.read_text(encoding="utf-8")
    rows = {name.replace(",", ""): row for row, name in re.findall(r"^(\| ([\w,]+) \|.*)$", text, re.MULTILINE)}
    faults = {name: line for line, name in re.findall(r"^(- \*\*(\w+)\*\*.*)$", text, re.MULTILINE)}
    return {name: (row, faults.get(name, "")) for name, row in rows.items()}


def _lines(found: Finding) -> tuple[str, str]:
    """The same of a finding."""
    if found.fault is None:
        return _row(_honest_row(found)), ""
    return _row(_control_row(found)), f"- **{found.name}** ({found.about}): {_fault(found)}"


def _audited(name: str) -> Finding:
    return audit(name, noise=Noise(SeededBits(SEED)))


def _head(*cells: str) -> Iterator[str]:
    yield _row(cells)
    yield f"|{'---|' * len(cells)}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _figures(found: Finding) -> tuple[str, ...]:
    exact, sampled = found.found("exact"), found.found("statistical")
    runs = f"{subject(found.name).samples:,}" if sampled else ""
    return show_amount(found.claimed), _shown(exact), _shown(sampled), runs, found.verdict


def _shown(bound: Bound | None) -> str:
    return "" if bound is None else show_epsilon(bound.epsilon)


def _control_row(found: Finding) -> tuple[str, ...]:
    bound = found.bound
    high, low = bound.chances
    inputs = f"{bound.first} and {bound.second}"
    shown = inputs if len(inputs) <= 60 else bound.pair
    return found.name, *_figures(found), f"{shown}: {bound.event}, chance {high:.3g} against {low:.3g}"


def _honest_row(found: Finding) -> tuple[str, ...]:
    return found.name, *_figures(found), found.about


def _fault(found: Finding) -> str:
    fault = found.fault
    return "" if fault is None else f"{fault.how}. *{fault.reference}.*"


def _power_row(runs: int) -> tuple[str, ...]:
    shares = []
    for amount in AMOUNTS:
        found = audit("NoisyCounts", amount, samples=runs, noise=Noise(SeededBits(SEED))).found("statistical")
        shares.append("" if found is None else f"{found.epsilon / float(amount):.3f}")
    return f"{runs:,}", *shares


if __name__ == "__main__":
    main()
