"""The Dask of these tests is what it should be: two workers, and a lost one is replaced."""

import os
import signal

from .helpers import wait_until


def test_dask_has_two_workers_and_goes_on_without_a_lost_one(mortal_dask_client):
    def workers():
        return set(mortal_dask_client.run(os.getpid, on_error="ignore").values())

    before = workers()
    assert len(before) == 2
    assert os.getpid() not in before
    lost = before.pop()
    os.kill(lost, signal.SIGKILL)
    assert mortal_dask_client.submit(sum, [1, 2, 3]).result(timeout=600) == 6
    wait_until(lambda: len(workers() - {lost}) == 2)
