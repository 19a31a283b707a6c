"""Commands about choosing: train, evaluate, and why a choice was made as it was."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
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
    str, typer.Argument(help='A .jst or .py file with a choice maker, or "classification", "ranges-1d", "ranges-2d".')
]
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
    corpus: Annotated[
        Path | None, typer.Option(help="A folder of public databases, instead of those the program names.")
    ] = None,
    engine: Annotated[str, typer.Option(help="processes, threads, or dask://HOST:PORT.")] = "processes",
    out: Annotated[Path | None, typer.Option(help="Also write the trained maker to this file.")] = None,
    history: Annotated[Path | None, typer.Option(help="Read rehearsals from this file, and add to it.")] = None,
    workers: Workers = None,
    repeats: Annotated[int | None, typer.Option(help="How often each Option runs at each budget.", min=2)] = None,
    maker: Maker = None,
    aslib: Annotated[Path | None, typer.Option(help="Also write what was learned from as an ASlib scenario.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Rehearse a program's Options on public databases, and learn which to choose; the program then finds it learned.

    What is rehearsed is written down at once, so the same command goes on after an interruption.
    """
    place: Path | None = None

    def kept_in(path: Path | None) -> None:
        nonlocal place
        place = path

    try:
        from jostle.choice.programs import load_maker  # noqa: PLC0415 - commands load what they need
        from jostle.choice.train import train_maker  # noqa: PLC0415

        done = train_maker(
            load_maker(program, maker),
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


def evaluate(  # noqa: PLR0917 - a command's options
    program: Program,
    databases: Annotated[
        Path, typer.Option(help="A folder of public databases: *.csv.gz with a last column label, or .npy grids.")
    ],
    epsilon: Annotated[list[str], typer.Option(help="Budgets: one or more after the flag.")],
    trials: Annotated[int, typer.Option(help="How often everything runs.", min=1)] = 5,
    workers: Workers = None,
    maker: Maker = None,
    json_: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write JSON to this file; - prints it.")
    ] = None,
) -> None:
    """Measure how well a maker chooses on databases it was not trained on, everything it spends being charged."""
    from jostle.choice.evaluate import evaluate as evaluate_maker  # noqa: PLC0415
    from jostle.choice.folders import public  # noqa: PLC0415
    from jostle.choice.programs import load_maker  # noqa: PLC0415
    from jostle.choice.progress import shown_progress  # noqa: PLC0415

    chosen, corpus, shown = load_maker(program, maker), public(databases), shown_progress()
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
    text = json.dumps({"program": program, **found.as_data()}, indent=2)
    if json_ == "-":
        typer.echo(text)
        return
    try:
        Path(json_).write_text(text + "\n", encoding="utf-8")
    except OSError as mistake:
        raise ChoiceError(f"cannot write {json_}: {mistake.strerror}", fix="--json - prints it") from None
    typer.echo(f"{_headline(found)}\nwritten to {json_}")


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
    add: Callable[..., Any] = app.command()
    add(train)
    app.command(cls=SeveralEpsilons)(evaluate)
    trace_app.command("why")(why)
