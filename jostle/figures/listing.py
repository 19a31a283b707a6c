"""The figures that are made again, each by one command."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from jostle.errors import ChoiceError, shown
from jostle.figures import stoddard, thesis, vinterbo

Draw = Callable[[Path | None, Path, int | None], tuple[str, ...]]


@frozen
class DrawnFigure:
    """A figure that was made: the file, what is to be said of it, and how long it took."""

    path: Path
    said: tuple[str, ...]
    seconds: float


@frozen
class PaperFigure:
    """A figure of a paper."""

    name: str
    paper: str
    about: str
    data: str
    """What it is made of, and where that comes from."""
    draw: Draw

    def make(self, data: Path | None, out: Path, trials: int | None) -> DrawnFigure:
        """Draw it into a file; say where that cannot be written before anything is computed."""
        if out.is_dir() or not out.parent.is_dir():
            raise ChoiceError(f"cannot write {out}", fix="--out FILE.png in a folder that there is")
        if out.suffix.lower() not in {".png", ".svg", ".pdf"}:
            raise ChoiceError(f"no figure is written to a file {out.suffix}", fix="--out a file that ends in .png")
        start = time.perf_counter()
        said = self.draw(data, out, trials)
        return DrawnFigure(out, said, time.perf_counter() - start)


THESIS = "the thesis that Jostle builds on"
VINTERBO = "Vinterbo, ECML PKDD 2012"
VINTERBO_DATA = "iris; satellite of the extra corpora; adult from a folder, else ada of the extra"
FIGURES = (
    PaperFigure(
        "figure-1.1",
        THESIS,
        "a map as it is, and as each grid Option estimates it",
        "a map that is made up, or --data a file of points with lat and lon",
        thesis.map_figure,
    ),
    PaperFigure(
        "figure-4.2",
        THESIS,
        "accuracy over epsilon of five private trees on three tables",
        "nursery and cmc of the extra corpora; hiv1625 from a folder",
        thesis.accuracy_figure,
    ),
    PaperFigure(
        "vinterbo-1",
        VINTERBO,
        "areas under the curve of regressions on rows, private ones, and those on published rows",
        VINTERBO_DATA,
        vinterbo.boxes_figure,
    ),
    PaperFigure(
        "vinterbo-2",
        VINTERBO,
        "areas under the curve on published rows, by epsilon, k and gamma",
        VINTERBO_DATA,
        vinterbo.sweeps_figure,
    ),
    PaperFigure(
        "stoddard-roc",
        "Stoddard, Chen and Machanavajjhala, 2014",
        "how far private ROC curves are off, by epsilon, beside what the paper gives",
        "sms_spam and sst2, texts, from a folder, else wisconsin and mammographic of the extra corpora",
        stoddard.curves_figure,
    ),
)


def figure_named(name: str) -> PaperFigure:
    """A figure; refuse a name that none has, with the list."""
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise ChoiceError(f"there is no figure {shown(name)}", fix=f"one of {', '.join(each.name for each in FIGURES)}")
