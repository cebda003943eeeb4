"""For all tests."""

import builtins

import pytest


def pytest_make_parametrize_id(val):
    """Name byte strings by their length: archives hold the time at which they were made, and names must not."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture
def without_matplotlib(monkeypatch):
    """Make every import of matplotlib fail, as where it is not installed."""
    real_import = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
