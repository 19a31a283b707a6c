"""The Python front door: what programs are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import MkChoiceMaker
from jostle.choice.makers.shipped import shipped_by
from jostle.errors import ChoiceError, OptionError
from jostle.given import called_as, given_as
from jostle.lang.quick_start import quickly
from jostle.options import base
from jostle.options.evaluation.pri_roc import PriROC
from jostle.options.functions import FunctionOption, Predict, function_option
from jostle.privacy.amounts import Amount
from jostle.privacy.probe import Probe
from jostle.programs import shipped_choice
from jostle.tasks import Task, task_of
from jostle.tasks.answers import Answer
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation import RocCurve
from jostle.tasks.metafeature import Metafeature, metafeature
from jostle.tasks.publishing import Published
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate
from jostle.tasks.selection import SelectedFeatures

__all__ = ["MkChoiceMaker", "free_facts", "metafeature", "option", "pretrained", "private_roc_auc", "quickly"]

Kind = TypeVar("Kind", bound=type[base.Option])


@overload
def option(kind: Kind, /) -> Kind: ...
@overload
def option(
    function: None = None,
    /,
    *,
    task: str | Task[Any] | None = None,
    predict: Predict | None = None,
    fitted_on: Any = (),
) -> Callable[[Callable[..., Answer]], FunctionOption[Answer]]: ...
def option(
    given: Any = None,
    /,
    *,
    task: str | Task[Any] | None = None,
    predict: Predict | None = None,
    fitted_on: Any = (),
) -> Any:
    """Make a function of a probe an Option, or register a class that is one.

    A function says what it answers, asks the probe it is given, and may come with the programmer's own estimate of its
    loss from metafeatures, where training begins. What it carries that was fitted to public databases names these,
    *fitted_on*: by digests, by names of databases or groups, or as databases. It is not rehearsed on them.

    Raises:
        OptionError: it is no Option, says no known task, is not told its budget, or its name is taken.

    >>> @option(task="grid", predict=lambda seen: 0.01)
    ... def Flat(db, workload, *, epsilon):
    ...     return db.count(epsilon)
    >>> Flat.name, Flat.task
    ('Flat', <Task grid>)
    """
    if isinstance(given, type):
        if not issubclass(given, base.Option):
            raise OptionError(f"{given.__name__} is no Option", fix=f"class {given.__name__}(jostle.options.Option)")
        return base.option(given)
    if given is not None:
        return _registered(function_option(given, task=task, predict=predict, fitted_on=fitted_on))
    return lambda function: _registered(function_option(function, task=task, predict=predict, fitted_on=fitted_on))


def _registered(made: FunctionOption[Answer]) -> FunctionOption[Answer]:
    """The Option, found by its name from now on, unless it was defined inside a function and is of use there alone."""
    return made if "<locals>" in made.function.__qualname__ else base.option(made)


@overload
def pretrained(
    name: Literal["classification", "classification-balanced-error", "classification-log-loss", "classification-auc"],
    *,
    judged_by: str | None = None,
) -> ChoiceMaker[Model]: ...
@overload
def pretrained(name: Literal["publishing"], *, judged_by: str | None = None) -> ChoiceMaker[Published]: ...
@overload
def pretrained(
    name: Literal["selection", "selection-auc"], *, judged_by: str | None = None
) -> ChoiceMaker[SelectedFeatures]: ...
@overload
def pretrained(name: Literal["ranges"], *, judged_by: str | None = None) -> ChoiceMaker[Estimate | SparseEstimate]: ...
@overload
def pretrained(name: str, *, judged_by: str | None = None) -> ChoiceMaker: ...
@called_as('jostle.pretrained("classification")')
def pretrained(name: str, *, judged_by: str | None = None) -> ChoiceMaker:
    """A maker that came with Jostle: "classification", "ranges", or what else a refusal lists.

    It chooses among the built-in Options as it learned from rehearsals on public databases, and is an Option itself.
    "ranges" looks at what is asked, of tables of one to three columns. *judged_by* names the loss that it is to do well
    by, of the task's: of models "error", which is what it means where nobody says, "balanced-error", "log-loss" or
    "auc".

    Raises:
        ChoiceError: no maker of the name came with Jostle, or none for the loss.
    """
    given_as(name, str, "the name of a maker", fix='pretrained("classification")', error=ChoiceError)
    if judged_by is not None:
        given_as(judged_by, str, "the name of a loss", fix='judged_by="auc"', error=ChoiceError)
        name = shipped_by(name, judged_by)
    return shipped_choice(name)


def free_facts(task: str | Task[Any]) -> tuple[Metafeature, ...]:
    """The metafeatures of a task that are public facts: looking at them costs nothing.

    Raises:
        OptionError: there is no such task.

    >>> [each.name for each in free_facts("grid")][:4]
    ['log_epsilon', 'axes', 'log_cells', 'log_queries']
    """
    return task_of(task).rehearsal.free


def private_roc_auc(
    db: Probe, scores: str | Model | SelectedFeatures = "score", *, epsilon: Amount, positive: str | None = None
) -> RocCurve:
    """A ROC curve of how well scores tell a class from the others, for epsilon, with `auc` and `interval()`.

    *scores* is a column of numbers that the schema declares with bounds, or a model, which is applied to the rows, or
    features that were selected and trained on at once. Of two classes *positive* is the second where nobody says.

    Raises:
        OptionError: there are no such scores, or no such class.
        BudgetError: less is left than *epsilon*.
    """
    return PriROC()(db, scores, positive, epsilon=epsilon)
