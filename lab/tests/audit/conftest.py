"""Estimators that are audited, and doors that are broken on purpose."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Keep the threads of k-means, which wait for each other longer than they work, out of the way."""
    with threadpool_limits(1):
        yield
