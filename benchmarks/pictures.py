"""Take the pictures of docs/pictures: of a report and of the documentation, as wide as a desk and as a phone.

    mkdocs build --strict && python benchmarks/pictures.py

Needs Chromium (any browser of its kind), pillow, which comes with matplotlib, and nothing from the network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from PIL import Image, ImageChops

import jostle
from jostle import Numeric, Schema, Table, Trace
from jostle.corpora.generators import generated_grids
from jostle.tasks import RANGES
from jostle.trace.page import whole_page

ROOT = Path(__file__).parent.parent
WIDTHS = {"desktop": 1280, "phone": 390}
LEAST_WIDE = 500
"""Chromium's windows are at least this wide."""
COLOURS = 64
MARGIN = 24
LOOKS = RANGES.rehearsal.metafeatures[:3]
GRIDS = 40


def report() -> str:
    """The page of a run on rows that are made up: a count, and incomes by a maker that learns from made-up columns."""
    random = np.random.default_rng(4)
    rows = {"income": np.clip(random.gamma(3, 14_000, 6_000), 0, 120_000)}
    schema = Schema({name: Numeric(0, 120_000, bins=64) for name in rows})
    trace = Trace()
    db = jostle.rehearse(Table.from_frame(rows, schema), epsilon=2, seed=3, trace=trace)
    db.count("0.1")
    db.mean("income", epsilon="0.2")
    grids = [each for each in generated_grids(GRIDS).grids if len(each.shape) == 1][:8]
    maker = jostle.MkChoiceMaker(
        among=["Identity", "UniformGrid", "Uniform"], informed_by=LOOKS, trained_on=grids, label="incomes"
    )
    answer = maker(db, epsilon=1)
    return whole_page(trace.records, title="Incomes of made-up people", answer=answer._repr_html_())


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Where a folder can be read as a browser reads a site: opened as files, the site has no search."""
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and prints nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the library calls it
        """Print nothing."""


def taken(browser: str, page: str, out: Path, width: int, height: int) -> None:
    """Write a picture of a page, in few colours, without what is empty below it.

    The page is in a frame of the width: a browser's own windows are not as narrow as a phone.
    """
    frame = f'<iframe src="{page}" style="border:0;width:{width}px;height:{height}px"></iframe>'
    with tempfile.TemporaryDirectory() as scratch:
        outer = Path(scratch) / "frame.html"
        outer.write_text(f'<body style="margin:0">{frame}', encoding="utf-8")
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={out}"]
        size = [f"--window-size={max(width, LEAST_WIDE)},{height}", "--virtual-time-budget=5000"]
        subprocess.run([*words, *size, outer.as_uri()], check=True, capture_output=True, timeout=120)
    with Image.open(out) as picture:
        whole = picture.convert("RGB").crop((0, 0, width, height))
    empty = Image.new("RGB", whole.size, whole.getpixel((0, height - 1)))
    filled = ImageChops.difference(whole, empty).getbbox()
    bottom = height if filled is None else min(height, filled[3] + MARGIN)
    whole.crop((0, 0, width, bottom)).quantize(COLOURS).save(out, optimize=True)
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
    with tempfile.TemporaryDirectory() as scratch, served(site) as address:
        page = Path(scratch) / "report.html"
        page.write_text(report(), encoding="utf-8")
        pages = {"report": (page.as_uri(), 2400), "site": (f"{address}/index.html", 900)}
        for name, (place, height) in pages.items():
            for kind, width in WIDTHS.items():
                taken(browser, place, folder / f"{name}_{kind}.png", width, height)
    return 0


if __name__ == "__main__":
    sys.exit(main())
