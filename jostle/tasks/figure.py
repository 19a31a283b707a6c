"""Figures: matplotlib's, where it is installed."""

from __future__ import annotations

from typing import Any, Literal

from jostle.errors import OptionError

__all__ = ["new_figure"]


def new_figure(width: float, height: float, *, layout: Literal["tight", "constrained"] = "tight") -> Any:
    """An empty matplotlib figure, of so many inches; needs the `report` extra."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - matplotlib is an extra
    except ImportError:
        raise OptionError("matplotlib is not installed", fix='pip install "jostle[report]"') from None
    return Figure(figsize=(width, height), layout=layout)
