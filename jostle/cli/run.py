"""`jostle run`, a program; `jostle trace`, what a run did."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, With, check_kept, echo, echo_lines, failure, load_with, print_page, say_json, show
from jostle.errors import ChoiceError, JostleError
from jostle.files.kinds import writing
from jostle.interrupts import interrupts_ignored

if TYPE_CHECKING:
    from jostle.lang.running import Outcome
    from jostle.tables.queries import OwnQuery

NO_POLICY = "none"
PAGE_ENDINGS = {".html", ".htm"}
MOST_SHOWN = 24
"""Records of the trace that are shown."""


NoVault = Annotated[bool, typer.Option("--no-vault", help="Remember nothing: each run is a promise of its own.")]
SecondPromise = Annotated[
    str | None,
    typer.Option(
        "--a-second-promise",
        metavar="REASON",
        help="Why the people in the data are promised something again, beside what another vault keeps.",
    ),
]


def run(
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    entry: Annotated[
        str | None, typer.Option(help="The function, Option or choice maker to run; the last free one if left out.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Private rows, .csv or .parquet, a private grid of counts, .npy, or a database: "
            "postgresql://HOST/NAME, sqlite:///FILE, duckdb:///FILE."
        ),
    ] = None,
    query: Annotated[str | None, typer.Option(help="What is asked of the database: a SELECT of yours.")] = None,
    each_of_one: Annotated[
        bool,
        typer.Option(
            "--each-of-one",
            help="Your word on a query that joins or aggregates: each row of its result is made of one person's data, "
            "and a person has no more of them than rows_per_person; without persons, one row makes one.",
        ),
    ] = False,
    schema: Annotated[Path | None, typer.Option(help="The public facts about the rows, .toml.")] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that says whose each row is; as the schema says.")
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(help="The most rows of a person that are read; as the schema says, or 16.")
    ] = None,
    people: Annotated[str | None, typer.Option(help="The population they are of; as the schema says.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The promise: 1, 0.1, 1/3.")] = None,
    vault: Annotated[
        Path | None,
        typer.Option(help="The file that remembers what is spent; if left out, FILE.vault beside the data."),
    ] = None,
    no_vault: NoVault = False,
    second_promise: SecondPromise = None,
    public: Annotated[
        list[Path] | None,
        typer.Option(help="A folder, or a file, that the program may read as public; may be given several times."),
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Write the trace to this file, JSON lines.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answer to this file.")] = None,
    page: Annotated[
        Path | None, typer.Option("--report", help="Write a web page about the run to this file, answer and trace.")
    ] = None,
    force: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=ALTERNATIVE", help="Take this wherever the label chooses.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Follow the policies in this file instead of what was learned; none for no policy."),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Rehearse on a few public databases first, for what has not learned yet.")
    ] = False,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Run a program: on private data within a promise, or, without --data, on a public example as a rehearsal.

    What is spent of the promise is remembered in a vault beside the data, FILE.vault, unless another is named; where
    there is one, another takes --a-second-promise.
    """
    load_with(with_)
    from jostle.lang.running import run_program
    from jostle.progress import stage

    said: list[str] = []
    forced = dict(map(_forced, force or []))
    private = _private_data(data, query, each_of_one=each_of_one)
    file = private if isinstance(private, Path | None) else private.file
    if private is not None and file is None and vault is None and not no_vault:
        raise ChoiceError(
            "nobody said where what is spent is remembered",
            why="no vault can lie beside a database that is no file",
            fix="--vault FILE, or --no-vault",
        )
    kept = vault_of(file, vault, no_vault=no_vault)
    named = {"the program": program, "the private data": file, "the schema": schema, "the vault": kept}
    if trace is not None:
        check_kept(trace, "--trace", named)
    named |= {"the trace": trace, "the policies": None if policy is None else Path(policy)}
    if out is not None:
        _check_ending(out)
        _check_place(out, "--out", named)
    if page is not None:
        _check_page(page)
        _check_place(page, "--report", {**named, "the answer": out})
    with stage(program.name), _followed(policy):
        done = run_program(
            program,
            entry=entry,
            data=private,
            schema=schema,
            persons={"person": person, "rows_per_person": rows_per_person, "people": people},
            epsilon=epsilon,
            vault=kept,
            second_promise=second_promise,
            public=public or (),
            trace=trace,
            out=out,
            say=said.append if json_ else echo_lines,
            tell=_tell_owner,
            forced=forced,
            train=train,
        )
    with interrupts_ignored():  # it was paid for: from here on, it is to be shown
        _warn_of_choices(program, done, forced)
        problem = done.problem
        if problem is None and out is not None:
            problem = _not_written(done.answer, out)
        if page is not None:
            problem = _not_reported(done, page) or problem
        written = None if out is None or problem is not None else str(out)
        if json_:
            _show_json({**done.as_data(), "printed": said, "out": written}, problem)
        else:
            _show_text(done, written, problem)
    if problem is not None:
        raise problem


def _private_data(data: str | None, query: str | None, *, each_of_one: bool) -> Path | OwnQuery | None:
    """The file, or the query of a database, that the command line names."""
    from jostle.tables.databases import is_database
    from jostle.tables.queries import OwnQuery

    if is_database(data) and data is not None:
        if query is None:
            raise ChoiceError("nothing is asked of the database", fix='--query "select age, ward from visits"')
        return OwnQuery(data, query, each_of_one)
    if query is not None:
        raise ChoiceError("--query is asked of a database", fix="--data postgresql://HOST/NAME, or leave --query out")
    return None if data is None else Path(data)


def vault_of(data: Path | None, vault: Path | None, *, no_vault: bool) -> Path | None:
    """The file that remembers what is spent: the one that is named, or the one beside the data."""
    if vault is not None and no_vault:
        raise ChoiceError("--vault and --no-vault contradict each other", fix="leave one of them out")
    if data is None or vault is not None or no_vault:
        return vault
    from jostle.tables.origins import known_vault, vault_beside

    beside = known_vault(data) or vault_beside(data)
    if beside.parent.is_dir() and not os.access(beside if beside.exists() else beside.parent, os.W_OK):
        raise ChoiceError(
            f"no vault can be written beside {data}",
            why="what is spent is remembered there, or it could be spent again",
            fix="--vault FILE, where it may be written, or --no-vault",
        )
    return beside


def _not_written(answer: Any, out: Path) -> JostleError | None:
    """Write an answer to a file, and return why that cannot be, if it cannot."""
    from jostle.lang.running import write_answer

    try:
        write_answer(answer, out)
    except JostleError as mistake:
        why = "the answer was paid for, and is printed instead, whole"
        return JostleError(mistake.title, why=why, fix=mistake.fix)
    return None


def _not_reported(done: Outcome, page: Path) -> JostleError | None:
    """Write a page about a run, and return why that cannot be, if it cannot."""
    from jostle.lang.running import as_markup
    from jostle.markup import pre
    from jostle.trace.page import whole_page

    answer = pre(done.as_text()) if done.problem is not None else as_markup(done.answer)
    text = whole_page(done.records, title=f"{Path(done.program).name}: {done.entry}", answer=answer)
    try:
        with writing(page, JostleError):
            page.write_text(text, encoding="utf-8")
    except JostleError as mistake:
        why = "what was answered is printed, and --trace keeps the trace"
        return JostleError(mistake.title, why=why, fix=mistake.fix)
    return None


def _show_json(facts: dict[str, Any], problem: BaseException | None) -> None:
    """Print what a run gave as one object, what went wrong included, and end if something did."""
    if problem is None:
        say_json(facts)
        return
    told, status = failure(problem)
    say_json({**facts, **told, "status": status})
    if status is not None:
        raise SystemExit(status)


def _show_text(done: Outcome, written: str | None, problem: BaseException | None) -> None:
    """Print what a run gave for people; what could not be written is printed whole."""
    echo_lines(done.as_text())
    if done.records:
        _show_trace(done.records)
    if done.spending is not None:
        echo(done.spending.as_text())
    if problem is not None and done.problem is None:
        say_json(done.as_data()["answer"], indent=None)
    if written is not None:
        echo(f"written to {written}")


def _tell_owner(note: str) -> None:
    """Say what hangs on rows, and has no noise, where the program's answer does not go."""
    echo(f"note, for the owner of the data alone: {note}", err=True)


def _check_ending(out: Path) -> None:
    """Refuse an ending that no answer is written to, before it is paid for."""
    from jostle.lang.running import ENDINGS

    if out.suffix.lower() not in ENDINGS:
        raise ChoiceError(
            f"nothing is written to a file {out.suffix}",
            why="the ending says what the answer is written as",
            fix=f"--out a file that ends in {', '.join(each for each in ENDINGS if each)}",
        )


def _check_page(page: Path) -> None:
    """Refuse an ending that says that a web page is something else."""
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise ChoiceError(
            f"a report is not written to a file {page.suffix}", why="it is a web page", fix="--report run.html"
        )


def _check_place(out: Path, option: str, named: Mapping[str, Path | None]) -> None:
    """Refuse a place where nothing can be written, or where what the command goes by is, before it is paid for."""
    check_kept(out, option, named)
    if out.is_dir() or not out.parent.is_dir():
        why = "it is a folder" if out.is_dir() else f"there is no folder {out.parent}"
    elif not os.access(out if out.exists() else out.parent, os.W_OK):
        why = "it may not be written to"
    else:
        return
    raise ChoiceError(f"cannot write {out}", why=why, fix=f"{option} a file in a folder that there is")


def _followed(policy: str | None) -> AbstractContextManager[Any]:
    """A context in which labelled choices are made by the policies that the command line names."""
    if policy is None:
        return nullcontext()
    from jostle.learned.policies import nothing_learned, read_policies
    from jostle.sites import follow

    if policy == NO_POLICY:
        return nothing_learned()

    return follow(read_policies(Path(policy)))


def _forced(text: str) -> tuple[str, str]:
    label, sign, alternative = (part.strip() for part in text.partition("="))
    if not (label and sign and alternative):
        raise ChoiceError(f"{text!r} forces nothing", fix="--force L1=stop")
    return label, alternative


def _warn_of_choices(program: Path, done: Outcome, forced: Mapping[str, str]) -> None:
    """Say which choices were not made as they were learned, and which were forced but never made."""
    from jostle.learned.policies import CHANGED, UNUSABLE
    from jostle.trace.records import Chosen

    made: dict[str, set[str]] = {}
    for record in done.records:
        if isinstance(record, Chosen):
            made.setdefault(record.why, set()).add(record.label)
    anew = f"jostle train {program} --entry {done.entry} learns them anew"
    for why in sorted(made):
        if why == CHANGED or why.startswith(UNUSABLE):
            reason = f"{program} has changed since its choices were learned" if why == CHANGED else why[len(UNUSABLE) :]
            echo(f"warning: {', '.join(sorted(made[why]))} took the first alternative: {reason}; {anew}", err=True)
    # Without a database nothing is recorded.
    unmet = sorted(set(forced).difference(*made.values())) if done.epsilon is not None else []
    if unmet:
        echo(f"warning: {', '.join(unmet)} is forced, but no such choice was made in this run", err=True)


def _show_trace(records: Any) -> None:
    from jostle.trace.render import render_trace

    show(render_trace(records[:MOST_SHOWN]))
    if len(records) > MOST_SHOWN:
        echo(f"... and {len(records) - MOST_SHOWN:,} more records; --trace FILE keeps all of them")


traces = typer.Typer(help="What a run did.", no_args_is_help=True, add_completion=False)


@traces.command("show")
def show_trace(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    html: Annotated[bool, typer.Option("--html", help="Print a web page, which needs nothing beside itself.")] = False,
    json_: Json = False,
) -> None:
    """Show a trace as a table for people, or as a web page."""
    if html and json_:
        raise ChoiceError("--html and --json contradict each other", fix="leave one of them out")
    if html:
        from jostle.trace.page import whole_page
        from jostle.trace.records import read_trace

        print_page(whole_page(read_trace(file), title=f"Trace {file.name}"))
        return
    if json_:
        trace_as_json(file)
        return
    from jostle.trace.records import read_trace
    from jostle.trace.render import render_trace

    show(render_trace(read_trace(file)))


@traces.command("json")
def trace_as_json(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    json_: Json = True,  # noqa: ARG001 - a flag that every command has
) -> None:
    """Print a trace as one JSON array."""
    from jostle.trace.records import read_trace, to_json

    say_json([json.loads(to_json(record)) for record in read_trace(file)])


@traces.command("why")
def explain_choices(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    json_: Json = False,
) -> None:
    """Say of each choice in a trace what was seen, what was expected of each alternative, and why one was taken."""
    from jostle.trace.records import read_trace
    from jostle.trace.render import explanations

    explained = explanations(read_trace(file))
    if json_:
        say_json([choice.as_data() for choice in explained])
    elif not explained:
        echo("nothing was chosen in this run")
    else:
        echo_lines("\n\n".join(choice.as_text() for choice in explained))
