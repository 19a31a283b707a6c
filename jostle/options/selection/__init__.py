"""Options of the selection task: which features of a table say its label.

Which features a table has, of its columns and of its texts, says `jostle.tables.features`; what is selected goes to a
classifier by `db.only(*selected.columns)`.
"""

from jostle.options.selection.selectors import ScoredSelector, Selector
from jostle.tasks.selection import SelectedFeatures

__all__ = ["ScoredSelector", "SelectedFeatures", "Selector"]
