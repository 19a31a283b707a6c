"""What the command line makes of a warning."""

from __future__ import annotations

import warnings

import pytest

from jostle.cli import app
from jostle.errors import FewRowsWarning


@pytest.mark.filterwarnings("default")
def test_what_is_warned_of_is_a_line_without_the_place_in_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "app", lambda: warnings.warn("9 rows are few\x1b[2J", FewRowsWarning, stacklevel=1))
    monkeypatch.setattr("sys.argv", ["jostle", "run"])
    app.main()
    assert capsys.readouterr().err == "warning: 9 rows are few\\x1b[2J\n"
