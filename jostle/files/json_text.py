"""Texts of JSON, refused where reading them would take the process down.

Python's reader calls itself for each list within a list, in C, and is stopped by the limit on calls in calls alone. A
program that raised this limit for calls of its own would run off the end of the stack. So the depth is looked at first.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate

from jostle.files.damage import DamageError

__all__ = ["MOST_DEPTH", "parsed"]

MOST_DEPTH = 50
"""Lists in lists; what Jostle writes has fewer than ten."""
STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
NO_BRACKET = re.compile(r"[^][{}]+")


def parsed(text: str) -> object:
    """The value that a text of JSON stands for; numbers that are none, which some writers write, are read as such."""
    if _depth(text) > MOST_DEPTH:
        raise DamageError("is nested too deep")
    try:
        return json.loads(text)
    except json.JSONDecodeError as mistake:
        raise DamageError(f"is not JSON: {mistake.msg}, line {mistake.lineno}, column {mistake.colno}") from None
    except ValueError:
        raise DamageError("holds a number of too many digits") from None


def _depth(text: str) -> int:
    """How deep brackets are nested, at most; of a text that is no JSON, perhaps more."""
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return 0
    brackets = NO_BRACKET.sub("", STRING.sub("", text))
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0)
