"""Rows with marks, draws that are noted, and fits that are disturbed."""

import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from dpmondrian import DPM, DataError
from dpmondrian.privacy.mechanisms.sampler import Sampler

WORD, VALUE = "ZXCANARY", 12345.678901


def noted_draws(monkeypatch):
    """Return a list that gets the purpose of every draw of noise from now on."""
    draws, noise, select = [], Sampler.noise, Sampler.select

    def noting_noise(self, mechanism, scales, *purpose):
        draws.append(purpose)
        return noise(self, mechanism, scales, *purpose)

    def noting_select(self, mechanism, scores, scale, *purpose):
        draws.append(purpose)
        return select(self, mechanism, scores, scale, *purpose)

    monkeypatch.setattr(Sampler, "noise", noting_noise)
    monkeypatch.setattr(Sampler, "select", noting_select)
    return draws


def n_draws_of(model):
    """Return how often noise was drawn for a release, by its ledger: selections one by one, vectors of noise as a whole."""
    drawn = [entry for entry in model.privacy_.entries if entry.n_draws]
    return sum(entry.n_draws if entry.mechanism == "exponential mechanism" else 1 for entry in drawn)


def at_draw(number, act):
    """Return a function for `progress` that acts once, before a draw."""

    def progress(name, n_done, n_planned):
        if n_done == number:
            act()

    return progress


def two_groups(n_rows):
    """Return rows of two groups far apart, so that every tree cuts between them."""
    generator = np.random.default_rng(5)
    return np.where(np.arange(n_rows) % 2, 20.0, 80.0)[:, None] + generator.normal(0, 3, (n_rows, 2))


def error_of(function, *args):
    """Return the words of the `DataError` that a call ends with; nothing else of what happened can be reached from it."""
    with pytest.raises(DataError) as raised:
        function(*args)
    error = raised.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert WORD not in str(error)
    assert str(VALUE) not in str(error)
    return str(error)


def fit_error(table, parameters):
    """Return the words of the error that a fit ends with."""
    return error_of(DPM(**parameters).fit, table)


@contextmanager
def interrupted_once(file):
    """Interrupt this process, as Ctrl-C does, when a file appears; no library's own handler takes part."""

    def wait_and_interrupt():
        wait_until(file.exists)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=wait_and_interrupt)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


def wait_until(holds):
    """Wait for something that comes about in a minute at most on an idle machine, and raise if it does not in ten."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("It did not come about.")
