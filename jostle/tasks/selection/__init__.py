"""Selection of features: what is asked, what comes back, and how it is judged and learned from."""

from jostle.tasks.selection.selected import SelectedFeatures
from jostle.tasks.selection.task import SELECTION

__all__ = ["SELECTION", "SelectedFeatures"]
