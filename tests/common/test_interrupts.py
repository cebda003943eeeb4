"""Signals reach the thread that waits, never the one that works; what lasts is done whole or not at all."""

import ctypes
import os
import signal
import threading
import weakref
from functools import partial

import numpy as np
import pytest

from dpmondrian import DPM, Budget, NotReleasableWarning
from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.common import interrupts
from dpmondrian.common.interrupts import (
    StoppedError,
    Work,
    cancelled_by_a_stop,
    check,
    current_work,
    lasting,
    making,
    undisturbed,
)
from dpmondrian.common.threads import Threads
from dpmondrian.engines.local import LocalEngine

LONG = 600.0


@pytest.fixture(autouse=True)
def _interrupts_are_raised():
    """Let SIGINT raise KeyboardInterrupt, also where whoever runs the tests ignores it."""
    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def patient(monkeypatch):
    """Wait as long as it takes for a step that lasts and for work that was told to stop: the machine may be busy."""
    monkeypatch.setattr(interrupts, "_PATIENCE", LONG)


def interrupt():
    """Interrupt this process, as Ctrl-C does; no other thread takes the signal, which might be late for this test."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def interrupt_and_wait():
    """Interrupt this process, and go on when the work that this is part of has been told to stop."""
    work = current_work()
    interrupt()
    while not is_stopped(work):
        threading.Event().wait(0.001)


def wait_until(condition):
    """Wait until something holds; whoever runs the tests ends a wait that has no end."""
    while not condition():
        threading.Event().wait(0.001)


def is_stopped(work):
    try:
        work.check()
    except StoppedError:
        return True
    return False


def rows(n=4000):
    generator = np.random.default_rng(0)
    return generator.choice([20.0, 80.0], (n, 1)) + generator.normal(0.0, 4.0, (n, 2))


def test_the_answer_comes_from_another_thread():
    assert undisturbed(threading.current_thread) is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)


def test_the_thread_stays_so_that_no_fork_meets_one_that_ends():
    first = undisturbed(threading.current_thread)
    assert undisturbed(threading.current_thread) is first
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)
    assert undisturbed(threading.current_thread) is first
    assert first.is_alive()


def test_the_thread_that_waits_holds_nothing_of_its_work():
    class Rows:
        pass

    rows = Rows()
    kept = weakref.ref(rows)
    undisturbed(partial(id, rows))
    del rows
    wait_until(lambda: kept() is None)


def test_work_in_a_forked_process():
    undisturbed(threading.current_thread)
    child = os.fork()
    if child == 0:
        os._exit(0 if undisturbed(lambda: 7) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_another_thread_than_the_main_one_works_itself():
    found = []
    thread = threading.Thread(target=lambda: found.append(undisturbed(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


def test_whoever_works_elsewhere_is_told_of_a_stop_also_of_one_before_the_wait():
    told_during, told_before = threading.Event(), threading.Event()

    def ask_and_wait():
        with cancelled_by_a_stop(told_during.set):
            interrupt_and_wait()

    def stopped_between_asking_and_waiting():
        interrupt_and_wait()
        with cancelled_by_a_stop(told_before.set):
            raise AssertionError("It waits for somebody who was told to drop the work.")

    for work, told in ((ask_and_wait, told_during), (stopped_between_asking_and_waiting, told_before)):
        with pytest.raises(KeyboardInterrupt):
            undisturbed(work)
        assert told.wait(LONG)


def test_an_interrupt_does_not_wait_for_work_that_is_stuck(monkeypatch):
    monkeypatch.setattr(interrupts, "_PATIENCE", 0.01)
    free, ended = threading.Event(), threading.Event()

    def stuck():
        interrupt()
        free.wait(LONG)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        undisturbed(stuck)
    assert not free.is_set()
    free.set()
    monkeypatch.setattr(interrupts, "_PATIENCE", LONG)
    interrupts._wait_for_what_was_left()  # as the interpreter does before it ends
    assert ended.is_set()


def test_what_the_callers_own_handler_raises_comes_out():
    class TooLateError(Exception):
        pass

    def raise_it(*_):
        raise TooLateError

    signal.signal(signal.SIGINT, raise_it)
    with pytest.raises(TooLateError):
        undisturbed(interrupt_and_wait)


def test_a_handler_that_raises_nothing_lets_the_work_go_on():
    seen = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: seen.set())

    def work():
        interrupt()
        return seen.wait(LONG)

    assert undisturbed(work)


@pytest.mark.usefixtures("patient")
def test_a_step_that_lasts_is_finished_before_the_interrupt_comes_out():
    done = []

    def work():
        with lasting():
            interrupt_and_wait()
            done.append("charged")

    with pytest.raises(KeyboardInterrupt):
        undisturbed(work)
    assert done == ["charged"]


def test_nothing_that_lasts_begins_after_a_stop():
    done, ended = [], threading.Event()

    def work():
        interrupt_and_wait()
        try:
            with lasting():
                done.append("charged")
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        undisturbed(work)
    assert ended.wait(LONG)
    assert done == []


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_take_no_more_parts_after_a_stop(n_threads, monkeypatch):
    monkeypatch.setattr("dpmondrian.common.threads.os.cpu_count", lambda: 8)
    work, taken = Work(), []

    def take(part):
        taken.append(part)
        work.stop()

    with pytest.raises(StoppedError):
        work.do(lambda: Threads(None, n_threads).map(take, range(1000)))
    assert len(taken) <= n_threads


def test_results_and_what_is_unfinished_are_known(tmp_path):
    work, seen = Work(), []

    def make():
        with making(tmp_path / "hidden"):
            seen.append(set(work.unfinished))
            with lasting(tmp_path / "hidden" / "part"):
                pass
            with lasting(tmp_path / "whole", finished=tmp_path / "hidden"):
                seen.append(set(work.unfinished))

    work.do(make)
    assert seen == [{tmp_path / "hidden"}, set()]
    assert work.results == [tmp_path / "whole"]
    check()  # outside of any work there is nothing to stop


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("n_drawn", [0, 1, 7])
def test_a_fit_ends_before_a_draw_and_can_be_continued(tmp_path, n_drawn):
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)

    def stop_there(_name, n_done, _n_planned):
        if n_done == n_drawn:
            interrupt_and_wait()

    model = DPM(bounds=(0, 100))
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(rows(), budget=budget, checkpoint=tmp_path / "run.ckpt", progress=stop_there)
    assert type(caught.value) is KeyboardInterrupt
    assert not hasattr(model, "release_")
    assert len(budget.read().entries) == 1
    assert len(Checkpoint(tmp_path / "run.ckpt").read().draws) == n_drawn
    model.fit(rows(), budget=budget, checkpoint=tmp_path / "run.ckpt")
    assert [entry.is_released for entry in budget.read().entries] == [True]


@pytest.mark.usefixtures("patient")
def test_an_interrupt_before_the_charge_leaves_the_budget_alone(tmp_path, monkeypatch):
    budget, total = Budget.create(tmp_path / "budget.json", 3.0, 1e-6), LocalEngine.encode

    def encode(*arguments):
        interrupt_and_wait()
        return total(*arguments)

    monkeypatch.setattr(LocalEngine, "encode", encode)
    with pytest.raises(KeyboardInterrupt):
        DPM(bounds=(0, 100)).fit(rows(), budget=budget)
    assert budget.read().entries == ()


@pytest.mark.usefixtures("patient")
def test_an_interrupt_under_c_code_is_not_lost(monkeypatch):
    """Raised in a function that C calls, KeyboardInterrupt would be dropped, or come out as SystemError."""
    called_by_c, total = ctypes.CFUNCTYPE(None)(interrupt_and_wait), LocalEngine.total

    def with_c(*arguments):
        called_by_c()
        return total(*arguments)

    monkeypatch.setattr(LocalEngine, "total", with_c)
    with pytest.raises(KeyboardInterrupt):
        DPM(bounds=(0, 100)).fit(rows())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpmondrian.NotReleasableWarning")
def test_without_further_threads_the_release_is_the_same(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    expected = DPM(bounds=(0, 100), random_state=0).fit(rows(60_000))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(interrupts, "_IDLE", [])
    found = DPM(bounds=(0, 100), random_state=0).fit(rows(60_000))
    assert found.release_.digest() == expected.release_.digest()
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_warnings_name_the_line_of_the_caller():
    with pytest.warns(NotReleasableWarning) as caught:
        DPM(bounds=(0, 100), random_state=0).fit(rows())
    assert {warning.filename for warning in caught} == {__file__}
