"""Fixtures that more than one part of the tests uses, examples in docstrings included."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from jostle import progress
from jostle.options import base
from jostle.privacy import opening
from jostle.tables import dask_source, origins

# No deadlines: how long an example takes says nothing about whether it is right. On the build machine the examples are
# the same each time; at a desk they are new ones. Where slow tests are run, there are more of them.
settings.register_profile(
    "jostle",
    deadline=None,
    max_examples=int(os.environ.get("JOSTLE_EXAMPLES", "25")),
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("jostle")

if pd.__version__ < "3":  # which copies what later ones share, and a copy comes from somewhere else
    pd.options.mode.copy_on_write = True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark as slow what a representative stands for: of a test's parameters, all but one with each value of some.

    With each value another one is taken, so that what is not named varies as well.
    """
    several: dict[str, dict[tuple[int, ...], list[Any]]] = {}
    for item in items:
        if (mark := item.get_closest_marker("representative")) and not item.get_closest_marker("slow"):
            named = tuple(id(item.callspec.params[name]) for name in mark.args)
            several.setdefault(item.nodeid.partition("[")[0], {}).setdefault(named, []).append(item)
    for alike in several.values():
        for place, those in enumerate(alike.values()):
            for item in those:
                if item is not those[place % len(those)]:
                    item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of public data that is kept beside the project, or skip."""
    folder = Path(os.environ.get("JOSTLE_SHARED", Path(__file__).parents[1] / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no public data in {folder}; JOSTLE_SHARED says where else it is")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Start PostgreSQL for as long as the tests last, and return the URL of its database; or skip."""
    from some_databases import started_postgres  # noqa: PLC0415 - few tests need one

    with started_postgres() as url:
        yield url


@pytest.fixture(autouse=True)
def fresh_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test open its tables as if nobody had opened them before: equal tables share one budget in a process."""
    monkeypatch.setattr(opening, "_registry", opening.Registry())
    monkeypatch.setattr(origins, "_private", [])


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be told of how far work is, however slow the machine: tests compare what is printed."""
    monkeypatch.setattr(progress, "PATIENCE", inf)


@pytest.fixture(autouse=True)
def own_options() -> Iterator[None]:
    """Forget the Options that a test registers: no other test finds them in the library."""
    before = dict(base._registered)
    yield
    for name in base.own().keys() - before.keys():
        base.forget(name)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what tests learn and rehearse out of the user's cache, and away from each other."""
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path / "jostle-home"))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what runs a command in this process, in a folder with private rows."""
    from run_here import ran, write_rows  # noqa: PLC0415 - as above

    write_rows(tmp_path)
    monkeypatch.chdir(tmp_path)
    return lambda *words: ran(monkeypatch, capsys, *words)


@pytest.fixture
def cluster() -> Iterator[str]:
    """Address of a Dask cluster in this process."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1"
        ) as found:
            yield str(found.scheduler_address).replace("tcp://", "dask://")
            # Else they look for it when it is gone, from threads of their own and with random pauses between.
            for client in dask_source._clients.values():
                client.close()
            dask_source._clients.clear()
