"""What mkdocs does to docstrings: examples become blocks of code, and fields are shown without what attrs is told."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Extension, Object

__all__ = ["Readable"]


class Readable(Extension):
    """Docstrings as the site shows them."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Make examples blocks of code: Markdown takes `>>>` for a quotation in a quotation in a quotation."""
        if obj.docstring is not None:
            parts = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(
                f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in parts
            )

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Leave out how attrs is told of a field."""
        if str(attr.value).startswith("field("):
            attr.value = None
