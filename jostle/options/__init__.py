"""Options: the algorithms a choice is made between."""

from jostle.options.base import Option, built_in, get, names, option, options_for

__all__ = ["Option", "built_in", "get", "names", "option", "options_for"]
