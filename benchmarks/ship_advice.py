"""Make what comes with Jostle for `jostle advise`: jostle/learned/shipped/advice.json, from the shipped rehearsals.

python benchmarks/ship_advice.py
"""

from __future__ import annotations

import sys

from fitted_bands import expectations, write_expectations

from jostle.choice.makers.shipped import ADVISED


def main() -> int:
    """Write the file."""
    write_expectations({name: expectations(name) for name in ADVISED})
    return 0


if __name__ == "__main__":
    sys.exit(main())
