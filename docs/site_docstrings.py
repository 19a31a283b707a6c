"""What mkdocs does to docstrings: examples become blocks of code, classes show how they are made, fields are short."""

from __future__ import annotations

import inspect
import pkgutil
from typing import Any

import attrs
from griffe import Attribute, Class, Extension, Function, Object, Parameter, ParameterKind, Parameters

__all__ = ["Readable"]

HANDED_OUT = {"Probe"}
"""Classes that nobody makes by a call, although they say what they raise."""
CALLED = ("Args:", "Raises:")


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

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Show what a class is called with, which attrs makes of its fields, where users call it; nowhere else."""
        said = "" if cls.docstring is None else cls.docstring.value
        cls.members.pop("__init__", None)
        if cls.name in HANDED_OUT or cls.name.startswith("_") or not any(word in said for word in CALLED):
            return
        signature = inspect.signature(pkgutil.resolve_name(cls.path))
        made = Function("__init__", parameters=Parameters(*map(_parameter, signature.parameters.values())))
        cls.set_member("__init__", made)


def _parameter(found: inspect.Parameter) -> Parameter:
    given = found.default
    default = None if given is found.empty else "..." if given is attrs.NOTHING else repr(given)
    kind = ParameterKind(found.kind.description)
    annotation = None if found.annotation is found.empty else str(found.annotation)
    return Parameter(found.name, annotation=annotation, kind=kind, default=default)
