"""What a program gave back, for people and for files. All of it is public or released."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import JostleError
from jostle.files.kinds import writing
from jostle.lang.showing import shown, shown_inside
from jostle.lang.values import KnownAttribute, Leaf, TreeNode
from jostle.markup import bar_table, branch, leaf, pre
from jostle.tasks import TASKS, Task

__all__ = ["ENDINGS", "as_data", "as_markup", "as_text", "check_ending", "write_answer"]

ENDINGS = tuple(dict.fromkeys(["", ".json", *(ending for task in TASKS.values() for ending in task.shown.endings)]))
"""Of files that answers are written to, whatever they answer; without one, it is JSON."""

MOST_BARS = 256
"""Numbers by name that are drawn."""
MOST_DRAWN = 2**53
"""How large they are, at most."""


def _task(answer: Any) -> Task[Any] | None:
    """The task that something is an answer to, or None."""
    return next((task for task in TASKS.values() if task.question.gave(answer)), None)


def as_text(answer: Any) -> str:
    """An answer for people."""
    if answer is None:
        return "the program gave nothing back"
    if (task := _task(answer)) is not None:
        return task.shown.text(answer)
    if isinstance(answer, list) and answer and all(isinstance(each, list | tuple) for each in answer):
        return "\n".join("  ".join(row) for row in _aligned(answer))
    if isinstance(answer, Leaf | TreeNode):
        return "\n".join(_tree(answer, ""))
    return shown(answer)


def as_markup(answer: Any) -> str:
    """An answer as a part of a web page: drawn if it is numbers by name, a tree, or its task draws."""
    task = _task(answer)
    if task is not None:
        return pre(as_text(answer)) if task.shown.drawn is None else task.shown.drawn(answer)
    if isinstance(answer, Leaf | TreeNode):
        return _drawn_tree(answer, "")
    if isinstance(answer, Mapping) and 1 < len(answer) <= MOST_BARS and all(map(_is_number, answer.values())):
        rows = [(shown(key), int(value) if value == int(value) else float(value)) for key, value in answer.items()]
        return bar_table("", rows)
    return pre(as_text(answer))


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return known and -MOST_DRAWN < value < MOST_DRAWN


def _drawn_tree(tree: Any, asked: str) -> str:
    if isinstance(tree, Leaf):
        said = shown_inside(tree.pred) + ("" if tree.size is None else f" ({shown(tree.size)})")
        return leaf(asked, said)
    below = "".join(_drawn_tree(child, f"{tree.att} = {shown_inside(value)}") for value, child in tree.children.items())
    return branch(asked, below) if asked else below


def _aligned(rows: list[Any]) -> list[list[str]]:
    """Rows of cells as wide as their columns; with a head, where all rows end in alike dictionaries."""
    last = [row[-1] if row else None for row in rows]
    keys = list(last[0]) if isinstance(last[0], dict) else []
    if keys and all(isinstance(each, dict) and list(each) == keys for each in last):
        head = ["" for _ in rows[0][:-1]] + [shown_inside(key) for key in keys]
        cells = [head] + [[*map(shown_inside, row[:-1]), *(shown_inside(row[-1][key]) for key in keys)] for row in rows]
    else:
        cells = [[shown_inside(cell) for cell in row] for row in rows]
    widths = [
        max((len(row[place]) for row in cells if place < len(row)), default=0) for place in range(max(map(len, cells)))
    ]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=False)] for row in cells]


def _tree(tree: Any, indent: str) -> list[str]:
    if isinstance(tree, Leaf):
        return [f"{indent}{shown_inside(tree.pred)}" + ("" if tree.size is None else f" ({shown(tree.size)})")]
    lines = []
    for value, child in tree.children.items():
        lines += [f"{indent}{tree.att} = {shown_inside(value)}", *_tree(child, indent + "|  ")]
    return lines


def as_data(answer: Any) -> Any:  # noqa: PLR0911 - one per kind
    """An answer as plain data."""
    if (task := _task(answer)) is not None:
        return task.shown.data(answer)
    if isinstance(answer, Fraction):
        return float(answer)
    if isinstance(answer, Mapping):
        named = {shown(key): as_data(value) for key, value in answer.items()}
        # Two keys that look alike, 1 and "1", are two all the same.
        return named if len(named) == len(answer) else [[as_data(key), as_data(value)] for key, value in answer.items()]
    if isinstance(answer, list | tuple | range):
        return [as_data(each) for each in answer]
    if isinstance(answer, Leaf):
        return {"pred": as_data(answer.pred), "size": as_data(answer.size), "votes": as_data(answer.votes)}
    if isinstance(answer, TreeNode):
        return {"att": answer.att.name, "children": as_data(answer.children)}
    if isinstance(answer, KnownAttribute):
        return answer.name
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    if answer is None or isinstance(answer, bool | int | float | str):
        return answer
    return str(getattr(answer, "name", answer))


def check_ending(path: Path | None, tasks: Sequence[Task[Any] | None]) -> None:
    """Refuse a file whose ending is that of no answer to one of these tasks; None for what answers none."""
    known = [(".json",) if task is None else task.shown.endings for task in tasks]
    if path is not None and path.suffix and all(known) and not any(path.suffix.lower() in endings for endings in known):
        what = "this answer" if tasks[0] is None else tasks[0].question.gives
        endings = dict.fromkeys(ending for each in known for ending in each if ending)
        raise JostleError(f"{what} is not written to a file {path.suffix}", fix=f"one of {', '.join(endings)}")


def write_answer(answer: Any, path: Path) -> None:
    """Write an answer to a file, as its task does, and what answers no task as JSON."""
    task = _task(answer)
    check_ending(path, [task])
    with writing(path, JostleError):
        if task is not None:
            task.shown.save(answer, path)
        else:
            path.write_text(json.dumps(as_data(answer), indent=2) + "\n", encoding="utf-8")
