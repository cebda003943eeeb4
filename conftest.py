"""For all tests, of both distributions."""

import builtins
import os
import re
import sys

import pytest

os.environ["SOURCE_DATE_EPOCH"] = "1767225600"  # the day in releases, also of processes that tests start: 2026-01-01


SLOW_FOLDERS = ("tests/cluster/", "tests/fuzz/")
"""Whose tests start clusters, or try one example after the other."""


def pytest_collection_modifyitems(items):
    """Mark the tests of slow folders, which `make quick` leaves out, as slow; others have the mark themselves."""
    for item in items:
        if item.nodeid.startswith(SLOW_FOLDERS):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a file of tests to one process, so that what they share is made once, and all on one cluster to one.

    The mark `xdist_group` would say it too, but pytest-xdist 3.8 overlooks it with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            cluster = re.match("tests/cluster/test_(spark|dask)", nodeid)
            return nodeid.split("::")[0] if cluster is None else cluster[1]

    return ByFile(config, log)


def pytest_make_parametrize_id(val):
    """Name byte strings by their length: archives hold the time at which they were made, and names must not."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def no_earlier_fits(monkeypatch):
    """Forget the fits of other tests, as a new process would: statements say how many there were without a budget."""
    if "dpmondrian.accounts.spending" in sys.modules:
        monkeypatch.setattr("dpmondrian.accounts.spending._UNCHARGED", set())


@pytest.fixture
def without_matplotlib(monkeypatch):
    """Make every import of matplotlib fail, as where it is not installed."""
    real_import = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
