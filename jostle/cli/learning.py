"""Learning what to choose: `jostle train`, `evaluate` how well that does, `advise` what to expect of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jostle.cli.saying import (
    INTERRUPTED,
    Entry,
    Json,
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

    from jostle.choice.makers.evaluate import Evaluation, Slice


def train(
    program: Program,
    entry: Entry = None,
    corpus: Annotated[
        Path | None, typer.Option(help="A folder of public databases, instead of those the program names.")
    ] = None,
    engine: Annotated[str, typer.Option(help="processes, threads, or dask://HOST:PORT.")] = "processes",
    out: Annotated[Path | None, typer.Option(help="Also write what was learned to this file.")] = None,
    history: Annotated[Path | None, typer.Option(help="Read rehearsals from this file, and add to it.")] = None,
    workers: Workers = None,
    repeats: Annotated[
        int | None, typer.Option(help="How often each Option runs at each budget, or the entry in each round.", min=2)
    ] = None,
    epsilon: Annotated[
        list[str] | None, typer.Option(help="Budgets to learn labelled choices at: one or more after the flag.")
    ] = None,
    maker: Maker = None,
    public: Public = None,
    aslib: Annotated[Path | None, typer.Option(help="Also write what was learned from as an ASlib scenario.")] = None,
    synthesize: Annotated[
        bool,
        typer.Option(
            "--synthesize", help="Also search formulas for `predict`, or for labelled choices, and print them."
        ),
    ] = False,
    look: Annotated[
        list[str] | None,
        typer.Option(help="A share of the budget: Options are rehearsed knowing what a maker buys with it, too."),
    ] = None,
    judge: Annotated[
        Path | None, typer.Option(help="A folder of public databases to judge what was learned by, and not learn from.")
    ] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Learn which Option to choose, or what to choose inside an algorithm; the program then finds it learned.

    A choice maker learns from rehearsals of its Options on public databases. The labelled choices inside a function or
    an Option, --entry, are learned from running it whole. What is run is written down at once, so the same command goes
    on after an interruption.
    """
    load_with(with_)
    check_kept(out, "--out", {"the program": Path(program), "the history": history})
    check_kept(history, "--history", {"the program": Path(program)})
    history_kept: Path | None = None

    def kept_in(path: Path | None) -> None:
        nonlocal history_kept
        history_kept = path

    try:
        from jostle.choice.trainer import train as learn
        from jostle.programs import load_trainable

        done = learn(
            load_trainable(program, maker, entry, public or ()),
            corpus=corpus,
            engine=engine,
            history=history,
            workers=workers,
            repeats=repeats,
            epsilons=epsilon,
            aslib=aslib,
            synthesizing=synthesize,
            looks=look or (),
            judge=judge,
            out=out,
            kept_in=kept_in,
        )
    except KeyboardInterrupt:
        kept = "nothing was rehearsed yet" if history_kept is None else f"what was rehearsed is kept in {history_kept}"
        echo(f"stopped: {kept}, and the same command goes on from there", err=True)
        raise SystemExit(INTERRUPTED) from None
    if json_:
        say_json({**done.as_data(), "out": None if out is None else str(out)})
        return
    echo_lines(done.as_text())
    if out is not None:
        echo(f"written to {out}")


def evaluate(
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
    by: Annotated[
        Literal["slice"] | None,
        typer.Option(help="Ask questions of every kind, and say by kind and rows times epsilon what was chosen."),
    ] = None,
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
        evaluation = measure(chosen, corpus, epsilon, trials=trials, workers=workers, of_each_kind=by is not None)
    except KeyboardInterrupt:
        echo("stopped: an evaluation keeps nothing of its trials", err=True)
        raise SystemExit(INTERRUPTED) from None
    if not isinstance(evaluation, Evaluation):
        if json_ is None:
            echo_lines(evaluation.as_text())
        else:
            said = f"{evaluation.entry.name}: {len(evaluation.worths)} labels"
            _write_json({"program": evaluation.entry.program, **evaluation.as_data()}, json_, said)
        return
    for problem in (*evaluation.problems, *evaluation.failed):
        echo(f"warning: {problem}", err=True)
    if evaluation.seen_before:
        echo(
            f"warning: the maker was trained on {len(evaluation.seen_before)} of these databases, where its figures "
            f"say little: {_some(evaluation.seen_before)}",
            err=True,
        )
    said = _sentences(evaluation, share)
    if json_ is None:
        _print_evaluation(evaluation, said, by_slice=by is not None)
        return
    _write_json({"program": program, **evaluation.as_data()}, json_, said)


def _write_json(facts: dict[str, Any], target: str, said: str) -> None:
    if target == "-":
        say_json(facts)
        return
    with writing(target, ChoiceError, fix="--json - prints it") as path:
        path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    echo(said)
    echo(f"written to {target}")


def _some(names: Sequence[str], most: int = 5) -> str:
    more = "" if len(names) <= most else f" and {len(names) - most} more"
    return ", ".join(names[:most]) + more


def _compared(evaluation: Evaluation) -> str:
    """The maker beside always one Option, and beside the best one of each case, as a table."""
    figures = evaluation.figures
    sure = "" if isnan(figures.regret_low) else f" (90%: {figures.regret_low:.2f} to {figures.regret_high:.2f})"
    return aligned(
        [
            ("", "mean loss", "times hindsight's, mean of cells"),
            ("the maker", f"{figures.loss_mean:.4g}", f"{figures.regret_mean:.2f}{sure}"),
            (f"always {evaluation.single_best}", f"{figures.single_mean:.4g}", f"{figures.single_regret:.2f}"),
            ("hindsight: the best Option of each cell", f"{figures.hindsight_mean:.4g}", "1"),
        ]
    )


def _sentences(evaluation: Evaluation, spent: Fraction | int) -> str:
    """What the figures say of choosing, a share of the budget being spent on looks."""
    from jostle.choice.learning.regret import verdict

    figures, best = evaluation.figures, evaluation.single_best
    beside = (
        f"its loss is over {figures.regret_p95:.2f} times hindsight's in one cell of 20, and "
        f"{figures.regret_max:.2f} times at most"
    )
    worse = f"it is more than 2% worse than always {best} in {figures.worse_share:.0%} of {figures.cells} cells"
    if {name for cell in evaluation.cells for name in cell.chosen} != {best}:
        return f"{verdict(figures, best)}; {beside}; {worse}"
    if spent:
        return f"the maker ran {best} everywhere, with what looks left of the budget; {beside}; {worse}"
    return (
        f"the maker ran {best} everywhere, and spent nothing on choosing: it differs from always {best} by noise "
        f"alone, which each run has of its own; {beside}"
    )


def _print_evaluation(evaluation: Evaluation, said: str, *, by_slice: bool) -> None:
    single = f"always {evaluation.single_best}"
    if by_slice:
        regrets = ("rows · epsilon", "cells", "regret", single)
        table(("asked", *regrets, "chosen"), map(_slice_row, evaluation.slices), right=regrets)
    else:
        numbers = ("maker", "hindsight", single, "regret")
        table(("database", "epsilon", *numbers, "chosen"), map(_row, evaluation.cells), right=numbers)
    echo_lines(f"\n{_compared(evaluation)}\n")
    headline(said)


def _slice_row(part: Slice) -> tuple[str, ...]:
    chosen = ", ".join(f"{name} {share:.0%}" for name, share in part.chosen[:3])
    numbers = (f"{10**part.decade:,}", f"{len(part.cells)}", f"{part.regret:.3f}", f"{part.single_regret:.3f}")
    return (part.asked or "as nobody says", *numbers, chosen)


def _row(cell: Any) -> tuple[str, ...]:
    chosen = ", ".join(f"{name} {count}" for name, count in sorted(cell.chosen.items(), key=lambda each: -each[1]))
    numbers = (f"{number:.4g}" for number in (cell.loss, cell.hindsight, cell.single))
    return (cell.database, f"{float(cell.epsilon):g}", *numbers, f"{cell.regret:.3f}", chosen)


def advise(
    rows: Annotated[int, typer.Option(help="About how many rows there are, as is publicly known.")],
    what: Annotated[
        str | None,
        typer.Argument(help="A program, an Option or a maker; without one, all that the schema's maker chooses among."),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="Budgets: one or more after the flag.")] = None,
    loss: Annotated[str | None, typer.Option(help="A loss that is wanted: say the budget for it.")] = None,
    commonest: Annotated[
        str | None, typer.Option(help="The share of the commonest class, if it is publicly known: 0.7.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it into this file: .png, .svg.")] = None,
    schema: Annotated[Path | None, typer.Option(help="A schema in TOML.")] = None,
    rows_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="GUESS",
            help="Say how many rows of a person to read, by what is guessed of them: 'geometric 8', 'zipf 8 1000', "
            "'lognormal 8 1.2', each with the mean first; or a file of public rows.",
        ),
    ] = None,
    cells: Annotated[
        int | None, typer.Option(help="With it: how many cells are counted; all of the schema's, if left out.")
    ] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Say which loss to expect of each Option and of the maker, by budget, from public facts. No data are read.

    With --rows-per-person, say how many rows of a person to read instead.
    """
    load_with(with_)
    guess = None if rows_per_person is None else Path(rows_per_person)
    check_kept(plot, "--plot", {"the schema": schema, "the public rows": guess})
    from jostle.advice import PersonsAdvice, advise_rows_per_person
    from jostle.advice import advise as advice_on
    from jostle.advice.expected import EPSILONS, Advice

    epsilons = epsilon or EPSILONS
    advice: Advice | PersonsAdvice
    if rows_per_person is not None:
        _check_alone({"what": what, "--loss": loss, "--commonest": commonest}, "--rows-per-person")
        advice = advise_rows_per_person(rows_per_person, rows=rows, cells=cells, schema=schema, epsilons=epsilons)
    else:
        _check_alone({"--cells": cells}, "advice on losses")
        if schema is None:
            raise ChoiceError("there is no schema", why="losses are said by public facts", fix="--schema FILE.toml")
        advice = advice_on(what, schema=schema, rows=rows, epsilons=epsilons, loss=loss, commonest=commonest)
    if plot is not None:
        advice.plot(plot)
    if json_:
        say_json(advice.as_data())
        return
    echo_lines(str(advice))
    if plot is not None:
        echo(f"drawn in {plot}")


def _check_alone(given: Mapping[str, object], asked: str) -> None:
    """Refuse what is given and says nothing for what is asked."""
    if name := next((name for name, value in given.items() if value is not None), None):
        raise ChoiceError(f"{name} does not go with {asked}", fix=f"leave {name} out")
