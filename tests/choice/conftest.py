"""Fixtures of what is learned."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


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
