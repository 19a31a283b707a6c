"""Choice as an operation: `choose` asks, and whoever stands around the program answers.

A choice is a message: where it is made, what among, what is seen there. It goes through a stack of handlers, the
innermost first, and the first that has an answer gives it. So one program can be run as it is, run with its choices
forced, recorded, replayed, explored, or priced, without a line of it changed.

What a choice sees decides what is done next, which shows in the output. So it must be public or released: in Python it
is, since an Option holds no rows, but a probe whose answers are released; an expression over private rows is no number
yet, and is refused as one.
"""

from jostle.sites.handlers import (
    Always,
    Explore,
    Follow,
    Force,
    Priced,
    Record,
    Replay,
    explore,
    follow,
    force,
    price,
    record,
    replay,
)
from jostle.sites.stack import Choice, Decision, Handler, Policy, Taken, choices_noted, choose, choose_each, is_running

__all__ = [
    "Always",
    "Choice",
    "Decision",
    "Explore",
    "Follow",
    "Force",
    "Handler",
    "Policy",
    "Priced",
    "Record",
    "Replay",
    "Taken",
    "choices_noted",
    "choose",
    "choose_each",
    "explore",
    "follow",
    "force",
    "is_running",
    "price",
    "record",
    "replay",
]
