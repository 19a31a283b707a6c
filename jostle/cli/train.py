"""`jostle train`: learn which Option to choose, or what to choose inside an algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import (
    INTERRUPTED,
    Entry,
    Json,
    Maker,
    Program,
    Public,
    SeveralEpsilons,
    With,
    Workers,
    check_kept,
    echo,
    echo_lines,
    load_with,
    say_json,
)

app = typer.Typer(add_completion=False)


@app.command(cls=SeveralEpsilons)
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
    place: Path | None = None

    def kept_in(path: Path | None) -> None:
        nonlocal place
        place = path

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
        kept = "nothing was rehearsed yet" if place is None else f"what was rehearsed is kept in {place}"
        echo(f"stopped: {kept}, and the same command goes on from there", err=True)
        raise SystemExit(INTERRUPTED) from None
    if json_:
        say_json({**done.as_data(), "out": None if out is None else str(out)})
        return
    echo_lines(done.as_text())
    if out is not None:
        echo(f"written to {out}")
