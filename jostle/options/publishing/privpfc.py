"""PrivPfC: rows on the one grid, of a pool of thousands, that is expected to classify best by noisy counts.

Su, Cao, Li, Lyu. PrivPfC: differentially private data publication for classification. VLDB Journal 27, 2018. A grid
puts each attribute's values together by a taxonomy (`Categorical(taxonomy=...)`), or bins by twos; left out altogether,
an attribute is one group. One pick by `GridQuality` chooses the grid, which is then counted by class, with noise.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import evolve, frozen

from jostle.options.base import option
from jostle.options.classification.base import rows_share
from jostle.options.publishing.base import Caution, Publisher, few, published_grid
from jostle.options.publishing.grid_pool import pool_of
from jostle.parameters import share, whole
from jostle.privacy.amounts import show_amount
from jostle.privacy.grid_quality import LARGEST_SCALE, GridQuality
from jostle.privacy.probe import Probe
from jostle.tables.pools import GridCounts, Pool
from jostle.tables.schema import Schema
from jostle.tasks.publishing import Published

__all__ = ["PrivPfC"]

PER_CELL = 5
"""A grid has at most one cell for so many rows times epsilon: the paper's T = 0.2 N epsilon."""
FEW = 4
"""With fewer cells than this to a grid, next to nothing can be told."""


@option
@frozen(kw_only=True)
class PrivPfC(Publisher):
    """One grid out of many by a private pick, then its counts by class.

    Privacy: the number of rows by `AddNoise`, unless it is known; which grids are in the pool follows from public facts
    and that number; a pick by `GridQuality`, whose span is proved there for both neighbour relations and any number of
    classes; the grid's counts by `AddNoise`. In turn these cost epsilon, under add_remove and replace_one.
    """

    pool: int = whole(10_000, least=1)
    """How many grids to pick from."""
    rows_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of rows, unless it is public."""
    grid_share: Fraction = share("37/97")
    """Part of the rest that picks the grid; the other counts its cells."""
    paper = "Su, Cao, Li, Lyu, VLDB Journal 2018"

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        """The reason why nothing can come of it: no grid has few enough cells, or noise drowns any; or None."""
        if reason := super().hopeless(schema, epsilon, rows):
            return reason
        left = epsilon * (1 - rows_share(rows, self.rows_share))
        if self._scale(schema, left) > LARGEST_SCALE:  # with next to no share of it for counts
            return f"epsilon {show_amount(epsilon)} is too little for counts of even one cell"
        if rows is not None and self._most_cells(left, rows) < 1:
            return f"{rows:,} rows at epsilon {show_amount(left)} are too few for a grid of even one cell"
        return None

    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:  # noqa: ARG002 - of any columns
        """A caution that grids can have next to no cells, if so."""
        most = self._most_cells(left, rows)
        if most < FEW:
            return f"{few(rows)} at this epsilon: grids of at most {most} cells can be told from noise"
        return ""

    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:
        """The rows that the noisy cells of the picked grid stand for."""
        schema = db.schema
        rows, left, drowns = self.counted(db, epsilon, self.rows_share, told)
        counts_cost = left * (1 - self.grid_share)
        scale = self._scale(schema, left)
        pool = pool_of(schema, self._most_cells(left, rows), self.pool)
        picked = db.pick(GridQuality(pool, scale), left - counts_cost, site="grid")
        grid = Pool(pool.columns, pool.levels, pool.taken[picked : picked + 1])
        noisy = db.measure(GridCounts(grid), counts_cost, site="counts")
        made = published_grid(schema, grid, noisy)
        return evolve(made, made_by=self.name, epsilon=epsilon, caution=drowns)

    def _scale(self, schema: Schema, left: Fraction) -> Fraction:
        """The scale of the noise on a cell."""
        return (1 if schema.neighbours == "add_remove" else 2) / (left * (1 - self.grid_share))

    def _most_cells(self, left: Fraction, rows: int) -> int:
        return round(rows * left * (1 - self.grid_share) / PER_CELL)
