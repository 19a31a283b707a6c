"""Options: the algorithms a choice is made between."""

from jostle.options.base import Option, get, names, option, options_for

__all__ = ["Option", "get", "names", "option", "options_for"]
