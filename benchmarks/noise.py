"""Time exact discrete Laplace noise against OpenDP, and test its fit: python benchmarks/noise.py.

Writes docs/benchmarks/noise.md. Takes about two minutes, nearly all of them OpenDP's, and 300 MB for its environment.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import peers
from attrs import frozen
from numpy.typing import NDArray
from scipy import stats

from jostle.privacy.noise import Noise, coin, geometric_digits, sign

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "noise.md"
REQUIRED_RATIO = 25
FALSE_ALARM = 1e-6
HEADLINE = "10"
SCALES = ["1/3", "1", HEADLINE, "1000", "1000000"]
FIT_SIZE = 10**6
FITTED = ["1/3", "1", HEADLINE, "1000"]
CALLS = 2000
"""How many calls for a single sample are timed together."""

OPENDP = ["opendp==0.16.0"]
OPENDP_SCRIPT = """
import json, sys, time
import opendp.prelude as dp

dp.enable_features("contrib")
request = json.load(sys.stdin)
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")

def seconds(scale, size, calls=1):
    laplace = dp.m.make_laplace(*space, scale=scale)
    zeros = [0] * size
    laplace(zeros[:10])
    start = time.perf_counter()
    for _ in range(calls):
        drawn = laplace(zeros)
    took = time.perf_counter() - start
    assert len(drawn) == size and all(type(value) is int for value in drawn)
    return took / calls

print(json.dumps({
    "version": dp.__version__,
    "many": seconds(request["scale"], request["size"]),
    "handing over": seconds(0.0, request["size"]),
    "one": seconds(request["scale"], 1, request["calls"]),
}))
"""


@frozen
class Timing:
    """Seconds for all samples at one scale, one entry per repeat; for one sample at a time, the median of a call."""

    scale: str
    jostle: list[float]
    opendp: list[float]
    handing_over: list[float]
    jostle_one: float
    opendp_one: float

    @property
    def ratio(self) -> float:
        """Return how many samples Jostle draws while OpenDP draws one."""
        return median(self.opendp) / median(self.jostle)

    @property
    def ratio_inside(self) -> float:
        """Return the same, less the time OpenDP takes to turn Python numbers into its own and back."""
        return (median(self.opendp) - median(self.handing_over)) / median(self.jostle)


def jostle_seconds(scale: str, size: int) -> float:
    """Return how long Jostle takes at a scale it has not met before."""
    for made in (geometric_digits, sign, coin):
        made.cache_clear()  # making tables is part of every repeat
    start = time.perf_counter()
    drawn = Noise().discrete_laplace(scale, size)
    took = time.perf_counter() - start
    if len(drawn) != size:
        raise AssertionError(scale)
    return took


def jostle_one(scale: str) -> float:
    """Return how long Jostle takes for one sample at a scale it has met before."""
    Noise().discrete_laplace(scale, 1)
    start = time.perf_counter()
    for _ in range(CALLS):
        Noise().discrete_laplace(scale, 1)
    return (time.perf_counter() - start) / CALLS


def compare(scale: str, size: int, repeats: int) -> tuple[Timing, str]:
    """Return timings of both, taken in turn, and OpenDP's version."""
    request = {"scale": float(Fraction(scale)), "size": size, "calls": CALLS}
    ours: list[float] = []
    ours_one: list[float] = []
    theirs: list[dict[str, Any]] = []
    jostle_seconds(scale, size)
    for repeat in range(repeats):
        ours.append(jostle_seconds(scale, size))
        ours_one.append(jostle_one(scale))
        theirs.append(peers.run("opendp", OPENDP, OPENDP_SCRIPT, request))
        print(f"scale {scale}, repeat {repeat + 1}: {ours[-1]:.4f} s, OpenDP {theirs[-1]['many']:.2f} s", flush=True)
    timing = Timing(
        scale,
        ours,
        [each["many"] for each in theirs],
        [each["handing over"] for each in theirs],
        median(ours_one),
        median(each["one"] for each in theirs),
    )
    return timing, theirs[0]["version"]


def fit(draws: NDArray[np.int64], scale: float) -> tuple[float, int]:
    """Return the chi-squared p-value of discrete Laplace draws, and the number of bins.

    Every value is a bin, out to where a value or all beyond it is expected fewer than 10 times; each tail is one more.
    """
    q = math.exp(-1 / scale)
    values = np.arange(math.ceil(scale * math.log(len(draws))) + 1)
    masses = len(draws) * (1 - q) / (1 + q) * q**values
    beyond = len(draws) * q ** (values + 1) / (1 + q)
    reach = int(np.flatnonzero((masses >= 10) & (beyond >= 10))[-1])
    sides = masses[: reach + 1]
    expected = np.concatenate([[beyond[reach]], sides[:0:-1], sides, [beyond[reach]]])
    observed = np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    return float(stats.chi2.sf(statistic, len(expected) - 1)), len(expected)


def spread(seconds: list[float], size: int) -> str:
    """Return median (least to most) nanoseconds a sample."""
    least, middle, most = (each / size * 1e9 for each in (min(seconds), median(seconds), max(seconds)))
    return f"{middle:,.1f} ({least:,.1f} to {most:,.1f})"


def machine() -> str:
    """Return what the figures depend on."""
    info = Path("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in info.open() if "model name" in line] if info.exists() else []
    processor = models[0] if models else platform.processor()
    return (
        f"{processor}, {os.cpu_count()} cores (one used), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def page(timings: list[Timing], fits: list[tuple[str, float, int]], size: int, version: str) -> str:
    """Return the page."""
    headline = next(timing for timing in timings if timing.scale == HEADLINE)
    many = "".join(
        f"| {each.scale} | {each.ratio:,.0f} | {each.ratio_inside:,.0f} "
        f"| {spread(each.jostle, size)} | {spread(each.opendp, size)} |\n"
        for each in timings
    )
    one = "".join(
        f"| {each.scale} | {each.opendp_one / each.jostle_one:.2f} "
        f"| {each.jostle_one * 1e6:.1f} | {each.opendp_one * 1e6:.1f} |\n"
        for each in timings
    )
    fitted = "".join(f"| {scale} | {p:.3f} | {bins:,} |\n" for scale, p, bins in fits)
    return f"""# Discrete Laplace noise: speed and fit

At scale {HEADLINE}, Jostle draws **{headline.ratio:,.0f} times** as many samples a second as OpenDP {version}; at least
{REQUIRED_RATIO} times are required.

```
python benchmarks/noise.py
```

wrote this page on {datetime.now(tz=UTC).date().isoformat()}. {machine()}.

## {size:,} samples in one call

| scale | ratio | ratio, handing over left out | Jostle, ns a sample | OpenDP, ns a sample |
|---:|---:|---:|---:|---:|
{many}
Medians, with the least and the most in brackets, of {len(headline.jostle)} repeats at scale {HEADLINE} and
{len(timings[0].jostle)} elsewhere, the two libraries in turn, each on one core and drawing from the operating system's
randomness. OpenDP's `make_laplace` on a vector of 64-bit integers runs in a process and an environment of its own,
imports not counted. It adds to a list of zeros, and *handing over* is what turning such a list into its own numbers and
back takes, measured as the same call at scale 0. Jostle makes its tables for the scale anew in every repeat.

## One sample in a call

| scale | ratio | Jostle, µs a call | OpenDP, µs a call |
|---:|---:|---:|---:|
{one}
Here calling costs more than drawing. {CALLS:,} calls at a scale met before, medians as above.

## Fit of {FIT_SIZE:,} samples

| scale | p-value | bins |
|---:|---:|---:|
{fitted}
Chi-squared of Jostle's samples against the exact probabilities. A value is a bin of its own where at least 10 are
expected. The samples come from the operating system and are new in every run, so p-values wander between 0 and 1. The
benchmark fails if one is below {FALSE_ALARM:g}.
"""


def main() -> int:
    """Measure, write the page, and return whether what is required was not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10**6, help="samples timed in one call")
    parser.add_argument("--repeats", type=int, default=5, help=f"repeats at scale {HEADLINE}; 3 at most at others")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write")
    options = parser.parse_args()
    repeats = {scale: options.repeats if scale == HEADLINE else min(3, options.repeats) for scale in SCALES}
    measured = [compare(scale, options.size, repeats[scale]) for scale in SCALES]
    timings = [timing for timing, _ in measured]
    fits = [(scale, *fit(Noise().discrete_laplace(scale, FIT_SIZE), float(Fraction(scale)))) for scale in FITTED]
    text = page(timings, fits, options.size, measured[0][1])
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(text)
    print(text)
    ratio = next(timing.ratio for timing in timings if timing.scale == HEADLINE)
    return int(ratio < REQUIRED_RATIO or min(p for _, p, _ in fits) < FALSE_ALARM)


if __name__ == "__main__":
    sys.exit(main())
