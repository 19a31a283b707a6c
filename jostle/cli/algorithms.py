"""The algorithms: `jostle options` lists them, `audit` looks for broken claims, `reproduce` draws papers' figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import MISTAKE, Json, With, check_kept, echo, headline, load_with, say_json, table
from jostle.errors import AuditError, JostleError, said_by
from jostle.privacy.amounts import show_amount

if TYPE_CHECKING:
    from jostle.options.base import Option


def options(
    task: Annotated[str | None, typer.Option(help="Only Options of this task.")] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """List the algorithms that can be chosen between."""
    load_with(with_)
    from jostle import options as catalogue

    listed = [catalogue.get(name) for name in catalogue.names(task)]
    if json_:
        facts = [(option.name, option.task.name, option.version, option.paper, option.holds) for option in listed]
        say_json([dict(zip(("name", "task", "version", "paper", "holds"), fact, strict=True)) for fact in facts])
        return
    rows = [(option.name, option.task.name, _said(option)) for option in listed]
    headline("Options")
    table(("name", "task", "what it does"), rows)


def _said(option: Option[Any]) -> str:
    """What it does, and that it does not run in little memory on rows that are streamed, where that is so."""
    does = (type(option).__doc__ or "").strip().partition("\n")[0]
    return f"{does} Streamed or not, memory holds {option.holds}." if option.holds else does


def audit(
    name: Annotated[
        str | None,
        typer.Argument(
            help="An Option, a mechanism or a control, or one of your own, my_options.py:Name; all if left out."
        ),
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Run at this epsilon.")] = None,
    samples: Annotated[int | None, typer.Option(help="Runs on each of two neighbours.")] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Look for evidence that a mechanism gives away more than it claims, over neighbouring inputs made to show it."""
    load_with(with_)
    if name and ".py:" in name:
        name = _in_file(name)
    from jostle.audit import audit as audit_one
    from jostle.audit import audit_all, names, show_epsilon
    from jostle.progress import stage

    if name:
        with _told_of_own(name):
            findings = [audit_one(name, epsilon, samples=samples)]
    else:
        findings, count = [], len(names())
        with stage("auditing") as said:
            for finding in audit_all(samples=samples):
                findings.append(finding)
                said.at(len(findings), count)
    if json_:
        say_json([finding.as_data() for finding in findings])
    else:
        headline("lower bounds hold with 99.9% confidence, or exactly where outputs were enumerated")
        table(
            ("mechanism", "claimed", "shown at least", "how", "verdict"),
            [
                (
                    finding.name,
                    show_amount(finding.claimed),
                    show_epsilon(finding.bound.epsilon),
                    finding.bound.method,
                    finding.verdict,
                )
                for finding in findings
            ],
        )
    if not all(finding.as_expected for finding in findings):
        raise SystemExit(MISTAKE)


@contextmanager
def _told_of_own(name: str) -> Iterator[None]:
    """Say in a sentence what somebody's own Option failed with."""
    from jostle.options.base import own

    try:
        yield
    except JostleError:
        raise
    except Exception as failure:
        if name not in own():
            raise
        raise AuditError(
            f"{name} fails: {said_by(failure)}",
            why="it is asked of small tables made for the purpose: of one row and of none, of few columns",
            fix="let it answer, or refuse a table with jostle.errors.OptionError",
        ) from None


def _in_file(named: str) -> str:
    """The name that the auditor knows an Option or a Subject in a file by; the file is run."""
    from jostle.audit import Subject
    from jostle.options.base import Option, own
    from jostle.options.registry import ran

    path, _, inside = named.rpartition(":")
    if not Path(path).is_file():
        raise AuditError(f"there is no file {path}", fix="my_options.py:Name")
    defined = ran(Path(path), Path(path).stem)
    held = defined.get(inside)
    if isinstance(held, Subject):
        return str(held.name)
    name = held.name if isinstance(held, Option) else inside
    if name in own():
        return str(name)
    auditable = [called for called, value in defined.items() if isinstance(value, Subject) or value in own().values()]
    raise AuditError(
        f"{path} has no Option and no Subject {inside!r} to audit",
        why="an Option is registered with @jostle.option, and a mechanism with jostle.audit.register(Subject(...))",
        fix=f"{path}:{auditable[0]}" if auditable else "@jostle.option, on the line above its class or function",
    )


def reproduce(
    figure: Annotated[str | None, typer.Argument(help="Which figure; all are listed if left out.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder of public tables, or a file of points; what comes with packages else.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to draw into; FIGURE.png here if left out.")] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Random splits, or folds, of each table; left out, as in the paper, or as many as take a few minutes.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Draw a paper's figure again with the algorithms here, on public data, without network; or list the figures."""
    from jostle.figures.listing import FIGURES, figure_named

    if figure is None:
        listed = [(each.name, each.paper, each.about, each.data) for each in FIGURES]
        if json_:
            say_json([dict(zip(("name", "paper", "about", "data"), each, strict=True)) for each in listed])
            return
        headline("Figures")
        table(("name", "of", "what it shows", "made of"), listed)
        return
    wanted = figure_named(figure)
    target = out if out is not None else Path(f"{wanted.name}.png")
    check_kept(target, "--out", {"the data": data})
    made = wanted.make(data, target, trials)
    if json_:
        say_json({"figure": wanted.name, "out": str(made.path), "seconds": made.seconds, "said": made.said})
        return
    for said in made.said:
        echo(said)
    echo(f"wrote {made.path} in {made.seconds:.1f} s")
