"""Make what comes with Jostle for choosing: histories and trained makers, in jostle/learned/shipped.

    python benchmarks/ship_makers.py HISTORY.jsonl [HISTORY.jsonl ...]

The histories are those that `jostle train classification --corpus DIRECTORY --history HISTORY.jsonl` and the same for
publishing and selection leave, or added to, and those that benchmarks/questions.py and table_questions.py leave. Of
times, only the median is kept, and of failures, nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, KnownDatabase, KnownInstance, read_history
from jostle.choice.makers.shipped import (
    ASKED_GRIDS,
    CLASSIFIERS,
    GRIDS,
    PUBLISHERS,
    SELECTORS,
    SHIPPED,
    rehearsals_of,
    shipped_history,
)
from jostle.choice.makers.trained import learn
from jostle.learned.files import shipped_folder
from jostle.options import get
from jostle.tasks import Task


def shipped_part(history: History, task: Task[Any]) -> History:
    """Return what is known of one task's shipped Options as they are now: of older versions nobody learns."""
    names = {*CLASSIFIERS, *GRIDS, *ASKED_GRIDS, *PUBLISHERS, *SELECTORS}
    current = {(name, get(name).version) for name in names}
    digests = {digest for digest, database in history.databases.items() if database.task == task.name}
    kept = {key for key, instance in history.instances.items() if instance.database in digests}
    return History(
        line
        for line in history.of(kept).lines()
        if isinstance(line, KnownDatabase | KnownInstance) or (line.option, line.version) in current
    )


def main() -> int:
    """Write histories, then makers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SHIPPED))
    arguments = parser.parse_args()
    whole = History()
    for path in arguments.histories:
        whole = whole | read_history(path)
    for task in dict.fromkeys(SHIPPED[name].task for name in arguments.only):
        shipped_part(whole, task).save(shipped_folder() / f"{task.name}.jsonl.gz")
    shipped_history.cache_clear()
    for name in arguments.only:
        shipped = SHIPPED[name]
        options = [get(each) for each in shipped.among]
        cases = cases_of(rehearsals_of(name), options, judge=shipped.judge)
        trained = learn(cases, options, shipped.informed_by)
        trained.save(shipped_folder() / f"{name}.json")
        print(f"{name}: {trained.summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
