"""`jostle audit`: evidence that a mechanism gives away more than it claims."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import MISTAKE, Json, With, headline, load_with, say_json, table
from jostle.errors import AuditError, JostleError, said_by

app = typer.Typer(add_completion=False)


@app.command()
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
    from jostle.privacy.amounts import show_amount
    from jostle.progress import stage

    if name:
        with _told(name):
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
def _told(name: str) -> Iterator[None]:
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
    found = ran(Path(path), Path(path).stem)
    held = found.get(inside)
    if isinstance(held, Subject):
        return str(held.name)
    name = held.name if isinstance(held, Option) else inside
    if name in own():
        return str(name)
    known = [each for each, value in found.items() if isinstance(value, Subject) or value in own().values()]
    raise AuditError(
        f"{path} has no Option and no Subject {inside!r} to audit",
        why="an Option is registered with @jostle.option, and a mechanism with jostle.audit.register(Subject(...))",
        fix=f"{path}:{known[0]}" if known else "@jostle.option, on the line above its class or function",
    )
