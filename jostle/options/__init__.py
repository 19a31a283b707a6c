"""Options: the algorithms a choice is made between."""

from jostle.options.base import Option, option
from jostle.options.registry import built_in, get, names, options_for

__all__ = ["Option", "built_in", "get", "names", "option", "options_for"]
