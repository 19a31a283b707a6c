"""Work on labelled choices, noted as it is done: an interruption loses nothing but what was under way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from jostle.choice.learning.engine import check_engine, performed
from jostle.choice.learning.store import Store
from jostle.choice.policies.work import Lesson, Part, Taught, Teach
from jostle.errors import ChoiceError
from jostle.files import json_text
from jostle.files.damage import DamageError
from jostle.files.kinds import FileKind
from jostle.files.structure import structured
from jostle.progress import stage

__all__ = ["Notebook"]

NOTES = FileKind(
    "file of notes", ChoiceError, "take it away: what is noted in it is then done again", most_bytes=1 << 28
)

Labelled = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[float, ...], ...]]
"""Alternatives, names of what was seen, and rows: what was seen, what was taken, the loss, the weight."""


@frozen
class TaughtFacts:
    """What a file holds of lessons."""

    labels: Mapping[str, Labelled]
    failure: str | None


@define(eq=False)
class Notebook:
    """Does parts of the work in processes, and keeps what they gave in a file of JSON lines."""

    path: Path | None = None
    """None to keep nothing."""
    engine: str = "processes"
    workers: int | None = None
    done: int = 0
    """Parts that were done here, rather than found in the file."""
    _known: dict[str, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Read what is noted already; a last line that was cut short is taken out."""
        check_engine(self.engine)
        if self.path is None or not self.path.exists():
            return
        store = store_at(self.path)
        store.mend()
        for line in store.lines():
            try:
                key, found = structured(json_text.parsed(line), tuple[str, Any])
                self._known[key] = _read(found)
            except ValueError:  # what no line says is done again
                continue

    def __call__(self, parts: Sequence[Part], title: str) -> list[Any]:
        """The value of each part, doing those that are not noted."""
        keys = [part.key for part in parts]
        missing = [place for place, part in enumerate(parts) if not self._knows(part)]
        with stage(title) as said:
            said.at(len(parts) - len(missing), len(parts))
            todo = [parts[place] for place in missing]
            done = performed(_done, todo, engine=self.engine, workers=self.workers)
            for number, (place, found) in enumerate(done, start=1):
                self._note(keys[missing[place]], found)
                said.at(len(parts) - len(missing) + number, len(parts))
        return [self._known[key] for key in keys]

    def _knows(self, part: Part) -> bool:
        """Whether it is noted what a part gave, and that is what such a part gives."""
        return part.key in self._known and isinstance(self._known[part.key], Taught) is isinstance(part, Teach)

    def close(self) -> None:
        """Take the file away: what was learned from it is kept elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _note(self, key: str, gave: Any) -> None:
        self._known[key] = _read(gave)
        self.done += 1
        if self.path is not None:
            store_at(self.path).add([json.dumps([key, gave], separators=(",", ":"))])


def store_at(path: Path) -> Store:
    """The file of notes."""
    return Store(path, NOTES, "what was run until now is kept there, below JOSTLE_HOME")


def _done(part: Part) -> Any:
    """Do a part, and return what it gives as JSON has it."""
    gave = part()
    if not isinstance(gave, Taught):
        return gave
    labels: dict[str, Any] = {}
    for each in gave.lessons:
        held = labels.setdefault(each.label, [list(each.among), list(each.names), []])
        if (tuple(held[0]), tuple(held[1])) != (each.among, each.names):
            raise ChoiceError(
                f"choice {each.label} is not among the same alternatives, or informed by the same, always"
            )
        held[2].append([*each.seen, each.taken, each.loss, each.weight])
    return {"labels": labels, "failure": gave.failure}


def _read(gave: Any) -> Taught | float | None:
    """The value that a part gave, or raise DamageError where none gives that."""
    if not isinstance(gave, dict):
        (loss,) = structured([gave], tuple[float | None])
        return loss
    taught = structured(gave, TaughtFacts)
    lessons = [
        _lesson(label, among, names, row) for label, (among, names, rows) in taught.labels.items() for row in rows
    ]
    return Taught(tuple(lessons), taught.failure)


def _lesson(label: str, among: tuple[str, ...], names: tuple[str, ...], row: tuple[float, ...]) -> Lesson:
    if len(row) != len(names) + 3:
        raise DamageError("is not as long as what was seen", ("labels", label))
    *seen, taken, loss, weight = row
    if taken not in range(len(among)) or loss < 0 or not 0 < weight <= 1:
        raise DamageError("is no lesson", ("labels", label))
    return Lesson(label, among, names, tuple(seen), int(taken), loss, weight)
