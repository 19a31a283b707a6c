"""The command line."""

from jostle.cli.app import main

__all__ = ["main"]
