"""What instances are called in histories where more than the database and its part tells one's losses from another's.

Losses by a programmer's own judge are another instance's; and so are losses of Options that knew something before they
bought anything, since it was bought before them.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import field, frozen

from jostle.errors import ChoiceError

__all__ = ["Beforehand", "apart", "judge_in", "judged_key"]

AFTER, JUDGED = " after ", " judged by "


@frozen
class Beforehand:
    """What was bought before an Option was run: what a metafeature buys, with a share of the budget."""

    metafeature: str
    version: str
    share: Fraction = field(converter=Fraction)

    def key(self, instance: str) -> str:
        """What an instance is called where Options knew this."""
        return f"{instance}{AFTER}{self.share} {self.version} {self.metafeature}"


def judged_key(instance: str, judge: str) -> str:
    """What an instance is called where a programmer's judge said how bad answers are."""
    return f"{instance}{JUDGED}{judge}"


def judge_in(key: str) -> str | None:
    """Name of the programmer's judge in an instance's key; None where the task's own judge."""
    _, marked, name = key.partition(JUDGED)
    return name if marked else None


def apart(key: str) -> tuple[str, Beforehand | None]:
    """An instance's key, and what was bought there before Options were run, if anything.

    >>> key = Beforehand("log_records", "ab12", "1/20").key("0f v1")
    >>> apart(key) == ("0f v1", Beforehand("log_records", "ab12", "1/20")), apart("0f v1")
    (True, ('0f v1', None))
    """
    named, judged, judge = key.partition(JUDGED)
    instance, found, said = named.partition(AFTER)
    if not found:
        return key, None
    share, _, look = said.partition(" ")
    version, _, metafeature = look.partition(" ")
    try:
        return instance + judged + judge, Beforehand(metafeature, version, Fraction(share))
    except (ValueError, ZeroDivisionError):
        raise ChoiceError("a history has an instance that was looked at with a share that is no number") from None
