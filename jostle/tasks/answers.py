"""The type variable of what Options and tasks give back: anything, where nobody says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Answer"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Answer = TypeVar("Answer", default=Any)
else:
    from typing import TypeVar  # whose variables have no defaults before Python 3.13

    Answer = TypeVar("Answer")
