"""Texts as parts of a web page or a picture: nothing in them is taken for markup, and nothing steers what is shown.

Sites, labels, columns and names come from whoever wrote a program, and a page with what they wrote is opened by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from jostle.visible import visible, visible_lines

__all__ = ["fact_table", "in_picture", "pre", "words"]


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


def fact_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    first = "".join(f"<th>{words(cell)}</th>" for cell in head)
    rest = "".join("<tr>" + "".join(f"<td>{words(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody></table>"
