"""Every page runs from top to bottom, says what it gave, and is written in short sentences."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pages import MEASURED, PART, ROOT, TUTORIALS, all_pages, parts_of, ran, source_of

from jostle.lang.lexer import KEYWORDS
from jostle.options import built_in

README = (ROOT / "README.md").read_text("utf-8")
TASKS = ("classification", "evaluation", "grid", "publishing", "selection")
QUICK = "statistics"
"""The page that stands for all others where slow tests are left out."""
NUMBER = re.compile(r"-?\d[\d,.]*(?:e-?\d+)?")
SAME = re.compile(r"ended with \d|[\d.]+ (?:of the promised [\d.]+ )?is left|[\d.]+ left\b")
"""What hangs on no noise where all else does: how commands end, and what is left of a promise."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


def marked(page: Path) -> object:
    return pytest.param(page, id=name_of(page), marks=[] if page.stem == QUICK else [pytest.mark.slow])


@pytest.mark.parametrize("page", [marked(page) for page in all_pages()])
def test_a_page_runs_and_gives_what_it_says(page: Path) -> None:
    for part in ran(page):
        if part.gave is None:
            continue
        given = part.given("")
        if "<div>" in given or "![" in given:  # a table or a picture, of other numbers each time
            assert part.gave
        elif part.about:
            assert NUMBER.sub("#", re.sub(r"[ -]+", " ", given)) == NUMBER.sub("#", re.sub(r"[ -]+", " ", part.gave))
            assert SAME.findall(given) == SAME.findall(part.gave)
        else:
            assert given == part.gave


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_no_code_of_a_page_is_passed_over(page: Path) -> None:
    """Fences stand at the edge of the page and have a language; what is not run says why, and no code is indented."""
    text = page.read_text("utf-8")
    inside = "".join(found[0] for found in PART.finditer(text))
    assert text.count("```") == inside.count("```")
    for part in parts_of(text):
        assert part.kind != "nothing"
        assert part.why is None or part.kind in {"sh", "python", "jst"}
        if not part.kind:
            assert not re.search(r"\n\n    \S", part.shown)


@pytest.mark.parametrize("page", sorted(MEASURED.glob("*.md")), ids=name_of)
def test_what_was_measured_names_the_command_that_measures_it(page: Path) -> None:
    """Or the revision of one that measured it once, and whose results were kept."""
    named = re.findall(r"(benchmarks/\w+\.py)`?((?: and `\w+\.py`)? of revision [0-9a-f]{7})?", page.read_text("utf-8"))
    assert named
    assert [name for name, once in named if not once and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda page: page.stem)
def test_a_notebook_has_the_code_of_its_page_and_what_it_gave(page: Path) -> None:
    book = json.loads(page.with_suffix(".ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]

    assert cells == [source_of(part) for part in parts_of(page.read_text("utf-8")) if part.runs]
    assert all(output["output_type"] != "error" for cell in book["cells"] for output in cell.get("outputs", ()))
    assert sum(bool(cell.get("outputs")) for cell in book["cells"]) >= 4


def test_the_language_s_page_names_every_word() -> None:
    page = (ROOT / "docs" / "language.md").read_text("utf-8")
    assert [word for word in KEYWORDS if not re.search(rf"\b{word}\b", page)] == []


@pytest.mark.parametrize("task", TASKS)
def test_every_option_is_on_its_page_and_in_the_readme(task: str) -> None:
    page = ROOT / "docs" / "options" / f"{'histograms' if task == 'grid' else task}.md"
    text = page.read_text("utf-8")
    known = [kind.__name__ for kind in built_in() if kind.task.name == task]

    assert known
    assert [name for name in known if f"`{name}" not in text or f"`{name}`" not in README] == []


def measured(name: str) -> str:
    return (MEASURED / f"{name}.md").read_text("utf-8")


def figure(pattern: str) -> tuple[str, ...]:
    """Return what the README says."""
    (found,) = re.findall(pattern, README)
    return (found,) if isinstance(found, str) else found


def test_the_readme_s_figures_are_those_of_the_pages_they_come_from() -> None:
    assert f"**{figure(r'([0-9]+) times the throughput of OpenDP')[0]} times**" in measured("noise")

    ratios = re.findall(r"^\| \d \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|$", measured("tally"), flags=re.MULTILINE)
    low, high, megabytes = figure(r"([\d.]+) to ([\d.]+) times the time of a bare numpy loop; (\d+) MB")
    assert (float(low), float(high)) == (min(map(float, ratios)), max(map(float, ratios)))
    assert f"**{megabytes} MB**" in measured("tally")

    lines = re.findall(r"^\| [\d.]+ \| \d+ \| \d+ \| ([\d,]+) \| ([\d,]+) \|", measured("vault"), flags=re.MULTILINE)
    kills, charges = (sum(int(each.replace(",", "")) for each in column) for column in zip(*lines, strict=True))
    assert figure(r"([\d,]+) charges, (\d+) kills") == (f"{charges:,}", str(kills))

    controls = measured("audit").split("## Positive controls")[1].split("\n- **")[0]
    broken = re.findall(r"^\| (\w+) \| [\d.]+ \|", controls, flags=re.MULTILINE)
    assert figure(r"(\d+) known broken mechanisms")[0] == str(len(broken))

    rows = re.findall(
        r"^\| (error|log loss) \| ([\d.]+) \| [\d.]+ to [\d.]+ \| ≤", measured("choosing"), flags=re.MULTILINE
    )
    said = figure(r"([\d.]+) times the loss of the best of 12 in hindsight.*?; ([\d.]+) by the chances given")
    assert {name: round(float(mean), 2) for name, mean in rows} == dict(
        zip(("error", "log loss"), map(float, said), strict=True)
    )


def test_the_picture_counts_the_options_that_there_are() -> None:
    picture = (ROOT / "docs" / "pictures" / "jostle.svg").read_text("utf-8")
    for said, task in (("a model", "classification"), ("published rows", "publishing"), ("range queries", "grid")):
        assert f">{said}: {sum(kind.task.name == task for kind in built_in())} Options<" in picture


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 150
