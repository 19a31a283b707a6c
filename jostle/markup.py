"""Texts as parts of a web page or a picture: nothing in them is taken for markup, and nothing steers what is shown.

Sites, labels, columns and names come from whoever wrote a program, and a page with what they wrote is opened by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from jostle.visible import visible, visible_lines


def words(text: str) -> str:
    """A text on one line, for a page.

    >>> words('<b> "a" & b')
    '&lt;b&gt; &quot;a&quot; &amp; b'
    """
    return escape(visible(text), quote=True)


def in_picture(text: str) -> str:
    r"""A text on one line, for a figure of matplotlib, which takes what stands between dollar signs for a formula.

    >>> print(in_picture("$x$"))
    \$x\$
    """
    return visible(text).replace("$", r"\$")


def pre(text: str) -> str:
    """A text of several lines as it stands."""
    return f"<pre>{escape(visible_lines(text), quote=True)}</pre>"


def document(title: str, body: str, *, style: str, policy: str = "") -> str:
    """A page without scripts, with nothing to be fetched; *policy* is what else of it browsers let pass."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'"
        f'{policy}"><title>{words(title)}</title><style>{style}</style></head>'
        f'<body><main class="jostle"><h1>{words(title)}</h1>{body}</main></body></html>\n'
    )


def fact_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    first = "".join(f"<th>{words(cell)}</th>" for cell in head)
    rest = "".join("<tr>" + "".join(f"<td>{words(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody></table>"


def bar_table(head: str, rows: Sequence[tuple[str, float]]) -> str:
    """A table of labels and numbers, with a bar as long as the number: nothing of it hangs on a screen's colours."""
    most = max((count for _, count in rows), default=0) or 1
    bars = (
        f"<tr><td>{words(label)}</td>{_right(count)}"
        f'<td style="min-width:8rem;text-align:left"><div style="background:#5b84ab;height:.8em;'
        f'width:{max(0, count) / most:.1%}"></div></td></tr>'
        for label, count in rows
    )
    first = f"<th>{words(head)}</th><th></th><th></th>"
    return f"<table><thead><tr>{first}</tr></thead><tbody>{''.join(bars)}</tbody></table>"


def shaded_table(head: str, down: Sequence[str], across: Sequence[str], rows: Sequence[Sequence[int]]) -> str:
    """A table of counts for each two labels: the more, the deeper the shade behind them."""
    most = max([1, *(count for row in rows for count in row)])
    first = "".join(f"<th>{words(label)}</th>" for label in across)
    lines = (
        f"<tr><td>{words(label)}</td>" + "".join(_right(count, max(0, count) / most) for count in row) + "</tr>"
        for label, row in zip(down, rows, strict=True)
    )
    return f"<table><thead><tr><th>{words(head)}</th>{first}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _right(count: float, shade: float = 0.0) -> str:
    shown = f"{count:,}" if isinstance(count, int) else f"{count:,.6g}"
    behind = f";background:rgba(91,132,171,{shade * 0.6:.2f})" if shade else ""
    return f'<td style="text-align:right{behind}">{shown}</td>'


def branch(asked: str, below: str) -> str:
    """A branch of a tree, which whoever reads a page can fold up: what it asks, and the markup of what is below it."""
    inside = "border-left:1px solid #8888;margin-left:.4rem;padding-left:.8rem"
    return f'<details open><summary>{words(asked)}</summary><div style="{inside}">{below}</div></details>'


def leaf(asked: str, said: str, share: float | None = None) -> str:
    """A leaf of a tree: the branch that leads there, what it says, and a bar for how sure it is."""
    length = 0.0 if share is None else min(max(share, 0.0), 1.0)
    bar = f'<div style="background:#5b84ab;height:.3em;width:{6 * length:.2f}rem"></div>' if length else ""
    return f"<div>{words(asked)}{': ' if asked else ''}<b>{words(said)}</b>{bar}</div>"
