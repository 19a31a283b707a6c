"""What the package shows of itself: public names, its version, and what it logs."""

from __future__ import annotations

import json
import logging
from importlib.metadata import version

import numpy as np
import pytest

import jostle


def test_the_package_lists_its_public_names_alone() -> None:
    assert dir(jostle) == sorted([*jostle.__all__, "__version__"])
    assert all(getattr(jostle, name) is not None for name in dir(jostle))
    assert jostle.__version__ == version("jostle")


def test_who_listens_is_told_what_a_trace_says_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    trace = jostle.Trace()
    with caplog.at_level(logging.INFO, logger="jostle"):
        db = jostle.rehearse(jostle.Table.from_grid(np.full(4, 9)), epsilon=1, trace=trace)
        db.count("1/2")

    logged = [json.loads(record.getMessage()) for record in caplog.records]
    assert [each["kind"] for each in logged] == ["opened", "charged", "released"]
    assert len(trace.records) == len(logged)
