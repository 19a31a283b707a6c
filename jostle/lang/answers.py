"""What a program gave back, for people and for files. All of it is public or released."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import JostleError
from jostle.lang.showing import shown
from jostle.lang.values import KnownAttribute, Leaf, Node
from jostle.options.models.model import Model
from jostle.options.ranges.estimate import Estimate, SparseEstimate

__all__ = ["as_data", "as_text", "write_answer"]

MOST_SHOWN = 12


def as_text(answer: Any) -> str:
    """Return an answer for people."""
    if answer is None:
        return "the program gave nothing back"
    if isinstance(answer, Model):
        return answer.text()
    if isinstance(answer, Estimate):
        first = ", ".join(f"{cell:.4g}" for cell in answer.cells.ravel()[:MOST_SHOWN].tolist())
        sides = " x ".join(map(str, answer.shape))
        return f"an estimate of {sides} cells, {answer.total:.6g} records in all; the first cells: {first} ..."
    if isinstance(answer, list) and answer and all(isinstance(each, list | tuple) for each in answer):
        return "\n".join("  ".join(row) for row in _aligned(answer))
    if isinstance(answer, Leaf | Node):
        return "\n".join(_tree(answer, ""))
    return shown(answer)


def _aligned(rows: list[Any]) -> list[list[str]]:
    """Return rows of cells as wide as their columns; with a head, where all rows end in alike dictionaries."""
    last = [row[-1] if row else None for row in rows]
    keys = list(last[0]) if isinstance(last[0], dict) else []
    if keys and all(isinstance(each, dict) and list(each) == keys for each in last):
        head = ["" for _ in rows[0][:-1]] + [shown(key) for key in keys]
        cells = [head] + [[*map(shown, row[:-1]), *(shown(row[-1][key]) for key in keys)] for row in rows]
    else:
        cells = [[shown(cell) for cell in row] for row in rows]
    widths = [
        max((len(row[place]) for row in cells if place < len(row)), default=0) for place in range(max(map(len, cells)))
    ]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=False)] for row in cells]


def _tree(tree: Any, indent: str) -> list[str]:
    if isinstance(tree, Leaf):
        return [f"{indent}{shown(tree.pred)}" + ("" if tree.size is None else f" ({shown(tree.size)})")]
    lines = []
    for value, child in tree.children.items():
        lines += [f"{indent}{tree.att} = {shown(value)}", *_tree(child, indent + "|  ")]
    return lines


def as_data(answer: Any) -> Any:  # noqa: C901, PLR0911 - one per kind
    """Return an answer as plain data."""
    if isinstance(answer, Model):
        return json.loads(answer.to_json())
    if isinstance(answer, Estimate):
        return {"shape": list(answer.shape), "cells": answer.cells.tolist()}
    if isinstance(answer, SparseEstimate):
        return {"shape": list(answer.shape), "keys": answer.keys.tolist(), "values": answer.values.tolist()}
    if isinstance(answer, Fraction):
        return float(answer)
    if isinstance(answer, Mapping):
        return {shown(key): as_data(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple | range):
        return [as_data(each) for each in answer]
    if isinstance(answer, Leaf):
        return {"pred": as_data(answer.pred), "size": as_data(answer.size), "votes": as_data(answer.votes)}
    if isinstance(answer, Node):
        return {"att": answer.att.name, "children": as_data(answer.children)}
    if isinstance(answer, KnownAttribute):
        return answer.name
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    if answer is None or isinstance(answer, bool | int | float | str):
        return answer
    return str(getattr(answer, "name", answer))


def write_answer(answer: Any, path: Path) -> None:
    """Write an answer to a file: a model as one, an estimate as .npy where that is asked for, all else as JSON."""
    try:
        if isinstance(answer, Model):
            answer.save(path)
        elif isinstance(answer, Estimate) and path.suffix == ".npy":
            np.save(path, answer.cells)
        else:
            path.write_text(json.dumps(as_data(answer), indent=2) + "\n", encoding="utf-8")
    except OSError as mistake:
        raise JostleError(f"cannot write {path}: {mistake.strerror}", fix="name another file") from None
