"""What goes wrong, as sentences with a way out."""

from __future__ import annotations

__all__ = [
    "AuditError",
    "BudgetError",
    "EventError",
    "JostleError",
    "NoiseError",
    "OptionError",
    "ProbeError",
    "SchemaError",
    "TableError",
    "VaultError",
]


class JostleError(Exception):
    """A mistake or a refusal: what is wrong, the rule behind it, something to do about it.

    No message ever holds a value computed from private rows.
    """

    def __init__(self, title: str, *, why: str | None = None, fix: str | None = None) -> None:
        super().__init__(title, why, fix)
        self.title = title
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.title]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.title, self.why, self.fix)


def _rebuild(kind: type[JostleError], title: str, why: str | None, fix: str | None) -> JostleError:
    return kind(title, why=why, fix=fix)


class SchemaError(JostleError, ValueError):
    """The public facts about a table contradict themselves, or are asked of a private one."""


class TableError(JostleError, ValueError):
    """A table cannot be read, or does not have the columns its schema names."""


class NoiseError(JostleError, ValueError):
    """A sampler was asked for something it cannot draw exactly."""


class EventError(JostleError, TypeError):
    """A privacy event of unknown kind: it is refused, never guessed."""


class BudgetError(JostleError, ValueError):
    """More budget was asked for than is left."""


class OptionError(JostleError, ValueError):
    """An Option is unknown, cannot run here, or did not keep to what it declared."""


class ProbeError(JostleError, RuntimeError):
    """A private table could not answer, or was asked for what it does not give."""


class VaultError(JostleError, OSError):
    """The file that remembers what was spent cannot be used."""


class AuditError(JostleError, ValueError):
    """The auditor does not know what it is asked to audit."""
