"""Options: the algorithms a choice is made between."""
