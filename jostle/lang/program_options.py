"""The Options and metafeatures that a program defines, as Jostle's own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, fields

from jostle.errors import JostleError
from jostle.lang import nodes
from jostle.lang.choices import task_of as told_task
from jostle.lang.extents import deep_enough
from jostle.lang.frames import Function, Loaded, Sent
from jostle.lang.messages import Stop, placed
from jostle.lang.nodes import defined_in
from jostle.lang.operators import holds_private, is_number, kind_of
from jostle.lang.tree_values import to_model
from jostle.lang.values import Features, Leaf, TableValue, TreeNode
from jostle.options.base import Option
from jostle.privacy.events import Allotment, Event
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks import Task, task_of

if TYPE_CHECKING:
    from jostle.tasks.metafeature import ChangedMeasure, View


class ProgramOption(Option):
    """An Option that a program defines. It may spend what it is called with, and need not spend it all."""

    paper = ""

    def __init__(self, program: Loaded, name: str, answer: Function, predict: Function | None) -> None:
        self.program = program
        self._name = name
        self.answer = answer
        self._predict = predict
        self._task: Task[Any] | None = None
        if predict is not None:
            self.predict = self._predicted

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self._name

    @property
    def task(self) -> Task[Any]:  # type: ignore[override]  # of other Options a fact of the class, of this one of its text
        """The task that it answers, as far as its text tells."""
        if self._task is None:
            self._task = task_of(told_task(self.program.module, self.answer.definition))
        return self._task

    @property
    def version(self) -> int:  # type: ignore[override]  # as above
        """A mark that changes with the text of what it uses, and with what was learned for its choices."""
        text = version_of(self.program, self._name)
        if learned := learned_mark(self.program, self._name):
            text = hashlib.blake2b(f"{text} {learned}".encode(), digest_size=4).hexdigest()
        return int(text, 16)

    @property
    def fitted_on(self) -> tuple[Any, ...]:
        """What the Options that it uses were fitted on, and what its choices were learned on."""
        labels = labels_in(self.program, self._name)
        if not labels:
            return fitted_below(self.program, self._name)
        from jostle.learned.policies import fitted_on  # noqa: PLC0415 - most programs make no labelled choice

        learned = fitted_on({label: self.program.policy(label) for label in labels})
        return (*fitted_below(self.program, self._name), learned)

    of_rows = False
    """Amounts in a program are those of whoever runs it."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - all that it is given, whatever it does
        """An allotment of what it is given."""
        return Allotment(epsilon)

    def __call__(self, db: Probe, *questions: Any, epsilon: Any, site: str | None = None, **named: Any) -> Any:
        """Its answer; a decision tree becomes a model."""
        asked = list(self._wanted(db, questions))
        try:
            self.answer.bound([db, *asked], named)  # before anything is spent
        except Stop as mistake:
            raise placed(mistake, self.program.source, self.answer.definition.name_span) from None

        def run(probe: Probe, budget: Fraction) -> Any:
            try:
                with deep_enough():
                    answer = self.answer.run(self.program, [TableValue(probe), *asked], named, budget)
                if holds_private(answer):
                    raise Stop("J203 returned_running")  # noqa: TRY301 - given its place below
                if isinstance(answer, Leaf | TreeNode):
                    return to_model(answer, probe.schema, self._name, budget)
            except Stop as mistake:
                raise placed(mistake, self.program.source, self.answer.definition.name_span) from None
            return answer

        return self.perform(db, epsilon, run, site=site)

    def _wanted(self, probe: Probe, questions: tuple[Any, ...]) -> Iterator[Any]:
        """Yield what it is asked beside the table: where that is nothing, what its task asks."""
        yield from questions or self.task.question.usual(probe.schema)[: len(self.answer.parameters) - 1]

    def _predicted(self, seen: Mapping[str, float]) -> float:
        """The programmer's own prediction of the loss."""
        if self._predict is None:
            raise Stop("J901 prediction")
        try:
            loss = self._predict.run(self.program, [Features(dict(seen))], {}, None)
            if not is_number(loss):
                raise Stop("J501 prediction", kind=kind_of(loss))  # noqa: TRY301 - given its place below
        except Stop as mistake:
            raise placed(mistake, self.program.source, self._predict.definition.name_span) from None
        return float(loss)

    def __reduce__(self) -> tuple[object, ...]:
        return self.program.sent.option, (self._name,)

    def __repr__(self) -> str:
        return f"<Option {self._name} of {self.program.source.name}>"


class Measure:
    """What a metafeature of a program measures: its body is run on a view, and what it buys is bought there."""

    def __init__(self, program: Loaded, function: Function) -> None:
        self.program = program
        self.function = function

    def __call__(self, view: View) -> float:
        """The metafeature's value."""
        try:  # what is bought twice is paid once, since equal expressions are one in a view
            value = self.function.run(self.program, [TableValue(market=view)], {}, Fraction(str(view.epsilon)))
            if not is_number(value):
                raise Stop("J501 metafeature", kind=kind_of(value))  # noqa: TRY301 - given its place below
        except Stop as mistake:
            raise placed(mistake, self.program.source, self.function.definition.name_span) from None
        return float(value)

    @property
    def version(self) -> str:
        """A mark that changes with its text, and with that of what it uses."""
        return version_of(self.program, self.function.name)

    def changes(self) -> Iterator[ChangedMeasure]:
        """It with each small change of its definition that passes the check."""
        from jostle.lang.printer import show  # noqa: PLC0415 - for training only
        from jostle.tasks.metafeature import ChangedMeasure  # noqa: PLC0415 - as above

        name = self.function.name
        for what, changed, module in variants(needed_by(self.program, name), self.function.definition):
            try:
                loaded = self.program.changed(show(module))
            except JostleError:
                continue
            text = show(nodes.Module((changed,))).rstrip()
            yield ChangedMeasure(Measure(loaded, loaded.functions[name]), what, text)

    def __reduce__(self) -> tuple[object, ...]:
        return measure_of, (self.program.sent, self.function.name)


def measure_of(sent: Sent, function: str) -> Measure:
    """The measure of a program that was sent here."""
    program = sent.loaded()
    return Measure(program, program.functions[function])


def needed_by(program: Loaded, name: str) -> list[nodes.Statement]:
    """The statements of a program that one of its names depends on, in order."""
    definitions: dict[str, nodes.Statement] = {}
    for statement in program.module.body:
        for defined, _, _ in defined_in([statement]):
            definitions[defined] = statement
    waiting, statements = [name], dict[int, nodes.Statement]()
    while waiting:
        defining = definitions.get(waiting.pop())
        if defining is None or id(defining) in statements:
            continue
        statements[id(defining)] = defining
        waiting += [node.name for node in nodes.walk(defining) if isinstance(node, nodes.Name)]
    return [each for each in program.module.body if id(each) in statements]


def version_of(program: Loaded, name: str, digest_bytes: int = 4) -> str:
    """A mark of what one of a program's names stands for: of its tree, and of what that uses.

    What was learned is kept under it: a class of nodes that gets another name is written with the one that it had.
    """
    # A tree as text has neither places nor comments.
    text = repr(needed_by(program, name)).replace("ParameterNode(", "Parameter(")
    return hashlib.blake2b(text.encode(), digest_size=digest_bytes).hexdigest()


def labels_in(program: Loaded, name: str) -> tuple[str, ...]:
    """The labels of the choices in what a name of the program stands for and uses, in the order of the text."""
    needed = needed_by(program, name)
    labels = (node.label for statement in needed for node in nodes.walk(statement) if isinstance(node, nodes.Choose))
    return tuple(dict.fromkeys(labels))


def fitted_below(program: Loaded, name: str) -> tuple[Any, ...]:
    """What the library's Options were fitted on that a name of the program stands for or uses."""
    walked = (node for statement in needed_by(program, name) for node in nodes.walk(statement))
    named = dict.fromkeys(node.name for node in walked if isinstance(node, nodes.Name))
    used = (program.globals.get(each) for each in named)
    return tuple(each.fitted_on for each in used if isinstance(each, Option) and not isinstance(each, ProgramOption))


def learned_mark(program: Loaded, name: str) -> str:
    """A mark of the policies that the labelled choices below a name follow; nothing where there are none."""
    labels = labels_in(program, name)
    if not labels:
        return ""
    from jostle.learned.policies import mark_of  # noqa: PLC0415 - most programs make no labelled choice

    return mark_of({label: program.policy(label) for label in sorted(labels)})


# Small changes of a metafeature's definition: another number, another aggregate, a width half or twice as large.
# Each is made at every place of the definition that says the same.


AnyNode = TypeVar("AnyNode", bound=nodes.Node)
Change = Mapping[nodes.ExpressionNode, nodes.ExpressionNode]
"""What stands in the place of what, wherever that stands."""
TWO = nodes.Number(Fraction(2))
INSTEAD_OF_NOTHING = (1, 3)
"""What is tried in the place of 0."""
SCALED = frozenset({"sqrt", "log"})
"""Functions whose value is a width or a height: half and twice as much is tried."""
OF_GROUPS = ("sum", "max", "min", "mean", "stddev")
"""Functions of a query's groups, each of which may stand in the place of another."""
OF_ROWS = ("count", "sum", "max", "mean", "stddev")
"""Aggregates of a query."""


def variants(
    needed: Sequence[nodes.Statement], definition: nodes.FunctionDefinition
) -> Iterator[tuple[str, nodes.FunctionDefinition, nodes.Module]]:
    """What each small change of a metafeature's definition is, the changed definition, and the program with it."""
    for change in _changes(definition):
        changed = replaced(definition, change)
        what = ", ".join(f"{new.shown()} in the place of {old.shown()}" for old, new in change.items())
        yield (
            what,
            changed,
            nodes.Module(tuple(changed if statement is definition else statement for statement in needed)),
        )


def _changes(definition: nodes.FunctionDefinition) -> Iterator[Change]:
    """What may be replaced by what, each thing once; widths all at once."""
    expressions = [node for node in nodes.walk(definition) if isinstance(node, nodes.ExpressionNode)]
    priced = [node.spending for node in expressions if isinstance(node, nodes.Noised)]
    for node in dict.fromkeys(
        expression for expression in expressions if not any(expression is price for price in priced)
    ):
        for other in _instead_of(node):
            yield {node: other}
    scaled = dict.fromkeys(
        node
        for node in expressions
        if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Name) and node.function.name in SCALED
    )
    if scaled:
        for sign in ("*", "/"):
            yield {node: nodes.BinaryOperation(node, sign, TWO) for node in scaled}


def _instead_of(node: nodes.ExpressionNode) -> Iterator[nodes.ExpressionNode]:
    match node:
        case nodes.Number():
            others = (node.value / 2, node.value * 2) if node.value else map(Fraction, INSTEAD_OF_NOTHING)
            yield from (nodes.Number(other) for other in others)
        case nodes.Call(function=nodes.Name(name), arguments=(_,)) if name in OF_GROUPS:
            yield from (evolve(node, function=nodes.Name(other)) for other in OF_GROUPS if other != name)
        case nodes.Select(aggregate=name) if node.value is not None:
            yield from (evolve(node, aggregate=other) for other in OF_ROWS if other != name)
        case _:
            pass


def replaced(node: AnyNode, change: Change) -> AnyNode:
    """A node with others in the place of those that a change names; what it was written as is not kept."""
    changed: dict[str, Any] = {}
    for attribute in fields(type(node)):
        value = getattr(node, attribute.name)
        if isinstance(value, nodes.Node):
            changed[attribute.name] = _put(value, change)
        elif isinstance(value, tuple):
            changed[attribute.name] = tuple(
                _put(item, change) if isinstance(item, nodes.Node) else item for item in value
            )
        elif isinstance(value, nodes.Trivia):
            changed[attribute.name] = nodes.Trivia()
    return evolve(node, **changed)


def _put(node: nodes.Node, change: Change) -> nodes.Node:
    known = change.get(node) if isinstance(node, nodes.ExpressionNode) else None
    return replaced(node, change) if known is None else known
