"""The public facts about a table: its columns, its label, what neighbours are, whether n is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, get_args

from attrs import Factory, asdict, evolve, field, fields, frozen

from jostle.errors import SchemaError, shown
from jostle.files.kinds import FileKind
from jostle.tables.columns import Categorical, Column, Numeric, check_text
from jostle.tables.features import PRESENCE, SparseFeatures

__all__ = ["Neighbours", "Schema", "checked_neighbours"]

Neighbours = Literal["add_remove", "replace_one"]
"""Which two tables count as neighbours: one has a row more, or one row is another."""

SCHEMA = FileKind("schema", SchemaError, "jostle schema infer PUBLIC.csv shows what one looks like", most_bytes=1 << 25)
MOST_ROWS = 2**63
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)


def checked_neighbours(given: str) -> Neighbours:
    """Neighbour relation of this name; refuse any other name."""
    for relation in RELATIONS:
        if isinstance(given, str) and given == relation:
            return relation
    raise SchemaError(f"neighbours is {shown(given)}", fix="neighbours = add_remove or replace_one")


KINDS: dict[str, type[Column]] = {"categorical": Categorical, "numeric": Numeric}


def _pairs(columns: object) -> tuple[tuple[str, Column], ...]:
    if isinstance(columns, Mapping):
        pairs = tuple(columns.items())
    elif isinstance(columns, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in columns):
        pairs = columns
    else:
        raise SchemaError("columns is not a mapping from names to columns", fix='{"age": Numeric(0, 100)}')
    for name, column in pairs:
        if not isinstance(name, str) or type(column) not in KINDS.values():
            raise SchemaError(f"column {shown(name)} is not declared", fix=f'"{name}": Categorical(["no", "yes"])')
        check_text("the column name", name)
    return tuple((str.__str__(name), column) for name, column in pairs)


def _whole(number: Any) -> Any:
    return number if isinstance(number, bool) or not isinstance(number, Integral) else int(number)


class Inference(Protocol):
    """How a schema is read off public data."""

    def __call__(
        self, source: object, *, label: str | None = None, bins: int = 16, texts: str | None = None, words: int = 10_000
    ) -> Schema:
        """Return a schema read off public data: its values, its bounds, its empty cells."""


@frozen
class Schema:
    """What everybody may know about a table before any budget is spent.

    >>> schema = Schema({"age": Numeric(0, 100, bins=10), "ill": Categorical(["no", "yes"])}, label="ill")
    >>> schema["age"].size, schema.attributes
    (10, ('age',))
    """

    infer_public: ClassVar[Inference]
    """Return a schema read off public data: `tables.infer`, which reads tables, puts it here."""

    columns: tuple[tuple[str, Column], ...] = field(converter=_pairs)
    """The columns by name, given as a mapping; others in the data are not read."""
    label: str | None = None
    """The column to be predicted, if any."""
    neighbours: Neighbours = field(default="add_remove", converter=checked_neighbours)
    """Which change of a table privacy is about."""
    rows: int | None = field(default=None, converter=_whole)
    """How many rows there are, if that is public, which it can be under replace_one alone."""
    inferred_from: str | None = field(default=None, repr=False)
    """For a schema inferred from public data: which data, so that it is not taken for private later."""
    features: SparseFeatures | None = None
    """Sparse features beside the columns: words of a text, or the columns of a sparse matrix."""
    _by_name: Mapping[str, Column] = field(
        init=False,
        eq=False,
        repr=False,
        # Read only: everybody is given this schema, and the noise goes by it.
        default=Factory(lambda schema: MappingProxyType(dict(schema.columns)), takes_self=True),
    )

    def __attrs_post_init__(self) -> None:
        """Refuse facts that contradict each other."""
        if not self.columns:
            raise SchemaError("a schema has no columns", fix='{"age": Numeric(0, 100)}')
        if len(self._by_name) != len(self.columns):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise SchemaError(f"the column {shown(twice)} is declared twice")
        if self.label is not None and (not isinstance(self.label, str) or self.label not in self._by_name):
            raise SchemaError(
                f"the label {shown(self.label)} is not a column", fix="name a categorical column as label"
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
        if not isinstance(self.inferred_from, str | None):
            raise SchemaError(
                f"inferred_from is {shown(self.inferred_from)}, not a text", fix="leave inferred_from out"
            )

        self._check_features()

    def _check_features(self) -> None:
        if not isinstance(self.features, SparseFeatures | None):
            raise SchemaError(
                f"features is {shown(self.features)}", fix='features=SparseFeatures("text", words=["free", "win"])'
            )
        if self.features is None:
            return
        if self.features.column in self._by_name:
            raise SchemaError(
                f"the column {shown(self.features.column)} is declared both as a column and as texts with features",
                fix="leave it out of the columns",
            )
        if twice := self.features.places.keys() & self._by_name.keys():
            raise SchemaError(f"a feature and a column are both called {shown(min(twice))}", fix="rename the column")

    def __getitem__(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except KeyError:
            if self.features is not None and name in self.features.places:
                return PRESENCE
            raise SchemaError(
                f"there is no column {shown(name)} in the schema", fix=f"one of {', '.join(map(repr, self.names))}"
            ) from None

    def __reduce__(self) -> tuple[object, ...]:
        return Schema, (self.columns, self.label, self.neighbours, self.rows, self.inferred_from, self.features)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all columns, the label included."""
        return tuple(name for name, _ in self.columns)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names of the columns of data that are read, that of texts with features included."""
        return self.names if self.features is None else (*self.names, self.features.column)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the names of all columns but the label."""
        return tuple(name for name in self.names if name != self.label)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return what the label's codes stand for."""
        if self.label is None:
            raise SchemaError("the schema names no label", fix='Schema(columns, label="...")')
        return self[self.label].labels

    def size(self, *names: str) -> int:
        """Return how many combinations of codes the named columns have."""
        product = 1
        for name in names:
            product *= self[name].size
        return product

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        head = [
            f"{name} = {_toml(getattr(self, name))}"
            for name in ("label", "neighbours", "rows", "inferred_from")
            if getattr(self, name) is not None
        ]
        blocks = ["\n".join(head)]
        if self.features is not None:
            sparse = {"column": self.features.column, "words": self.features.words, "buckets": self.features.buckets}
            lines = [f"{name} = {_toml(value)}" for name, value in sparse.items() if value]
            blocks.append("\n".join(["[features]", *lines]))
        for name, column in self.columns:
            kind = "categorical" if isinstance(column, Categorical) else "numeric"
            facts = {key: value for key, value in asdict(column).items() if value is not None}
            if isinstance(column, Numeric):
                del facts["bins" if column.edges else "edges"]
            elif not column.taxonomy:
                del facts["taxonomy"]
            lines = [f"[columns.{_toml(name)}]", f"kind = {_toml(kind)}"]
            blocks.append("\n".join(lines + [f"{key} = {_toml(value)}" for key, value in facts.items()]))
        return "\n\n".join(blocks) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Return the schema a TOML text declares."""
        facts = SCHEMA.toml(text)
        columns = facts.pop("columns", None)
        if not isinstance(columns, dict):
            raise SchemaError("the schema has no [columns.NAME] tables", fix="jostle schema infer PUBLIC.csv")
        features = facts.pop("features", None)
        unknown = set(facts) - {"label", "neighbours", "rows", "inferred_from"}
        if unknown:
            raise SchemaError(
                f"the schema has an unknown entry {shown(min(unknown))}",
                fix="label, neighbours, rows, [columns.NAME] or [features]",
            )
        sparse = None if features is None else _features(features)
        return cls({name: _column(name, column) for name, column in columns.items()}, **facts, features=sparse)

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Return the schema in a TOML file."""
        return cls.from_toml(SCHEMA.at(path).text())

    def write(self, path: str | Path) -> None:
        """Write the schema to a TOML file."""
        try:
            Path(path).write_text(self.to_toml(), encoding="utf-8")
        except OSError as mistake:
            raise SchemaError(f"cannot write the schema {path}: {mistake.strerror}") from None

    def with_neighbours(self, neighbours: Neighbours) -> Schema:
        """Return the same facts under another neighbour relation."""
        return evolve(self, neighbours=neighbours)


def _features(facts: Any) -> SparseFeatures:
    if not isinstance(facts, dict) or "column" not in facts or set(facts) - {"column", "words", "buckets"}:
        raise SchemaError("[features] is not complete", fix="column, and words or buckets")
    return SparseFeatures(**facts)


def _column(name: str, facts: Any) -> Column:
    kind = next((kind for word, kind in KINDS.items() if isinstance(facts, dict) and facts.get("kind") == word), None)
    if kind is None:
        raise _no_kind(name, facts.get("kind") if isinstance(facts, dict) else None)
    given = {key: value for key, value in facts.items() if key != "kind"}
    known = {attribute.name for attribute in fields(kind)}
    if unknown := set(given) - known:
        raise SchemaError(
            f"column {shown(name)} has an unknown entry {shown(min(unknown))}",
            fix=f"one of {', '.join(sorted(known))}",
        )
    try:
        return kind(**given)
    except TypeError:
        needed = "values" if kind is Categorical else "low and high"
        raise SchemaError(f"column {shown(name)} is not complete", fix=f"give {needed}") from None
    except SchemaError as mistake:
        raise SchemaError(f"column {shown(name)}: {mistake.title}", why=mistake.why, fix=mistake.fix) from None


def _no_kind(name: str, given: object) -> SchemaError:
    known = " or ".join(f'kind = "{word}"' for word in KINDS)
    if not isinstance(given, str):
        return SchemaError(f"column {shown(name)} has no kind", fix=known)
    alike = get_close_matches(given, KINDS, n=1)
    return SchemaError(
        f"column {shown(name)} is of kind {shown(given)}, which is not known",
        fix=f'kind = "{alike[0]}"' if alike else known,
    )


def _toml(value: object) -> str:
    if isinstance(value, str):
        return '"' + "".join(_toml_character(character) for character in value) + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
