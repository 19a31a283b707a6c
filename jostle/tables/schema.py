"""The public facts about a table: its columns, its label, what neighbours are, whether n is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from inspect import signature
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, get_args

from attrs import Factory, asdict, evolve, field, frozen

from jostle.errors import SchemaError, described, shown
from jostle.files.kinds import FileKind, writing
from jostle.files.kinds import toml_written as written
from jostle.given import given_as, given_items, made_as
from jostle.tables.columns import Categorical, Chances, Column, Dates, Identifier, Numeric, check_text
from jostle.tables.features import PRESENCE, SparseFeatures
from jostle.tables.origins import RowOrigin

KINDS: Mapping[str, Callable[..., Column | Identifier]] = MappingProxyType(
    {"categorical": Categorical, "numeric": Numeric, "chances": Chances, "dates": Dates, "identifier": Identifier}
)
"""What makes the columns of a kind that a file of a schema names."""
NEEDED = {"categorical": "values", "numeric": "low and high", "dates": "start and end"}
NOT_IN_FILES = {"clock"}


def features_of(facts: Any) -> SparseFeatures:
    """The sparse features that a file declares."""
    if not isinstance(facts, dict) or "column" not in facts or set(facts) - {"column", "words", "buckets"}:
        raise SchemaError("[features] is not complete", fix="column, and words or buckets")
    return SparseFeatures(**facts)


def facts_of(column: Column) -> tuple[str, dict[str, object]]:
    """A column's kind, and its facts as a file has them."""
    facts = {key: value for key, value in asdict(column, recurse=False).items() if value is not None}
    if isinstance(column, Categorical):
        if not column.taxonomy:
            del facts["taxonomy"]
        return "categorical", facts
    del facts["bins" if column.edges else "edges"]
    if column.clock is None:
        return "numeric", facts
    kept = {"bins": column.bins, "outside": column.outside, "missing": column.missing}
    ends = {"start": column.clock.written(0), "end": column.clock.written(column.high)}
    return "dates", {**ends, "unit": column.clock.unit, **kept}


def column_of(name: str, facts: Any) -> Column | Identifier:
    """The column that a file declares."""
    word = facts.get("kind") if isinstance(facts, dict) else None
    if not isinstance(word, str) or word not in KINDS:
        raise _no_kind(name, word)
    kind = KINDS[word]
    given = {key: value for key, value in facts.items() if key != "kind"}
    entries = set(signature(kind).parameters) - NOT_IN_FILES
    if unknown := set(given) - entries:
        raise SchemaError(
            f"column {shown(name)} has an unknown entry {shown(min(unknown))}",
            fix=f"one of {', '.join(sorted(entries))}",
        )
    try:
        return kind(**given)
    except TypeError:
        raise SchemaError(f"column {shown(name)} is not complete", fix=f"give {NEEDED[word]}") from None
    except SchemaError as mistake:
        raise SchemaError(f"column {shown(name)}: {mistake.title}", why=mistake.why, fix=mistake.fix) from None


def _no_kind(name: str, given: object) -> SchemaError:
    if not isinstance(given, str):
        return SchemaError(f"column {shown(name)} has no kind", fix='kind = "categorical" or kind = "numeric"')
    alike = get_close_matches(given, KINDS, n=1)
    return SchemaError(
        f"column {shown(name)} is of kind {shown(given)}, which is not known",
        fix=f'kind = "{alike[0]}"' if alike else f"one of {', '.join(KINDS)}",
    )


Neighbours = Literal["add_remove", "replace_one"]
"""Which two tables count as neighbours: one has a row more, or one row is another."""

SCHEMA = FileKind("schema", SchemaError, "jostle schema infer PUBLIC.csv shows what one looks like", most_bytes=1 << 25)
MOST_ROWS = 2**63
ROWS_PER_PERSON = 16
"""How many rows of a person are read, where nothing is said."""
MOST_ROWS_PER_PERSON = 2**31 - 1
ENTRIES = ("label", "neighbours", "rows", "person", "rows_per_person", "people")
"""What a file says of a whole table, beside its columns."""
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)


def checked_neighbours(given: str) -> Neighbours:
    """Neighbour relation of this name; refuse any other name."""
    for relation in RELATIONS:
        if isinstance(given, str) and given == relation:
            return relation
    raise SchemaError(f"neighbours is {shown(given)}", fix="neighbours = add_remove or replace_one")


def _pairs(columns: object) -> tuple[tuple[str, Any], ...]:
    if isinstance(columns, Mapping):
        pairs = tuple(columns.items())
    elif isinstance(columns, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in columns):
        pairs = columns
    else:
        raise SchemaError("columns is not a mapping from names to columns", fix='{"age": Numeric(0, 100)}')
    for name, column in pairs:
        if not isinstance(name, str) or type(column) not in {Categorical, Identifier, Numeric}:
            raise SchemaError(f"column {shown(name)} is not declared", fix=f'"{name}": Categorical(["no", "yes"])')
        check_text("the column name", name)
    return tuple((str.__str__(name), column) for name, column in pairs)


def _whole(number: Any) -> Any:
    return number if isinstance(number, bool) or not isinstance(number, Integral) else int(number)


def _listed(names: Iterable[str]) -> tuple[str, ...]:
    return given_items(names, "a list of columns", fix='identifiers=["person"]', error=SchemaError)


def _origin(given: object) -> RowOrigin | None:
    """Where a schema was read off: a file, by its path, or what is in this process."""
    if isinstance(given, str | Path):
        return RowOrigin(file=Path(given).absolute())
    if given is None or isinstance(given, RowOrigin):
        return given
    raise SchemaError(f"inferred_from is {shown(given)}, not a path", fix="leave inferred_from out")


class Inference(Protocol):
    """How a schema is read off public data."""

    def __call__(
        self, source: object, *, label: str | None = None, bins: int = 16, texts: str | None = None, words: int = 10_000
    ) -> Schema:
        """A schema read off public data: its values, its bounds, its empty cells."""


@made_as('Schema({"age": Numeric(0, 100)})', why="which columns there are is public knowledge")
@frozen
class Schema:
    """What everybody may know about a table before any budget is spent.

    Raises:
        SchemaError: columns are missing, have one name, or do not fit what else is said.

    >>> schema = Schema({"age": Numeric(0, 100, bins=10), "ill": Categorical(["no", "yes"])}, label="ill")
    >>> schema["age"].size, schema.attributes
    (10, ('age',))
    """

    infer_public: ClassVar[Inference]
    """A schema read off public data: `tables.infer`, which reads tables, puts it here."""

    columns: tuple[tuple[str, Column], ...] = field(converter=_pairs)
    """The columns by name, given as a mapping; others in the data are not read."""
    label: str | None = None
    """The column to be predicted, if any."""
    neighbours: Neighbours = field(default="add_remove", converter=checked_neighbours)
    """Which change of a table privacy is about."""
    rows: int | None = field(default=None, converter=_whole)
    """How many rows there are, if that is public, which it can be under replace_one alone. Of those, fewer may have a
    value in a column that may be blank."""
    inferred_from: RowOrigin | None = field(default=None, eq=False, repr=False, converter=_origin)
    """For a schema inferred from public data: where these came from, so that they are not taken for private later."""
    features: SparseFeatures | None = None
    """Sparse features beside the columns: words of a text, or the columns of a sparse matrix."""
    identifiers: tuple[str, ...] = field(default=(), converter=_listed)
    """Columns that are declared as identifiers: no question reads them, and whoever asks about one is told so."""
    person: str | None = None
    """The column of the data that says whose row it is, which is no column here: privacy is of persons then."""
    rows_per_person: int | None = field(default=None, converter=_whole)
    """The most rows of one person that are read; 16 where a person is declared and nothing else is said."""
    people: str | None = None
    """The population that the persons are of: tables of one population share a promise."""
    by_name: Mapping[str, Column] = field(
        init=False,
        eq=False,
        repr=False,
        # Read only: everybody is given this schema, and the noise goes by it.
        default=Factory(lambda schema: MappingProxyType(dict(schema.columns)), takes_self=True),
    )

    def __attrs_post_init__(self) -> None:
        """Refuse facts that contradict each other."""
        self._part_identifiers()
        if not self.columns:
            raise SchemaError("a schema has no columns", fix='{"age": Numeric(0, 100)}')
        if len(self.by_name) != len(self.columns):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise SchemaError(f"the column {shown(twice)} is declared twice", fix="declare it once")
        if self.label is not None and (not isinstance(self.label, str) or self.label not in self.by_name):
            raise SchemaError(
                f"the label {shown(self.label)} is not a column",
                fix=f"name a categorical column as label{self._named_classes()}",
            )
        if self.label is not None and not isinstance(self[self.label], Categorical):
            raise SchemaError(f"the label {shown(self.label)} is numeric", fix="name a categorical column as label")
        if self.rows is not None and (type(self.rows) is not int or not 0 <= self.rows < MOST_ROWS):
            raise SchemaError(
                f"rows is {shown(self.rows)}, not a whole number", fix="leave rows out unless it is public"
            )
        if self.rows is not None and self.neighbours != "replace_one":
            raise SchemaError(
                f"the number of rows is declared under {self.neighbours}",
                why="there, neighbours differ in how many rows they have, so that number is private",
                fix='leave rows out, or neighbours = "replace_one", where one row is another and their number stays',
            )
        self._check_features()
        self._check_person()

    def _part_identifiers(self) -> None:
        """Keep the names of columns that are never looked at apart from the columns."""
        given: tuple[tuple[str, object], ...] = self.columns
        declared = tuple(name for name, column in given if type(column) is Identifier)
        if declared:
            object.__setattr__(self, "identifiers", (*self.identifiers, *declared))
            object.__setattr__(self, "columns", tuple(pair for pair in self.columns if pair[0] not in declared))
            object.__setattr__(self, "by_name", MappingProxyType(dict(self.columns)))
        names = (*self.identifiers, *self.by_name)
        if twice := next((name for name in self.identifiers if names.count(name) > 1), None):
            raise SchemaError(f"the column {shown(twice)} is declared twice", fix="declare it once")

    def _check_features(self) -> None:
        if not isinstance(self.features, SparseFeatures | None):
            raise SchemaError(
                f"features is {shown(self.features)}", fix='features=SparseFeatures("text", words=["free", "win"])'
            )
        if self.features is None:
            return
        if self.features.column in self.by_name:
            raise SchemaError(
                f"the column {shown(self.features.column)} is declared both as a column and as texts with features",
                fix="leave it out of the columns",
            )
        if twice := self.features.places.keys() & self.by_name.keys():
            raise SchemaError(f"a feature and a column are both called {shown(min(twice))}", fix="rename the column")

    def _check_person(self) -> None:
        """Refuse facts about persons that contradict others; say how many rows of each are read."""
        if self.person is None:
            given = {"rows_per_person": self.rows_per_person, "people": self.people}
            if said := next((name for name, fact in given.items() if fact is not None), None):
                raise SchemaError(f"{said} is said of no persons", fix='person="patient_id", a column of the data')
            return
        if not isinstance(self.person, str) or not self.person:
            raise SchemaError(f"person is {shown(self.person)}, not a column's name", fix='person="patient_id"')
        check_text("the column of persons", self.person)
        if self.person in self.by_name or (self.features is not None and self.person == self.features.column):
            raise SchemaError(
                f"{shown(self.person)} is declared both as a column and as the person",
                why="nothing is asked about who a person is",
                fix="leave it out of the columns",
            )
        if self.rows_per_person is None:
            object.__setattr__(self, "rows_per_person", ROWS_PER_PERSON)
        if type(self.rows_per_person) is not int or not 1 <= self.rows_per_person <= MOST_ROWS_PER_PERSON:
            raise SchemaError(
                f"rows_per_person is {shown(self.rows_per_person)}, not a number from 1 to {MOST_ROWS_PER_PERSON:,}",
                fix=f"rows_per_person={ROWS_PER_PERSON}",
            )
        if self.people is not None:
            if not isinstance(self.people, str) or not self.people.strip():
                raise SchemaError(f"people is {shown(self.people)}, not a name", fix='people="ward 7"')
            check_text("the name of the people", self.people)
        if self.rows is not None:
            raise SchemaError(
                "the number of rows is declared, and so is a person",
                why="how many rows a person has is that person's secret, and so is how many there are in all",
                fix="leave rows out",
            )

    def _named_classes(self) -> str:
        """The columns that could be a label, by name, where there are any."""
        classed = [name for name, column in self.columns if isinstance(column, Categorical)]
        return f": one of {', '.join(map(repr, classed[:20]))}" if classed else ""

    def __getitem__(self, name: str) -> Column:
        try:
            return self.by_name[name]
        except TypeError:
            raise SchemaError(f"{described(name)} is no name of a column", fix='name it as a text: "age"') from None
        except KeyError:
            if self.features is not None and name in self.features.places:
                return PRESENCE
            if name in self.identifiers:
                raise SchemaError(
                    f"{shown(name)} is a column of identifiers, and nothing is asked about it",
                    why="each of its values tells one row from all others",
                    fix=f"one of {', '.join(map(repr, self.names))}",
                ) from None
            raise SchemaError(
                f"there is no column {shown(name)} in the schema", fix=f"one of {', '.join(map(repr, self.names))}"
            ) from None

    def __reduce__(self) -> tuple[object, ...]:
        # Objects of this process are no others': of where it was read off, the file alone is sent.
        facts = (self.label, self.neighbours, self.rows, self._file, self.features, self.identifiers)
        return Schema, (self.columns, *facts, self.person, self.rows_per_person, self.people)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, the label included."""
        return tuple(name for name, _ in self.columns)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the columns of data that are read, that of texts with features and that of persons included."""
        texts = () if self.features is None else (self.features.column,)
        return (*self.names, *texts, *self.whose)

    @property
    def whose(self) -> tuple[str, ...]:
        """The name of the column of persons, if there is one."""
        return () if self.person is None else (self.person,)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of all columns but the label."""
        return tuple(name for name in self.names if name != self.label)

    @property
    def target(self) -> str:
        """The name of the column to be predicted; refuse a schema without one."""
        if self.label is None:
            raise SchemaError("the schema names no label", fix='Schema(columns, label="...")')
        return self.label

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels of the label's codes."""
        return self[self.target].labels

    def size(self, *names: str) -> int:
        """How many combinations of codes the named columns have.

        Raises:
            SchemaError: there is no such column.
        """
        return math.prod([self[name].size for name in names])  # a list: it is asked at every question

    def to_toml(self) -> str:
        """The schema as TOML text."""
        entries = {name: getattr(self, name) for name in ENTRIES} | {"inferred_from": self._file}
        head = [f"{name} = {written(entry)}" for name, entry in entries.items() if entry is not None]
        blocks = ["\n".join(head)]
        if self.features is not None:
            sparse = {"column": self.features.column, "words": self.features.words, "buckets": self.features.buckets}
            lines = [f"{name} = {written(value)}" for name, value in sparse.items() if value]
            blocks.append("\n".join(["[features]", *lines]))
        for name, column in self.columns:
            kind, facts = facts_of(column)
            lines = [f"[columns.{written(name)}]", f"kind = {written(kind)}"]
            blocks.append("\n".join(lines + [f"{key} = {written(value)}" for key, value in facts.items()]))
        blocks += [f'[columns.{written(name)}]\nkind = "identifier"' for name in self.identifiers]
        return "\n\n".join(blocks) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema a TOML text declares.

        Raises:
            SchemaError: the text declares none.
        """
        given_as(text, str, "a text of TOML", fix="Schema.from_toml(schema.to_toml())", error=SchemaError)
        facts = SCHEMA.toml(text)
        columns = facts.pop("columns", None)
        if not isinstance(columns, dict):
            raise SchemaError("the schema has no [columns.NAME] tables", fix="jostle schema infer PUBLIC.csv")
        features = facts.pop("features", None)
        unknown = set(facts) - {*ENTRIES, "inferred_from"}
        if unknown:
            raise SchemaError(
                f"the schema has an unknown entry {shown(min(unknown))}",
                fix=f"{', '.join(ENTRIES)}, [columns.NAME] or [features]",
            )
        sparse = None if features is None else features_of(features)
        return cls({name: column_of(name, column) for name, column in columns.items()}, **facts, features=sparse)

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """The schema in a TOML file.

        Raises:
            SchemaError: the file cannot be read, or declares none.
        """
        if isinstance(path, str) and "\n" in path:
            raise SchemaError("the text of a schema is given where a path is wanted", fix="Schema.from_toml(text)")
        return cls.from_toml(SCHEMA.at(path).text())

    def write(self, path: str | Path) -> None:
        """Write the schema to a TOML file.

        Raises:
            SchemaError: the file cannot be written.
        """
        with writing(path, SchemaError, "the schema") as file:
            file.write_text(self.to_toml(), encoding="utf-8")

    @property
    def _file(self) -> str | None:
        """The file that it was read off."""
        return None if self.inferred_from is None or self.inferred_from.file is None else str(self.inferred_from.file)

    def with_neighbours(self, neighbours: Neighbours) -> Schema:
        """The same facts under another neighbour relation.

        Raises:
            SchemaError: there is no such relation.
        """
        return evolve(self, neighbours=neighbours)

    def with_persons(
        self, person: str | None = None, rows_per_person: int | None = None, people: str | None = None
    ) -> Schema:
        """The same facts, and whose the rows are; what is left out stays as it is declared.

        Raises:
            SchemaError: they do not fit together, or the rest.
        """
        given: dict[str, Any] = {"person": person, "rows_per_person": rows_per_person, "people": people}
        return evolve(self, **{name: fact for name, fact in given.items() if fact is not None})


def may_be_blank(schema: Schema, names: Iterable[str]) -> frozenset[str]:
    """Those of these columns in which a row may have no value: what is asked about them is about fewer rows."""
    return frozenset(name for name in names if schema[name].blank is not None)


def declared_rows(schema: Schema, names: Iterable[str]) -> int | None:
    """How many rows have a value in all of these columns, where that is public."""
    return None if may_be_blank(schema, names) else schema.rows
