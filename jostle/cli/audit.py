"""`jostle audit`: evidence that a mechanism gives away more than it claims."""

from __future__ import annotations

from typing import Annotated

import typer

from jostle.cli.saying import MISTAKE, Json, With, headline, load_with, say_json, table, with_progress

__all__ = ["audit"]


def audit(
    name: Annotated[
        str | None, typer.Argument(help="An Option, a mechanism or a positive control; all if left out.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Run at this epsilon.")] = None,
    samples: Annotated[int | None, typer.Option(help="Runs on each of two neighbours.")] = None,
    with_: With = None,
    json_: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Look for evidence that a mechanism gives away more than it claims, over neighbouring inputs made to show it."""
    load_with(with_)
    from jostle.audit import audit as audit_one  # noqa: PLC0415
    from jostle.audit import audit_all, names, show_epsilon  # noqa: PLC0415
    from jostle.privacy.amounts import show_amount  # noqa: PLC0415

    if name:
        findings = [audit_one(name, epsilon, samples=samples)]
    else:
        every = with_progress(audit_all(samples=samples), total=len(names()), about="auditing")
        findings = list(every)
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
