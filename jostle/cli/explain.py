"""`jostle explain`: a kind of mistake, with a wrong program and a right one."""

from __future__ import annotations

from typing import Annotated

import typer

from jostle.cli.saying import Json, echo_lines, say_json

app = typer.Typer(add_completion=False)


@app.command()
def explain(
    code: Annotated[str, typer.Argument(help="A code from a message, J201.")],
    json_: Json = False,
) -> None:
    """Explain a kind of mistake: the rule, a wrong program and a right one."""
    from jostle.lang.codes import explain as explain_code

    found = explain_code(code)
    if json_:
        say_json(found.as_data())
    else:
        echo_lines(found.as_text())
