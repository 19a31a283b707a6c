"""What `jostle train --entry` does: learn the choices inside a program, and keep what was learned where it is found."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from jostle.choice.learning.formulas import FormulaWorth, choice_formulas
from jostle.choice.learning.learners import Lesson
from jostle.choice.policies.learn import LEARNED, Worth, formula_worths, settled, train_labels
from jostle.choice.policies.work import MOST_DATABASES, Notebook, halves, situations_of
from jostle.corpora.corpus import BEGINNING, Corpus, check_set_aside
from jostle.corpora.folders import public
from jostle.errors import ChoiceError
from jostle.learned.files import here
from jostle.learned.policies import Kept, LearnedPolicy, keep_policies, policies_for
from jostle.options.fitted import kept_apart, marks_of
from jostle.privacy.amounts import epsilon_amount
from jostle.tasks import UNTOLD, Judge, Task

EPSILONS = ("1/10", "3/10", "1", "3")
ROUNDS, RUNS, TRIALS = 2, 8, 2
LEARNING = 1
"""Of the code that learns: raised when the same runs come to teach something else."""
LEAST_FLOOR = 1e-9
"""Losses of grids have no floor, but are compared by their logarithms."""


@frozen(eq=False)
class Labelled:
    """An Option or a function of a program, inside which choices are made."""

    name: str
    mark: str
    """Changes with the text of it and of what it uses."""
    program: str
    """The file it stands in."""
    task: Task[Any]
    run: Callable[..., Any]
    """What gives an answer for a probe, a budget, and what is asked besides; it can be sent to another process."""
    labels: tuple[str, ...] | None = None
    """Its labels, where they can be read off its text."""
    words: frozenset[str] | None = None
    """Alternatives that stand for themselves, which nothing else defines; None for all."""
    fitted_on: Any = ()
    """What Options inside it were fitted on: its choices are not learned there."""


@frozen(eq=False)
class LearnedPolicies:
    """What was learned, and where it is."""

    entry: Labelled
    policies: Mapping[str, LearnedPolicy]
    worths: tuple[Worth, ...]
    learned_on: str
    """In words: so many public databases."""
    kept: Path | None
    problems: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    """Labels that runs came to too rarely, or never."""
    tried_on: str = ""
    epsilons: tuple[str, ...] = ()
    formulas: tuple[FormulaWorth, ...] = ()
    """A formula for each label, where they were asked for."""
    judged: LearnedPolicies | None = None
    """What each label is worth on databases that were set aside, where there were any."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        return {
            "entry": self.entry.name,
            "task": self.entry.task.name,
            "learned_on": self.learned_on,
            "tried_on": self.tried_on,
            "epsilons": list(self.epsilons),
            "labels": [worth_data(worth) for worth in self.worths],
            "formulas": {each.formula.label: each.formula.expression for each in self.formulas},
            "unmet": list(self.unmet),
            "kept": None if self.kept is None else str(self.kept),
            "problems": list(self.problems),
            "judged": None if self.judged is None else self.judged.as_data(),
        }

    def as_text(self) -> str:
        """This in sentences."""
        lines = [f"warning: {problem}" for problem in self.problems]
        rare = "runs came to it too rarely, or never, for it to be learned"
        lines += [f"warning: {label} takes its first alternative: {rare}" for label in self.unmet]
        where = f"learned on {self.learned_on}, tried on {self.tried_on} at epsilon {', '.join(self.epsilons)}"
        worths = (worth_text(worth, settled=self.kept is not None) for worth in self.worths)
        lines += [f"{self.entry.name}: {where}", *worths]
        if self.kept is not None:
            lines.append(f"  the program follows it from now on, until its text changes: {self.kept}")
        if self.judged is not None:
            lines += ["", "on databases set aside, of which nothing was learned:", self.judged.as_text()]
        for each in self.formulas:
            lines += ["", each.as_text(self.entry.words)]
        return "\n".join(lines)


def worth_data(worth: Worth) -> dict[str, Any]:
    """A label's worth as plain data."""
    return {
        "label": worth.label,
        "kept": LEARNED if worth.learned else worth.usual,
        "losses": [
            {"taken": name, "loss": loss, "ratio": ratio, "error": error if math.isfinite(error) else None}
            for name, loss, ratio, error in worth.losses
        ],
    }


def worth_text(worth: Worth, *, settled: bool) -> str:
    """A label's worth in lines: the mean loss of what was learned, and of each alternative everywhere.

    Where that *settled* what is done from now on, it is said as well.
    """
    does = "does" if worth.learned else "does not do"
    said = f"what was learned {does} better than {worth.usual} everywhere by more than a standard error"
    if all(math.isnan(error) for *_, error in worth.losses):
        said = f"one group of databases does not tell what was learned from {worth.usual} everywhere"
    if settled:
        said += ": it is followed" if worth.learned else f": {worth.usual} is taken everywhere"
    names = [LEARNED, *(f"{name} everywhere" for name, *_ in worth.losses[1:])]
    width = max(map(len, names))
    lines = [f"  {worth.label}: {said}"]
    for name, (_, loss, ratio, error) in zip(names, worth.losses, strict=True):
        lines.append(f"    {name:<{width}}  mean loss {loss:.4g}{_compared(ratio, error) if name != LEARNED else ''}")
    return "\n".join(lines)


def _compared(ratio: float, error: float) -> str:
    """How a loss compares to that of what was learned, in words."""
    shown, sure = f"{abs(ratio - 1):.1%}", "" if math.isnan(error) else f" (standard error {error:.1%})"
    if shown == "0.0%":
        return ", as good" if sure.endswith(" 0.0%)") else f", as good{sure}"
    return f", {shown} {'more' if ratio > 1 else 'less'}{sure}"


def train_policies(
    entry: Labelled,
    *,
    corpus: Path | Corpus | None = None,
    epsilons: Iterable[str] = EPSILONS,
    engine: str = "processes",
    workers: int | None = None,
    runs: int = RUNS,
    judge: Judge | None = None,
    out: Path | None = None,
    aside: Path | None = None,
    synthesizing: bool = False,
    kept_in: Callable[[Path | None], None] | None = None,
) -> LearnedPolicies:
    """The policies learned for a program's choices, one for each label; keep them where the program finds them.

    From the databases in the folder *aside* nothing is learned: what each label is worth is measured on them in the
    end. They are refused if some are learned from, or have the same people. When *synthesizing*, a formula is searched
    for each label as well. *kept_in* is told where runs are noted, before they begin; what is noted is not run again.
    """
    if entry.labels == ():
        raise _no_choice(entry)
    if entry.task is UNTOLD:
        raise ChoiceError(
            f"it cannot be told what {entry.name} answers from: a table with a label, or a grid",
            why="that says which public databases its choices are learned on",
            fix="use db.label or db.attributes, or on a grid db.x_range, in it or in what it calls",
        )
    budgets = tuple(str(epsilon_amount(epsilon)) for epsilon in epsilons)
    given = public(corpus) if isinstance(corpus, Path) else corpus
    most = MOST_DATABASES if given is None else None
    databases = (entry.task.rehearsal.corpus() if given is None else given).grouped()
    others = None if aside is None else public(aside).grouped()
    if others is not None:
        check_set_aside(others, [database for database in databases if entry.task.rehearsal.takes(database)])
    situations, problems = situations_of(databases, entry.task, most=most, judge=judge, apart=_apart(entry, databases))
    learnt, tried = halves(situations)
    tried_on = "the same" if learnt == tried else _counted(len(tried), "other")
    mark = _digest(LEARNING, entry.mark, budgets, runs, [situation.key for situation in situations])
    notes = Notebook(here("policies", f"{entry.name}-{mark}.notes"), engine, workers)
    if kept_in is not None:
        kept_in(notes.path)
    worths: list[Worth] = []
    lessons: list[Lesson] = []
    policies = train_labels(
        entry.run,
        learnt,
        budgets,
        rounds=ROUNDS,
        runs=runs,
        trials=TRIALS,
        settled_on=tried,
        floor=max(entry.task.rehearsal.floor, LEAST_FLOOR),
        perform=notes,
        told=worths.append,
        rare_left_out=True,
        heard=lessons.extend,
    )
    formulas: Sequence[FormulaWorth] = ()
    if synthesizing:
        formulas = formula_worths(
            entry.run,
            tried,
            [epsilon_amount(epsilon) for epsilon in budgets],
            policies,
            choice_formulas(lessons, sorted(policies), len(learnt) * len(budgets) * runs * ROUNDS),
            trials=TRIALS,
            seed=(0, ROUNDS),
            floor=max(entry.task.rehearsal.floor, LEAST_FLOOR),
            perform=notes,
        )
    learned_on = _counted(len(learnt), "public database")
    facts = {
        "tried_on": tried_on,
        "epsilons": list(budgets),
        "worth": [worth_data(worth) for worth in worths],
        "fitted_on": sorted({situation.database.digest[:BEGINNING] for situation in situations}),
    }
    kept = keep_policies(entry.name, entry.mark, entry.program, policies, learned_on=learned_on, facts=facts)
    if out is not None:
        keep_policies(entry.name, entry.mark, entry.program, policies, learned_on=learned_on, facts=facts, path=out)
    notes.close()
    unmet = tuple(label for label in entry.labels or () if label not in policies)
    judged = None
    if others is not None:
        judged = evaluate_policies(entry, others, budgets, engine=engine, workers=workers)
    return LearnedPolicies(
        entry,
        policies,
        tuple(worths),
        learned_on,
        kept,
        problems,
        unmet,
        tried_on,
        budgets,
        formulas=tuple(formulas),
        judged=judged,
    )


def evaluate_policies(
    entry: Labelled,
    corpus: Corpus,
    epsilons: Sequence[str],
    *,
    trials: int = TRIALS,
    engine: str = "processes",
    workers: int | None = None,
) -> LearnedPolicies:
    """The worth of the policies that a program follows, on public databases: nothing is learned or kept."""
    known = policies_for(entry.name, entry.mark, entry.program)
    if known.problem is not None:
        raise ChoiceError(known.problem, fix=f"jostle train {entry.program} --entry {entry.name}")
    policies = {label: each.policy for label, each in known.items() if isinstance(each, Kept)}
    if not policies:
        raise ChoiceError(
            f"nothing was learned for the choices of {entry.name}"
            + (" since the program has changed" if known.stale else ""),
            fix=f"jostle train {entry.program} --entry {entry.name}",
        )
    situations, problems = situations_of(corpus, entry.task, apart=_apart(entry, corpus))
    worths: list[Worth] = []
    settled(
        entry.run,
        situations,
        [epsilon_amount(epsilon) for epsilon in epsilons],
        policies,
        trials=trials,
        seed=(1, 0),
        floor=max(entry.task.rehearsal.floor, LEAST_FLOOR),
        perform=Notebook(None, engine, workers),
        told=worths.append,
        give_way=False,
    )
    learned_on = str(known.facts.get("learned_on", "public databases"))
    return LearnedPolicies(
        entry,
        policies,
        tuple(worths),
        learned_on,
        None,
        problems,
        tried_on=_counted(len(situations), "database"),
        epsilons=tuple(epsilons),
    )


def _apart(entry: Labelled, databases: Corpus) -> Mapping[str, str]:
    """Why some databases are kept apart, by their digests."""
    return kept_apart([entry], databases) if marks_of(entry.fitted_on) else {}


def _no_choice(entry: Labelled) -> ChoiceError:
    return ChoiceError(
        f"{entry.name} makes no labelled choice",
        why="that is what is learned of an entry",
        fix="choose L1 among {a, b} informed by {n}",
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _digest(*facts: object) -> str:
    return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()
