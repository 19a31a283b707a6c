"""Programs that commands are given: which maker is in them, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.choice.makers.making import Training
from jostle.choice.makers.shipped import SHIPPED
from jostle.errors import ChoiceError, ProgramError
from jostle.programs import load_maker

HEAD = """\
from small import METAFEATURES, known_by_rows
from jostle.choice.makers.making import MkChoiceMaker

def made(*among, label="choice"):
    return MkChoiceMaker(among=among, informed_by=METAFEATURES, trained_on=known_by_rows(), label=label)

"""


def program(tmp_path: Path, text: str, name: str = "p.py") -> Path:
    path = tmp_path / name
    path.write_text(HEAD + text)
    return path


def test_the_only_maker_is_meant(tmp_path: Path) -> None:
    maker = load_maker(
        program(tmp_path, 'mine = made("Majority", "NaiveBayes")\nalias = mine\n_hidden = made("Majority")')
    )
    assert [option.name for option in maker.among] == ["Majority", "NaiveBayes"]


def test_of_several_one_is_named(tmp_path: Path) -> None:
    path = program(tmp_path, 'one = made("Majority")\ntwo = made("NaiveBayes")')
    with pytest.raises(ChoiceError, match="several choice makers") as refusal:
        load_maker(path)
    assert refusal.value.fix == "--maker one or --maker two"
    assert load_maker(path, "two").among[0].name == "NaiveBayes"
    with pytest.raises(ChoiceError, match="no choice maker three"):
        load_maker(path, "three")


def test_what_a_program_does_when_it_is_run_is_not_done(tmp_path: Path) -> None:
    load_maker(program(tmp_path, 'mine = made("Majority")\nif __name__ == "__main__":\n    raise SystemExit(5)'))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_makers_go_by_name(name: str) -> None:
    maker = load_maker(name)
    assert maker.label == name
    assert maker.task == SHIPPED[name].task
    assert maker.known or isinstance(maker.trainer, Training)


def test_a_program_in_jostles_language_is_read_as_well(tmp_path: Path) -> None:
    maker = load_maker(Path(__file__).parents[2] / "programs" / "histogram.jst")
    assert [option.name for option in maker.among] == ["DAWA", "MWEM", "AdaptiveGrid", "Flat"]
    # Public facts are free, and come with what the program names.
    assert [each.name for each in maker.informed_by[:3]] == ["scale", "uniformity", "sparsity"]
    assert isinstance(maker.trainer, Training)
    assert maker.trainer.corpus is not None
    assert len(maker.trainer.corpus.grids) > 1
    path = tmp_path / "p.jst"
    path.write_text("x = y\n")
    with pytest.raises(ProgramError):
        load_maker(path)
