"""Classification: what is asked, what comes back, and how it is judged and learned from."""

from jostle.tasks.classification.model import Model
from jostle.tasks.classification.task import CLASSIFICATION

__all__ = ["CLASSIFICATION", "Model"]
