"""Models: what classification Options give back, made of released numbers alone.

Every kind is imported here, so that a file of any kind can be read wherever models are known at all.
"""

from jostle.options.models.kinds import AdditiveModel, BayesTreeModel, Term, TreeModel
from jostle.tasks.classification.model import Model, load_model

__all__ = ["AdditiveModel", "BayesTreeModel", "Model", "Term", "TreeModel", "load_model"]
