"""The code on the pages for users runs as it stands, one block after the other; tutorials say what they give.

Pages on adding something are run by `test_onboarding.py`, the language's and the statistics' by tests of theirs, and
the README by `test_readme.py`: every page that has Python is run by one of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tutorials import CODE, DOCS, parts_of, ran, write

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.options import built_in

ROOT = Path(__file__).parent.parent
OPTIONS = ("classification", "evaluation", "histograms", "publishing", "selection")
PAGES = ("choosing", *(f"options/{name}" for name in OPTIONS))
ELSEWHERE = ("language", "statistics")
"""Run by other tests."""
TUTORIALS = ("platform", "researcher", "scientist", "statistician")
SAME = re.compile(r"ended with \d|[\d.]+ (?:of the promised [\d.]+ )?is left|[\d.]+ left\b")
"""What a tutorial gives that hangs on no noise: how commands end, and what is left of a promise."""
EPSILON = 100
"""So much that no block is refused for what an earlier one spent."""


def rows(count: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(5)
    ill = random.random(count) < 0.4
    return pd.DataFrame(
        {
            "age": np.where(ill, random.normal(60, 9, count), random.normal(40, 9, count)).clip(0, 99),
            "region": random.choice(["north", "south"], count),
            "ill": np.where(ill, "yes", "no"),
        }
    )


SCHEMA = Schema(
    {
        "age": Numeric(0, 100, bins=8),
        "region": Categorical(["north", "south"]),
        "ill": Categorical(["no", "yes"]),
    },
    label="ill",
)


def names(place: Path) -> dict[str, Any]:
    """What the pages take as given: files, and names."""
    frame = rows()
    frame.to_csv(place / "patients.csv", index=False)
    (place / "schema.toml").write_text(SCHEMA.to_toml(), "utf-8")
    scores = frame.assign(score=(frame["age"] / 100), spam=frame["ill"])[["score", "spam"]]
    scores.to_csv(place / "tested.csv", index=False)
    words = pd.DataFrame({"text": ["free win", "meet home"] * 100, "label": ["spam", "ham"] * 100})
    words.to_csv(place / "messages.csv", index=False)
    folder = place / "folder" / "of" / "public" / "tables"
    folder.mkdir(parents=True)
    rows(90).rename(columns={"ill": "label"}).to_csv(folder / "a.csv", index=False)
    probe = jostle.rehearse(Table.from_frame(frame, SCHEMA), epsilon=EPSILON, seed=1)
    return {
        "jostle": jostle,
        "new_messages": words[["text"]],
        "frame": frame.drop(columns="ill"),
        "labelled_frame": frame,
        "table": Table.from_frame(frame, SCHEMA),
        "bayes": jostle.options.get("NaiveBayes")(probe, epsilon=1),
        "tree": jostle.options.get("FriedmanSchuster")(probe, epsilon=1),
        "db": probe,
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = names(tmp_path)
    known["__name__"] = page
    given = known["db"]
    blocks = CODE.findall((ROOT / "docs" / f"{page}.md").read_text("utf-8"))

    assert blocks
    for block in blocks:
        if not re.search(r"^db = ", block, re.MULTILINE):
            known["db"] = given if page != "options/histograms" else known["db"]
        exec(compile(block, page, "exec"), known)  # noqa: S102 - this is the test


@pytest.mark.parametrize("page", OPTIONS)
def test_every_option_is_on_its_page_and_in_the_readme(page: str) -> None:
    text, readme = (path.read_text("utf-8") for path in (ROOT / "docs" / "options" / f"{page}.md", ROOT / "README.md"))
    task = "grid" if page == "histograms" else page
    known = [kind.__name__ for kind in built_in() if kind.task.name == task]

    assert known
    assert [name for name in known if f"`{name}" not in text or f"`{name}`" not in readme] == []


def test_every_page_with_python_is_run_by_a_test() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    coded = [page for page in pages if page.parent == DOCS or CODE.search(page.read_text("utf-8"))]
    having = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in coded}

    run = {*PAGES, *ELSEWHERE, *(f"tutorials/{name}" for name in TUTORIALS)}
    assert {page for page in having if not page.startswith("extending/")} == run


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_has_the_code_of_its_page_and_what_it_gave(name: str) -> None:
    book = json.loads((DOCS / f"{name}.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    page = list(parts_of((DOCS / f"{name}.md").read_text("utf-8")))

    assert cells == [part.source for part in page if part.code]
    assert all(output["output_type"] != "error" for cell in book["cells"] for output in cell.get("outputs", ()))
    assert sum(bool(cell.get("outputs")) for cell in book["cells"]) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_and_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = DOCS / f"{name}.md"
    text = page.read_text("utf-8")
    write(page, ran(text, name), tmp_path)
    again = (tmp_path / page.name).read_text("utf-8")

    # Noise on private rows is other noise each time; all else is as it was.
    shape = [(part.code, part.text) for part in parts_of(again)]
    assert shape == [(part.code, part.text) for part in parts_of(text)]
    assert again.count("<!-- gives -->") == text.count("<!-- gives -->")
    assert SAME.findall(again) == SAME.findall(text)
    assert (tmp_path / f"{name}.ipynb").exists()
