"""`jostle run`: run a program."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import MISTAKE, Json, With, echo, echo_lines, load_with, say_json, show
from jostle.errors import ChoiceError, JostleError

if TYPE_CHECKING:
    from jostle.lang.running import Outcome

__all__ = ["run"]

NO_POLICY = "none"
MOST_SHOWN = 24
"""Records of the trace that are shown."""


def run(  # noqa: PLR0917 - a command's options
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    entry: Annotated[
        str | None, typer.Option(help="The function, Option or choice maker to run; the last free one if left out.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Private rows, .csv or .parquet, or a private grid of counts, .npy.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="The public facts about the rows, .toml.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The promise: 1, 0.1, 1/3.")] = None,
    vault: Annotated[Path | None, typer.Option(help="The file that remembers what is spent.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write the trace to this file, JSON lines.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answer to this file.")] = None,
    force: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=ALTERNATIVE", help="Take this wherever the label chooses.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Follow the policies in this file instead of what was learned; none for no policy."),
    ] = None,
    with_: With = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Run a program: on private data within a promise, or, without --data, on a public example as a rehearsal."""
    load_with(with_)
    from jostle.lang.answers import write_answer  # noqa: PLC0415 - commands load what they need
    from jostle.lang.running import run_program  # noqa: PLC0415

    said: list[str] = []
    forced = dict(map(_forced, force or []))
    if out is not None:
        _check_place(out)
    with _followed(policy):
        done = run_program(
            program,
            entry=entry,
            data=data,
            schema=schema,
            epsilon=epsilon,
            vault=vault,
            trace=trace,
            say=said.append if json_ else echo_lines,
            tell=_tell_owner,
            forced=forced,
        )
    _warn_of_choices(program, done, forced)
    problem: JostleError | None = None
    try:
        if out is not None:
            write_answer(done.answer, out)
    except JostleError as mistake:
        problem = mistake
    if json_:
        written = None if out is None or problem is not None else str(out)
        facts = {**done.as_data(), "printed": said, "out": written}
        if problem is not None:
            facts["error"] = {"title": problem.title, "why": problem.why, "fix": problem.fix}
        say_json(facts)
        if problem is not None:
            raise SystemExit(MISTAKE)
        return
    echo_lines(done.as_text())
    if done.records:
        _show_trace(done.records)
    if problem is not None:
        # It was paid for: whatever becomes of the file, it is not lost.
        say_json(done.as_data()["answer"], indent=None)
        raise JostleError(problem.title, why="the answer was paid for, and is printed instead, whole", fix=problem.fix)
    if out is not None:
        echo(f"written to {out}")


def _tell_owner(note: str) -> None:
    """Say what hangs on rows, and has no noise, where the program's answer does not go."""
    echo(f"note, for the owner of the data alone: {note}", err=True)


def _check_place(out: Path) -> None:
    """Refuse a place for the answer where none can be, before it is paid for."""
    if out.is_dir() or not out.parent.is_dir():
        why = "it is a folder" if out.is_dir() else f"there is no folder {out.parent}"
        raise ChoiceError(f"cannot write {out}", why=why, fix="--out a file in a folder that there is")


def _followed(policy: str | None) -> AbstractContextManager[Any]:
    """Return what lets labelled choices be made by the policies that the command line names."""
    if policy is None:
        return nullcontext()
    from jostle.sites import follow, nothing_learned  # noqa: PLC0415 - most programs make no labelled choice

    if policy == NO_POLICY:
        return nothing_learned()
    from jostle.choice.policies.policy import read_policies  # noqa: PLC0415 - as above

    return follow(read_policies(Path(policy)))


def _forced(text: str) -> tuple[str, str]:
    label, sign, alternative = (part.strip() for part in text.partition("="))
    if not (label and sign and alternative):
        raise ChoiceError(f"{text!r} forces nothing", fix="--force L1=stop")
    return label, alternative


def _warn_of_choices(program: Path, done: Outcome, forced: Mapping[str, str]) -> None:
    """Say which choices were not made as they were learned, and which were forced but never made."""
    from jostle.sites import CHANGED, UNUSABLE  # noqa: PLC0415 - as above
    from jostle.trace.records import Chosen  # noqa: PLC0415

    made: dict[str, set[str]] = {}
    for each in done.records:
        if isinstance(each, Chosen):
            made.setdefault(each.why, set()).add(each.label)
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
    from jostle.trace.render import render_trace  # noqa: PLC0415

    show(render_trace(records[:MOST_SHOWN]))
    if len(records) > MOST_SHOWN:
        echo(f"... and {len(records) - MOST_SHOWN:,} more records; --trace FILE keeps all of them")
