"""Vinterbo's figures 1 and 2 again, drawn of what `benchmarks/publishing.py` measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jostle.figures.vinterbo import PLAIN, PRIVATE, SWEPT, TableAreas, draw_boxes, draw_sweeps

__all__ = ["BINARY", "SWEPT", "TABLES", "areas", "draw", "estimated"]

Facts = Mapping[str, Mapping[str, Any]]

TABLES = ("iris", "satellite", "adult")
BINARY = ("adult",)


def areas(known: Facts, name: str, end: str) -> list[float]:
    """The areas under the curve of a table's folds, by what a key ends with."""
    return [float(f["auc"]) for key, f in known.items() if key.startswith(f"vinterbo {name} ") and key.endswith(end)]


def estimated(known: Facts, name: str, swept: str) -> float:
    """What the paper's rules estimate of a table, and epsilon 1."""
    return 1.0 if swept == "epsilon" else float(known[f"vinterbo {name} estimated"][swept])


def draw(known: Facts, folder: Path) -> None:
    """Write publishing_1.png and publishing_2.png."""
    tables = {name: _areas(known, name) for name in TABLES}
    draw_boxes(tables, folder / "publishing_1.png")
    draw_sweeps(tables, folder / "publishing_2.png")


def _areas(known: Facts, name: str) -> TableAreas:
    binary = name in BINARY
    ways = [PLAIN, PRIVATE, *(f"{of}={value}" for of, values in SWEPT.items() for value in values)]
    return TableAreas(
        binary, {way: areas(known, name, f" {way}") for way in ways}, dict(known[f"vinterbo {name} estimated"])
    )
