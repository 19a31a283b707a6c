"""Commands about choosing: train, evaluate, and why a choice was made as it was."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from jostle.errors import ChoiceError

if TYPE_CHECKING:
    from jostle.choice.evaluate import Evaluation

__all__ = ["add_to"]

AMOUNT = re.compile(r"\d[\d.]*(e-?\d+)?(/\d+)?%?|\.\d+")
"""What is a further value of --epsilon rather than the next argument."""
INTERRUPTED = 130
Program = Annotated[
    str,
    typer.Argument(
        help='A .jst or .py file with a maker or labelled choices, or "classification", "ranges-1d", "ranges-2d".'
    ),
]
Entry = Annotated[str | None, typer.Option("--entry", help="The function or Option whose labelled choices are meant.")]
Maker = Annotated[str | None, typer.Option("--maker", help="Which maker, if the program has several.")]
Workers = Annotated[int | None, typer.Option(help="Processes; one per processor if left out.", min=1)]


def spread(words: Sequence[str], flag: str) -> list[str]:
    """Return a command's words, the flag repeated before each of several values that follow it.

    >>> spread(["p.jst", "--epsilon", "0.1", "1/3", "--trials", "2"], "--epsilon")
    ['p.jst', '--epsilon', '0.1', '--epsilon', '1/3', '--trials', '2']
    """
    found: list[str] = []
    taking = False
    for place, word in enumerate(words):
        after_flag = place > 0 and words[place - 1] == flag
        taking = after_flag or (taking and AMOUNT.fullmatch(word) is not None)
        found += [flag, word] if taking and not after_flag else [word]
    return found


class SeveralEpsilons(TyperCommand):
    """A command whose --epsilon takes several values, after one flag or each after its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words."""
        return super().parse_args(ctx, spread(args, "--epsilon"))


def train(  # noqa: PLR0917 - a command's options
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
    aslib: Annotated[Path | None, typer.Option(help="Also write what was learned from as an ASlib scenario.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Learn which Option to choose, or what to choose inside an algorithm; the program then finds it learned.

    A choice maker learns from rehearsals of its Options on public databases. The labelled choices inside a function or
    an Option, --entry, are learned from running it whole. What is run is written down at once, so the same command goes
    on after an interruption.
    """
    place: Path | None = None

    def kept_in(path: Path | None) -> None:
        nonlocal place
        place = path

    try:
        from jostle.choice.maker import ChoiceMaker  # noqa: PLC0415 - commands load what they need
        from jostle.choice.programs import load_trainable  # noqa: PLC0415

        wanted = load_trainable(program, maker, entry)
        done: Any
        if isinstance(wanted, ChoiceMaker):
            from jostle.choice.train import train_maker  # noqa: PLC0415

            _refuse("choice makers", {"--epsilon": epsilon})
            done = train_maker(
                wanted,
                corpus=corpus,
                engine=engine,
                history=history,
                workers=workers,
                repeats=repeats,
                aslib=aslib,
                kept_in=kept_in,
            )
            if out is not None:
                done.trained.save(out)
        else:
            from jostle.choice.train_policies import EPSILONS, RUNS, train_policies  # noqa: PLC0415

            _refuse("labelled choices", {"--history": history, "--aslib": aslib})
            done = train_policies(
                wanted,
                corpus=corpus,
                epsilons=epsilon or EPSILONS,
                engine=engine,
                workers=workers,
                runs=repeats or RUNS,
                out=out,
                kept_in=kept_in,
            )
    except KeyboardInterrupt:
        kept = "nothing was rehearsed yet" if place is None else f"what was rehearsed is kept in {place}"
        typer.echo(f"stopped: {kept}, and the same command goes on from there", err=True)
        raise SystemExit(INTERRUPTED) from None
    if json_:
        typer.echo(json.dumps({**done.as_data(), "out": None if out is None else str(out)}, indent=2))
        return
    typer.echo(done.as_text())
    if out is not None:
        typer.echo(f"written to {out}")


def _refuse(what: str, given: dict[str, Any]) -> None:
    """Refuse options that are for the other kind of training."""
    for name, value in given.items():
        if value:
            raise ChoiceError(f"{name} is not for {what}", fix=f"leave {name} out")


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
    json_: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write JSON to this file; - prints it.")
    ] = None,
) -> None:
    """Measure how well a maker chooses on databases it was not trained on, everything it spends being charged.

    Of a function or an Option with labelled choices, --entry, say what each label is worth: the loss of what was
    learned against that of each alternative taken everywhere.
    """
    from jostle.choice.evaluate import evaluate as evaluate_maker  # noqa: PLC0415
    from jostle.choice.folders import public  # noqa: PLC0415
    from jostle.choice.maker import ChoiceMaker  # noqa: PLC0415
    from jostle.choice.programs import load_trainable  # noqa: PLC0415
    from jostle.choice.progress import shown_progress  # noqa: PLC0415

    chosen, corpus, shown = load_trainable(program, maker, entry), public(databases), shown_progress()
    if not isinstance(chosen, ChoiceMaker):
        _evaluate_labels(chosen, corpus, epsilon, trials, workers, json_)
        return
    _ = chosen.trained  # what it has to learn first has a progress of its own
    try:
        with shown.stage("evaluating", None) as said:
            found = evaluate_maker(chosen, corpus, epsilon, trials=trials, workers=workers, progress=said.at)
    except KeyboardInterrupt:
        typer.echo("stopped: an evaluation keeps nothing of its trials", err=True)
        raise SystemExit(INTERRUPTED) from None
    for problem in found.problems:
        typer.echo(f"warning: {problem}", err=True)
    if found.seen_before:
        typer.echo(
            f"warning: the maker was trained on {len(found.seen_before)} of these databases, where its figures say "
            f"little: {_some(found.seen_before)}",
            err=True,
        )
    if json_ is None:
        _print_evaluation(found)
        return
    _write_json({"program": program, **found.as_data()}, json_, _headline(found))


def _evaluate_labels(  # noqa: PLR0917 - a command's options
    entry: Any, corpus: Any, epsilon: list[str], trials: int, workers: int | None, json_: str | None
) -> None:
    from jostle.choice.train_policies import evaluate_policies  # noqa: PLC0415

    try:
        found = evaluate_policies(entry, corpus, epsilon, trials=trials, workers=workers)
    except KeyboardInterrupt:
        typer.echo("stopped: an evaluation keeps nothing of its trials", err=True)
        raise SystemExit(INTERRUPTED) from None
    if json_ is None:
        typer.echo(found.as_text())
        return
    _write_json({"program": entry.program, **found.as_data()}, json_, f"{entry.name}: {len(found.worths)} labels")


def _write_json(facts: dict[str, Any], place: str, headline: str) -> None:
    text = json.dumps(facts, indent=2)
    if place == "-":
        typer.echo(text)
        return
    try:
        Path(place).write_text(text + "\n", encoding="utf-8")
    except OSError as mistake:
        raise ChoiceError(f"cannot write {place}: {mistake.strerror}", fix="--json - prints it") from None
    typer.echo(f"{headline}\nwritten to {place}")


def why(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Say of each choice in a trace what was seen, what was expected of each alternative, and why one was taken."""
    from jostle.trace.records import read_trace  # noqa: PLC0415
    from jostle.trace.why import explanations  # noqa: PLC0415

    found = explanations(read_trace(file))
    if json_:
        typer.echo(json.dumps([each.as_data() for each in found], indent=2))
    elif not found:
        typer.echo("nothing was chosen in this run")
    else:
        typer.echo("\n\n".join(each.as_text() for each in found))


def _some(names: Sequence[str], most: int = 5) -> str:
    more = "" if len(names) <= most else f" and {len(names) - most} more"
    return ", ".join(names[:most]) + more


def _headline(found: Evaluation) -> str:
    figures = found.figures
    gap = "there is no gap to hindsight" if math.isnan(figures.gap_closed) else f"{figures.gap_closed:.0%}"
    return (
        f"regret: mean {figures.regret_mean:.3f}, 95th percentile {figures.regret_p95:.3f}, most "
        f"{figures.regret_max:.3f}; gap closed: {gap}; worse than {found.single_best} by more than 2%: "
        f"{figures.worse_share:.0%} of {figures.cells} cells"
    )


def _print_evaluation(found: Evaluation) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("database", "epsilon"):
        table.add_column(column, overflow="fold")
    for column in ("maker", "hindsight", "single best", "regret"):
        table.add_column(column, justify="right")
    table.add_column("chosen", overflow="fold")
    for cell in found.cells:
        chosen = ", ".join(f"{name} {count}" for name, count in sorted(cell.chosen.items(), key=lambda each: -each[1]))
        numbers = (f"{number:.4g}" for number in (cell.loss, cell.hindsight, cell.single))
        # As Text: a name in square brackets would be taken for a style.
        row = (cell.database, f"{float(cell.epsilon):g}", *numbers, f"{cell.regret:.3f}", chosen)
        table.add_row(*map(Text, row))
    console = Console()
    console.print(table)
    console.print(Text(_headline(found), style="bold"), soft_wrap=True)


def add_to(app: typer.Typer, trace_app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(cls=SeveralEpsilons)(train)
    app.command(cls=SeveralEpsilons)(evaluate)
    trace_app.command("why")(why)
