"""Programs that run: a module's functions, Options and choice makers, made from its tree.

Only what is in this folder touches a probe on a program's behalf. A program is checked before anything of it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from jostle.errors import JostleError, ProgramError, Source, TableError, described
from jostle.given import given_items, given_path
from jostle.lang import nodes
from jostle.lang.check import check
from jostle.lang.compiling import Compiler, Scope
from jostle.lang.compiling_asked import KINDS, apply
from jostle.lang.extents import deep_enough
from jostle.lang.frames import Frame, Function
from jostle.lang.guard_rules import check_entry
from jostle.lang.library import imported
from jostle.lang.messages import BROKEN_OFF, Stop, broken_off, placed
from jostle.lang.nodes import defined_in, symbols
from jostle.lang.parser import read_source
from jostle.lang.price import Pricing
from jostle.lang.program_options import ProgramOption
from jostle.lang.references import check_files, listed
from jostle.lang.roots import used_elsewhere
from jostle.lang.values import TableValue
from jostle.options.base import Option, changes
from jostle.privacy.amounts import show_amount
from jostle.trace.records import NamedPublic, ReadPublic, Trace
from jostle.visible import print_visible

if TYPE_CHECKING:
    from jostle.choice.makers.maker import ChoiceMaker
    from jostle.corpora.corpus import Corpus
    from jostle.corpora.named import PublicFiles
    from jostle.privacy.probe import Probe
    from jostle.sites import Policy
    from jostle.tables.schema import Schema


@frozen(eq=False)
class Purchase:
    """What was bought at a place in a program."""

    site: str
    value: Any
    records: int
    """How many records the trace had by then."""


class Program:
    """A program whose top level has run: functions, Options and choice makers by name."""

    def __init__(
        self,
        source: Source,
        module: nodes.Module,
        say: Callable[[str], None] | None = None,
        files: PublicFiles | None = None,
        pricing: Pricing | None = None,
    ) -> None:
        self.source = source
        self.module = module
        self.pricing = Pricing(module) if pricing is None else pricing
        """What its functions spend."""
        self.files = files
        """What it may read as public; None where nothing was named."""
        self._read: dict[str, ReadPublic] = {}
        self._trace: Trace | None = None
        self._bought: list[Purchase] | None = None
        self.globals: dict[str, Any] = {}
        self.policies: dict[str, Policy] = {}
        """What answers the labelled choices, by label, instead of what was learned for them."""
        self._learned: Mapping[str, Policy] | None = None
        self._say = say
        self._fitting: set[tuple[str, Schema, tuple[int, ...] | None]] = set()
        own = frozenset(name for name, _, _ in defined_in(module.body))
        self._compiler = Compiler(source, KINDS, self.globals, own, symbols(module))
        with deep_enough():
            for statement in module.body:
                self._run(statement)

    # What is in it

    @property
    def functions(self) -> Mapping[str, Function]:
        """The plain functions, in order."""
        return {name: each for name, each in self.globals.items() if isinstance(each, Function)}

    @property
    def options(self) -> Mapping[str, ProgramOption]:
        """The Options that the program defines, in order."""
        return {name: each for name, each in self.globals.items() if isinstance(each, ProgramOption)}

    @property
    def makers(self) -> Mapping[str, ChoiceMaker]:
        """The choice makers, in order."""
        from jostle.choice.makers.maker import ChoiceMaker  # noqa: PLC0415 - programs without choices need no learning

        return {name: each for name, each in self.globals.items() if isinstance(each, ChoiceMaker)}

    @property
    def entry(self) -> str | None:
        """The name to run if nobody says what: `main`, or the last function, Option or choice maker that can."""
        if "main" in self.functions:
            return "main"
        used, order = used_elsewhere(self.module), list(self.globals)
        able = [*self.functions, *self.options, *self.makers]
        return max((name for name in able if name not in used), key=order.index, default=None)

    def __getitem__(self, name: str) -> Any:
        """The object that the program calls so."""
        try:
            return self.globals[name]
        except TypeError:
            raise JostleError(f"{described(name)} is no name", fix='program["main"]') from None
        except KeyError:
            listed = ", ".join(self.globals)
            raise JostleError(f"{self.source.name} defines no {name!r}", fix=f"one of {listed}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "globals":
            raise AttributeError(name)
        try:
            return self.globals[name]
        except TypeError:
            raise JostleError(f"{described(name)} is no name", fix='program["main"]') from None
        except KeyError:
            raise AttributeError(f"{self.source.name} defines no {name!r}") from None

    def run(self, entry: str, *given: Any, epsilon: Fraction | None = None, **named: Any) -> Any:
        """The value of a function of the program, an Option or a maker. Probes are given as they are."""
        from jostle.privacy.probe import Probe  # noqa: PLC0415 - as above

        function = self[entry]
        probes = [each for each in given if isinstance(each, Probe)]
        if not isinstance(function, Option | Function):
            raise JostleError(f"{entry} is no function, Option or choice maker", fix="name another one")
        with deep_enough(), spending_told(probes):
            if isinstance(function, Option):
                return self._asked(entry, function, given, epsilon, named)
            if probes:
                places = tuple(index for index, each in enumerate(given) if isinstance(each, Probe))
                self.check_entry(function, places)
                self.check_schema(entry, given[places[0]].schema, places)
            tables = [TableValue(each) if isinstance(each, Probe) else each for each in given]
            try:
                with choices_of(probes):
                    return function.run(self, tables, named, epsilon)
            except Stop as mistake:
                raise placed(mistake, self.source, function.definition.name_span) from None

    def _asked(
        self, name: str, option: Option, given: Sequence[Any], epsilon: Fraction | None, named: Mapping[str, Any]
    ) -> Any:
        """The answer of an Option or a maker that is asked from outside."""
        try:
            return option(*given, epsilon=epsilon, **named)
        except JostleError:
            raise
        except Exception as failure:  # noqa: BLE001 - whatever it is, nobody is shown Python's innards
            mistake = broken_off(failure, f"`{option.name}`")
            span = next(span for each, span, _ in defined_in(self.module.body) if each == name)
            raise placed(mistake, self.source, span) from None

    def check_entry(self, function: Function, tables: Sequence[int]) -> None:
        """Refuse to call a function with databases in other places than it was checked for."""
        mistakes = check_entry(self.module, function.name, tables)
        if mistakes:
            raise ProgramError(self.source, mistakes)

    def check_schema(self, entry: str, schema: Schema, tables: tuple[int, ...] | None = None) -> None:
        """Refuse what a table with this schema would refuse while running, before anything is asked of one."""
        if (entry, schema, tables) not in self._fitting:
            mistakes = self.pricing.check_schema(schema, entry, tables)
            if mistakes:
                raise ProgramError(self.source, mistakes)
            self._fitting.add((entry, schema, tables))

    # What its functions use

    def say(self, text: str) -> None:
        """Print a line."""
        if self._say is not None:
            self._say(text)

    def public(self, path: str) -> Corpus:
        """The public databases of a folder or a file, if it was named as public; note that it was read."""
        found = listed(self.files, path)
        record = ReadPublic(path, len(found.corpus), found.digest)
        if self._trace is not None and path not in self._read:
            self._trace.add(record)
        self._read[path] = record
        return found.corpus

    @contextmanager
    def noted(self, trace: Trace) -> Iterator[list[Purchase]]:
        """Note in a trace which public files were read and will be, and give a list of what is bought."""
        if self.files is not None:
            trace.add(NamedPublic(self.files.paths, self.files.databases, self.files.digest))
        for record in self._read.values():
            trace.add(record)
        self._trace, self._bought = trace, []
        try:
            yield self._bought
        finally:
            self._trace, self._bought = None, None

    @contextmanager
    def on_public_data(self) -> Iterator[None]:
        """Note nothing that is bought meanwhile: nobody pays for it."""
        kept, self._bought = self._bought, None
        try:
            yield
        finally:
            self._bought = kept

    def bought(self, site: str, value: Any) -> Any:
        """The value bought at a place in the program, after noting it."""
        if self._bought is not None and self._trace is not None:
            self._bought.append(Purchase(site, value, self._trace.count))
        return value

    @property
    def sent(self) -> SentProgram:
        """The program as it is sent to another process."""
        return SentProgram(self.source.name, self.source.text, self.files)

    def changed(self, text: str) -> Program:
        """A program of another text that may read the same files."""
        return load_source(Source(self.source.name, text), files=self.files)

    def call(self, frame: Frame, site: str, function: Any, given: list[Any]) -> Any:
        """A function's value."""
        return apply(frame, site, function, given, {})

    def policy(self, label: str) -> Policy | None:
        """The policy of a labelled choice where no handler answers: what was put there, or was learned."""
        given = self.policies.get(label)
        return self.learned.get(label) if given is None else given

    @property
    def learned(self) -> Mapping[str, Policy]:
        """The policies that `jostle train` learned for the program's choices, by label."""
        from jostle.learned.policies import learning_anew  # noqa: PLC0415 - most programs make no labelled choice

        if learning_anew():
            return {}
        if self._learned is None:
            from jostle.lang.makers import learned_policies  # noqa: PLC0415 - as above

            self._learned = learned_policies(self)
        return self._learned

    # The top level

    def _run(self, statement: nodes.Statement) -> None:
        top = Frame(self, self.globals, None, 0)
        match statement:
            case nodes.Import():
                for name in statement.names:
                    self.globals[name.name] = self._imported(statement, name)
            case nodes.FunctionDefinition():
                function = self._function(statement, top)
                made = function if not statement.is_option else ProgramOption(self, statement.name, function, None)
                self.globals[statement.name] = made
            case nodes.ClassDefinition():
                self.globals[statement.name] = self._class(statement, top)
            case _:
                self._compiler.statement(statement, Scope())(top)

    def _imported(self, statement: nodes.Import, name: nodes.ImportedName) -> Any:
        try:
            return imported(statement.module, name.name)
        except JostleError as mistake:
            raise placed(mistake, self.source, name.span) from None

    def _function(self, definition: nodes.FunctionDefinition, top: Frame) -> Function:
        defaults = {
            parameter.name: self._compiler.expression(parameter.default, Scope())(top)
            for parameter in definition.parameters
            if parameter.default is not None
        }
        parameters = tuple(parameter.name for parameter in definition.parameters)
        return Function(definition.name, definition, parameters, defaults, self._compiler.function(definition))

    def _class(self, definition: nodes.ClassDefinition, top: Frame) -> ProgramOption:
        answer, predict = definition.method("answer"), definition.method("predict")
        if answer is None:
            raise placed(
                Stop("J107 answer", name=definition.name),
                self.source,
                definition.name_span,
            )
        return ProgramOption(
            self,
            definition.name,
            self._function(answer, top),
            None if predict is None else self._function(predict, top),
        )


def choices_of(probes: Sequence[Probe]) -> AbstractContextManager[None]:
    """Let labelled choices be noted in the trace of the first database, as those of an Option are in its own."""
    if not probes:
        return nullcontext()
    from jostle.sites import choices_noted  # noqa: PLC0415 - programs without databases choose nothing

    return choices_noted(probes[0])


def load(
    path: str | Path,
    *,
    say: Callable[[str], None] | None = print_visible,
    public: str | Path | Iterable[str | Path] = (),
) -> Program:
    """Program in a file, checked, whose top level has run.

    Args:
        path: a .jst file.
        say: what is told each line that the program prints; None for nobody.
        public: the folders and files that it may read as public databases; it opens no others.

    Raises:
        ProgramError: what `jostle check` says of it, or what stopped its top level.
        JostleError: the file cannot be read.
    """
    if say is not None and not callable(say):
        raise TableError(f"{described(say)} is given where what is told lines is wanted", fix="say=print, or say=None")
    return load_source(read_source(given_path(path, TableError)), say=say, files=named(public))


def named(public: str | Path | Iterable[str | Path]) -> PublicFiles | None:
    """The files that a program may read as public: None where nothing is named."""
    fix = 'public=["census"]'
    given = (
        (public,)
        if isinstance(public, str | Path)
        else given_items(public, "a list of folders and files", fix=fix, error=TableError)
    )
    if not given:
        return None
    from jostle.corpora.named import PublicFiles  # noqa: PLC0415 - reads Arrow, which most programs need not

    return PublicFiles.named(given)


def load_source(
    source: Source, *, say: Callable[[str], None] | None = None, files: PublicFiles | None = None
) -> Program:
    """A program, checked; its mistakes are one error."""
    checked = check(source)
    mistakes = (*checked.diagnostics, *check_files(checked.module, files))
    if mistakes:
        raise ProgramError(source, mistakes)
    return Program(source, checked.module, say, files, checked.pricing)


@frozen
class SentProgram:
    """A program that one process has checked, for another one: its text, and what it may read as public."""

    name: str
    text: str
    files: PublicFiles | None

    def loaded(self) -> Program:
        """The program, checked again where it was sent."""
        return _loaded(self, changes())

    def option(self, name: str) -> ProgramOption:
        """One of its Options."""
        return self.loaded().options[name]


@contextmanager
def spending_told(probes: Sequence[Probe]) -> Iterator[None]:
    """Let what was spent be told where a run breaks off by a mistake of ours."""
    before = sum(probe.spent for probe in probes)
    try:
        yield
    except ProgramError as mistake:
        if not any(diagnostic.code == BROKEN_OFF for diagnostic in mistake.diagnostics):
            raise
        spent = sum((probe.spent for probe in probes), Fraction(0)) - before
        words = f"epsilon {show_amount(spent)} was spent by then, and what it bought is in the trace" if spent else ""
        told = [
            evolve(diagnostic, why=f"{diagnostic.why}; {words or 'nothing was spent'}")
            for diagnostic in mistake.diagnostics
        ]
        raise ProgramError(mistake.source, told) from None


@lru_cache(maxsize=32)
def _loaded(sent: SentProgram, registered: int) -> Program:  # noqa: ARG001 - other Options, another program
    """The program, once in a process that is sent it with each of many tasks."""
    return load_source(Source(sent.name, sent.text), files=sent.files)
