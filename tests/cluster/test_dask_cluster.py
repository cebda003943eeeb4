"""The Dask of these tests is what it should be: two workers, and a lost one is replaced."""

import os

from .helpers import wait_for_workers


def test_dask_has_two_workers_and_goes_on_without_a_lost_one(dask_client):
    workers = set(dask_client.run(os.getpid).values())
    assert len(workers) == 2
    assert os.getpid() not in workers
    wait_for_workers(dask_client)
    lost = workers.pop()
    os.kill(lost, 9)
    assert dask_client.submit(sum, [1, 2, 3]).result(timeout=600) == 6
    wait_for_workers(dask_client)
