"""`jostle evaluate`: how well a maker chooses on databases it was not trained on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import (
    INTERRUPTED,
    Entry,
    Evaluating,
    Maker,
    Program,
    Public,
    With,
    Workers,
    check_kept,
    echo,
    echo_lines,
    headline,
    load_with,
    say_json,
    table,
)
from jostle.errors import ChoiceError
from jostle.files.kinds import writing
from jostle.visible import aligned

if TYPE_CHECKING:
    from fractions import Fraction

    from jostle.choice.makers.evaluate import Evaluation


app = typer.Typer(add_completion=False)


@app.command(cls=Evaluating)
def evaluate(  # noqa: PLR0917 - a command's options
    program: Program,
    databases: Annotated[
        Path, typer.Option(help="A folder of public databases: *.csv.gz with a last column label, or .npy grids.")
    ],
    epsilon: Annotated[list[str], typer.Option(help="Budgets: one or more after the flag.")],
    trials: Annotated[int, typer.Option(help="How often everything runs.", min=1)] = 5,
    workers: Workers = None,
    entry: Entry = None,
    maker: Maker = None,
    public: Public = None,
    with_: With = None,
    json_: Annotated[
        str | None, typer.Option("--json", metavar="[FILE]", help="Print JSON, or write it to this file.")
    ] = None,
) -> None:
    """Measure how well a maker chooses on databases it was not trained on, everything it spends being charged.

    Of a function or an Option with labelled choices, --entry, say what each label is worth: the loss of what was
    learned against that of each alternative taken everywhere.
    """
    load_with(with_)
    if json_ not in {None, "-"}:
        check_kept(Path(str(json_)), "--json", {"the program": Path(program)})
    from jostle.choice.makers.evaluate import Evaluation
    from jostle.choice.makers.maker import ChoiceMaker
    from jostle.choice.trainer import evaluate as measure
    from jostle.corpora.folders import public as read_public
    from jostle.programs import load_trainable

    corpus = read_public(databases).grouped()
    chosen = load_trainable(program, maker, entry, public or ())
    share = chosen.trained.share if isinstance(chosen, ChoiceMaker) else 0  # learned first, with progress of its own
    try:
        found = measure(chosen, corpus, epsilon, trials=trials, workers=workers)
    except KeyboardInterrupt:
        echo("stopped: an evaluation keeps nothing of its trials", err=True)
        raise SystemExit(INTERRUPTED) from None
    if not isinstance(found, Evaluation):
        if json_ is None:
            echo_lines(found.as_text())
        else:
            said = f"{found.entry.name}: {len(found.worths)} labels"
            _write_json({"program": found.entry.program, **found.as_data()}, json_, said)
        return
    for problem in (*found.problems, *found.failed):
        echo(f"warning: {problem}", err=True)
    if found.seen_before:
        echo(
            f"warning: the maker was trained on {len(found.seen_before)} of these databases, where its figures say "
            f"little: {_some(found.seen_before)}",
            err=True,
        )
    said = _sentences(found, share)
    if json_ is None:
        _print_evaluation(found, said)
        return
    _write_json({"program": program, **found.as_data()}, json_, said)


def _write_json(facts: dict[str, Any], place: str, said: str) -> None:
    if place == "-":
        say_json(facts)
        return
    with writing(place, ChoiceError, fix="--json - prints it") as path:
        path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    echo(said)
    echo(f"written to {place}")


def _some(names: Sequence[str], most: int = 5) -> str:
    more = "" if len(names) <= most else f" and {len(names) - most} more"
    return ", ".join(names[:most]) + more


def _compared(found: Evaluation) -> str:
    """The maker beside always one Option, and beside the best one of each case, as a table."""
    figures = found.figures
    sure = "" if isnan(figures.regret_low) else f" (90%: {figures.regret_low:.2f} to {figures.regret_high:.2f})"
    return aligned(
        [
            ("", "mean loss", "times hindsight's, mean of cells"),
            ("the maker", f"{figures.loss_mean:.4g}", f"{figures.regret_mean:.2f}{sure}"),
            (f"always {found.single_best}", f"{figures.single_mean:.4g}", f"{figures.single_regret:.2f}"),
            ("hindsight: the best Option of each cell", f"{figures.hindsight_mean:.4g}", "1"),
        ]
    )


def _sentences(found: Evaluation, spent: Fraction | int) -> str:
    """What the figures say of choosing, a share of the budget being spent on looks."""
    from jostle.choice.learning.regret import verdict

    figures, best = found.figures, found.single_best
    beside = (
        f"its loss is over {figures.regret_p95:.2f} times hindsight's in one cell of 20, and "
        f"{figures.regret_max:.2f} times at most"
    )
    worse = f"it is more than 2% worse than always {best} in {figures.worse_share:.0%} of {figures.cells} cells"
    if {name for cell in found.cells for name in cell.chosen} != {best}:
        return f"{verdict(figures, best)}; {beside}; {worse}"
    if spent:
        return f"the maker ran {best} everywhere, with what looks left of the budget; {beside}; {worse}"
    return (
        f"the maker ran {best} everywhere, and spent nothing on choosing: it differs from always {best} by noise "
        f"alone, which each run has of its own; {beside}"
    )


def _print_evaluation(found: Evaluation, said: str) -> None:
    numbers = ("maker", "hindsight", f"always {found.single_best}", "regret")
    table(("database", "epsilon", *numbers, "chosen"), map(_row, found.cells), right=numbers)
    echo_lines(f"\n{_compared(found)}\n")
    headline(said)


def _row(cell: Any) -> tuple[str, ...]:
    chosen = ", ".join(f"{name} {count}" for name, count in sorted(cell.chosen.items(), key=lambda each: -each[1]))
    numbers = (f"{number:.4g}" for number in (cell.loss, cell.hindsight, cell.single))
    return (cell.database, f"{float(cell.epsilon):g}", *numbers, f"{cell.regret:.3f}", chosen)
