"""Parts are handed out to threads, each once, and an error ends the work."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dpmondrian.common.threads import Threads, one_matrix_thread


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_answers_come_in_order_whoever_gives_them(n_threads, monkeypatch):
    monkeypatch.setattr("dpmondrian.common.threads.os.cpu_count", lambda: 8)
    threads = Threads(None, n_threads)
    assert threads.n_threads == n_threads
    assert threads.map(lambda part: part * part, iter(range(1000))) == [part * part for part in range(1000)]


def test_no_more_parts_are_taken_than_there_are_threads(monkeypatch):
    monkeypatch.setattr("dpmondrian.common.threads.os.cpu_count", lambda: 8)
    lock, in_hand, most = threading.Lock(), [0], [0]

    def parts():
        for number in range(300):
            with lock:
                in_hand[0] += 1
                most[0] = max(most[0], in_hand[0])
            yield number

    def work(number):
        with lock:
            in_hand[0] -= 1
        return number

    Threads(None, 3).map(work, parts())
    assert most[0] <= 3


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_an_error_in_any_thread_ends_the_work(n_threads, monkeypatch):
    monkeypatch.setattr("dpmondrian.common.threads.os.cpu_count", lambda: 8)
    taken = []

    def parts():
        for number in range(10**9):
            taken.append(number)
            yield number

    def fail_at_ten(number):
        if number == 10:
            raise ValueError("ten")

    with pytest.raises(ValueError, match="ten"):
        Threads(None, n_threads).map(fail_at_ten, parts())
    assert len(taken) < 10**6


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_of_the_iterator_is_raised(n_threads, monkeypatch):
    monkeypatch.setattr("dpmondrian.common.threads.os.cpu_count", lambda: 8)

    def parts():
        yield 1
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        Threads(None, n_threads).map(lambda part: part, parts())


def test_few_rows_are_not_worth_a_thread():
    assert Threads(10).n_threads == 1


def matrix_threads():
    assert np.eye(2) @ np.ones(2) is not None  # the library is loaded
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_matrices_have_one_thread_until_the_first_one_leaves():
    before = matrix_threads()
    with one_matrix_thread():
        assert matrix_threads() <= {1}
        other = threading.Thread(target=one_matrix_thread().__enter__)  # it leaves the limit to this one
        other.start()
        other.join()
        assert matrix_threads() <= {1}
    assert matrix_threads() == before
    with pytest.raises(ZeroDivisionError), one_matrix_thread():
        print(1 // 0)
    assert matrix_threads() == before
