"""Take the pictures of docs/pictures: of a report and of the documentation, as wide as a desk and as a phone.

    mkdocs build --strict && python benchmarks/pictures.py

Needs Chromium (any browser of its kind), pillow, which comes with matplotlib, and nothing from the network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import jostle
from jostle import Numeric, Schema, Table, Trace
from jostle.corpora.generators_grids import generated_grids
from jostle.tasks import RANGES
from jostle.trace.page import whole_page

ROOT = Path(__file__).parent.parent
WIDTHS = {"desktop": 1280, "phone": 500}
"""Chromium's windows are at least 500 wide."""
COLOURS = 64
LOOKS = RANGES.metafeatures[:3]
GRIDS = 40


def report() -> str:
    """The page of a run on rows that are made up: a count, and incomes by a maker that learns from made-up columns."""
    random = np.random.default_rng(4)
    rows = {"income": np.clip(random.gamma(3, 14_000, 6_000), 0, 120_000)}
    schema = Schema({name: Numeric(0, 120_000, bins=64) for name in rows})
    trace = Trace()
    db = jostle.rehearse(Table.from_frame(rows, schema), epsilon=2, seed=3, trace=trace)
    db.count("0.1")
    grids = [each for each in generated_grids(GRIDS).grids if len(each.shape) == 1][:8]
    maker = jostle.MkChoiceMaker(
        among=["Identity", "UniformGrid", "Uniform"], informed_by=LOOKS, trained_on=grids, label="incomes"
    )
    answer = maker(db, epsilon=1)
    return whole_page(trace.records, title="Incomes of made-up people", answer=answer._repr_html_())


def taken(browser: str, page: Path, out: Path, width: int, height: int) -> None:
    """Write a picture of a page, in few colours."""
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={out}"]
    size = f"--window-size={width},{height}"
    subprocess.run([*words, size, page.as_uri()], check=True, capture_output=True, timeout=120)
    with Image.open(out) as picture:
        small = picture.convert("RGB").quantize(COLOURS)
    small.save(out, optimize=True)
    print(f"{out.relative_to(ROOT)}: {out.stat().st_size:,} bytes")


def main() -> int:
    """Take all pictures."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    site = ROOT / "build" / "site"
    if browser is None or not (site / "index.html").exists():
        print("install Chromium, and mkdocs build --strict first", file=sys.stderr)
        return 1
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "report.html"
        page.write_text(report(), encoding="utf-8")
        pages = {"report": (page, 2000), "site": (site / "index.html", 800)}
        for name, (place, height) in pages.items():
            for kind, width in WIDTHS.items():
                taken(browser, place, folder / f"{name}_{kind}.png", width, height)
    return 0


if __name__ == "__main__":
    sys.exit(main())
