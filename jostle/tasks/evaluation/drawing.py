"""Draw a ROC curve as a picture that is text (SVG): what a report and a notebook show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jostle.markup import words

__all__ = ["drawn"]

Floats = NDArray[np.float64]
SIDE, EDGE = 320, 28
BLUE = "#31567b"


def drawn(others: Floats, own: Floats, positive: str) -> str:
    """A picture of a curve through these rates, of the other rows and of the class's own."""
    inside = SIDE - 2 * EDGE
    points = " ".join(
        f"{EDGE + x * inside:.2f},{SIDE - EDGE - y * inside:.2f}"
        for x, y in zip(others.tolist(), own.tolist(), strict=True)
    )
    low, high = EDGE, SIDE - EDGE
    text = 'font-family="system-ui,sans-serif" font-size="13" fill="currentColor"'
    return (
        f'<svg class="square" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" role="img" '
        f'aria-label="ROC curve for {words(positive)}">'
        f'<rect x="{low}" y="{low}" width="{inside}" height="{inside}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.3"/>'
        f'<line x1="{low}" y1="{high}" x2="{high}" y2="{low}" stroke="currentColor" stroke-opacity="0.3"/>'
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="2"/>'
        f'<text x="{low}" y="18" {text}>share of {words(positive)} found</text>'
        f'<text x="{high}" y="{SIDE - 8}" text-anchor="end" {text}>share of the others taken for it</text></svg>'
    )
