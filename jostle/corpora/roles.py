"""What the public databases that Jostle was made with were used for: nothing is judged by what it was tuned on.

On *tune* databases the constants inside Options were set, and models inside them fitted; from *learn* databases
makers learn which Option does best; by *judge* databases the figures are measured that are printed of both, and they
are used for nothing else. Databases that share people or a source have one role. They are known by their digests.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

from attrs import frozen

__all__ = ["BEGINNING", "KEPT", "Assigned", "Role", "known"]

Role = Literal["tune", "learn", "judge"]
KEPT = Path(__file__).with_name("roles.json")
BEGINNING = 8
"""Characters of a database's digest that files of what was learned remember it by."""


@frozen
class Assigned:
    """A public database that Jostle was made with."""

    name: str
    group: str
    role: Role


@cache
def known() -> dict[str, Assigned]:
    """Databases that have a role, by their digests."""
    found: dict[str, list[str]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return {digest: Assigned(name, group, _role(role)) for digest, (name, group, role) in found.items()}


def _role(role: str) -> Role:
    match role:
        case "tune" | "learn" | "judge":
            return role
    raise ValueError(f"{KEPT} has a role {role!r}, which is none")
