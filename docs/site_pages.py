"""What mkdocs does to pages: a block of code says above it which file it is, or that it is wrong."""

from __future__ import annotations

import re

from mkdocs.exceptions import PluginError

__all__ = ["on_page_content", "on_page_markdown"]

TITLED = re.compile(r"^```(\w+) (\S.*)$", re.MULTILINE)
"""A block whose first line says more than a language: `python my_options.py`, `jst wrong J202`."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with titles as Markdown's extension wants them, which else takes such a block for text."""
    return TITLED.sub(r'```\1 title="\2"', markdown)


def on_page_content(html: str, **_: object) -> str:
    """The page as it is; refuse one where a block of code was taken for text."""
    if "```" in html:
        raise PluginError(f"a block of code is taken for text: {html[html.index('```') :][:80]}")
    return html
