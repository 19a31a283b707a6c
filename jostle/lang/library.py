"""What programs can import, by module, and what is known of it: facts alone, so that checking loads no algorithm.

What Options take is kept in `options.json`, which `python -m jostle.lang.library` writes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

from jostle.lang.spelling import near
from jostle.lang.stops import Stop
from jostle.parameters import Parameter, shown

__all__ = ["ASKED", "KEPT", "MODULES", "LibraryOption", "library_options", "made"]

KEPT = Path(__file__).with_name("options.json")

MODULES: dict[str, tuple[str, ...]] = {
    "histograms": (
        "AHP",
        "AdaptiveGrid",
        "DAWA",
        "GreedyH",
        "HierarchicalB",
        "Identity",
        "MWEM",
        "PerturbedHistogram",
        "Privelet",
        "QuadTree",
        "ShrunkTree",
        "ThresholdedHistogram",
        "Uniform",
        "UniformGrid",
    ),
    "trees": (
        "FletcherIslam",
        "FriedmanSchuster",
        "Jagannathan",
        "JostledTree",
        "Mohammed",
        "PatilSingh",
        "RandomForest",
    ),
    "classifiers": ("BayesTree", "Majority", "NaiveBayes", "PooledBayes", "PooledTree", "SelectPrivately"),
    "public": ("gridCorpus", "tableCorpus"),
}
"""The Options by kind, and public databases."""

ASKED: Mapping[str, tuple[str, ...]] = {"classification": ("db",), "grid": ("db", "queries")}
"""What an Option of each task is called with, besides epsilon; all but the database can be left out."""


@frozen
class LibraryOption:
    """An Option of the library, as far as it is known without being loaded."""

    name: str
    task: str
    parameters: Mapping[str, Parameter] = field(eq=False)

    @property
    def asked(self) -> tuple[str, ...]:
        """Return what it is called with."""
        return ASKED[self.task]

    @property
    def head(self) -> str:
        """Return how it is called: `DAWA(db, queries)`."""
        return f"{self.name}({', '.join(self.asked)})"

    @property
    def example(self) -> str:
        """Return it with a parameter, if it has any: `Mohammed(depth=3)`."""
        given = [f"{name}={each.written}" for name, each in self.parameters.items()]
        return f"{self.name}({given[0]})" if given else self.name

    def is_given_parameters(self, places: int, names: Collection[str]) -> bool:
        """Return whether a call with so many values by place, and others by name, gives parameters and asks nothing."""
        return not places and bool(names) and not {*self.asked, "epsilon"}.intersection(names)

    def parameter(self, name: str, value: object) -> Any:
        """Return the value of a parameter, or refuse it."""
        known = self.parameters.get(name)
        if known is None:
            raise self.no_parameter(name)
        found = known.fitted(value)
        if found is None:
            title = f"`{name}` of `{self.name}` is {shown(value)}"
            raise Stop("J113", title, f"it has to be {known.words}", f"write {self.name}({name}={known.written})")
        return found

    def no_parameter(self, name: str) -> Stop:
        """Return what is wrong where it is given a parameter that it does not have."""
        match = near(name, self.parameters)
        fix = f"`{match}` has a similar name" if match else "use one of these" if self.parameters else "take it out"
        why = f"it has {', '.join(self.parameters)}" if self.parameters else "it has no parameters"
        return Stop("J113", f"`{self.name}` has no parameter `{name}`", why, fix)


@cache
def library_options() -> Mapping[str, LibraryOption]:
    """Return the Options of the library, by name."""
    kept = json.loads(KEPT.read_text("utf-8"))
    return {
        name: LibraryOption(name, facts["task"], {key: _parameter(known) for key, known in facts["parameters"].items()})
        for name, facts in kept.items()
    }


def _parameter(kept: dict[str, Any]) -> Parameter:
    default = Fraction(kept["default"]) if kept["kind"] == "share" else kept["default"]
    return Parameter(**{**kept, "default": default, "choices": tuple(kept.get("choices", ()))})


def made() -> dict[str, Any]:
    """Return what is to be kept of the Options that there are."""
    from jostle.options import get, names  # noqa: PLC0415 - loads every algorithm
    from jostle.parameters import parameters_of  # noqa: PLC0415 - as above

    options = [get(name) for name in names() if any(name in known for known in MODULES.values())]
    return {
        each.name: {
            "task": each.task,
            "parameters": {name: _kept(known) for name, known in parameters_of(type(each)).items()},
        }
        for each in options
    }


def _kept(parameter: Parameter) -> dict[str, Any]:
    facts = asdict(parameter, filter=lambda attribute, value: attribute.name in {"kind", "default"} or bool(value))
    return {**facts, "default": str(parameter.default) if parameter.kind == "share" else parameter.default}


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in made().items()]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
