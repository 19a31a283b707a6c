"""Run `python -m jostle` like `jostle`."""

from jostle.cli import main

main()
