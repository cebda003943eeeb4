"""An interrupt ends a fit that waits for Dask, and Dask drops what was under way."""

import pandas as pd
import pytest

from dpmondrian import DPM
from dpmondrian.common.interrupts import StoppedError, check

from .helpers import interrupted_once, wait_until


def is_stopped():
    try:
        check()
    except StoppedError:
        return True
    return False


@pytest.mark.parametrize("when", ["while it waits", "before it waits"])
def test_an_interrupt_cancels_what_dask_works_on(dask_client, tmp_path, monkeypatch, when):
    dataframe = pytest.importorskip("dask.dataframe")
    from dpmondrian.engines import on_dask

    def block(part, begun=str(tmp_path / "begun"), free=str(tmp_path / "free")):
        import os
        import time

        open(begun, "w").close()
        while os.path.exists(begun) and not os.path.exists(free):  # pytest may take the folder away first
            time.sleep(0.05)
        return part

    def computed_late(task, computed=on_dask._computed):
        wait_until(is_stopped)
        return computed(task)

    if when == "before it waits":  # as on a very busy machine: Dask works already, and is not yet waited for
        monkeypatch.setattr(on_dask, "_computed", computed_late)
    rows = pd.DataFrame({"a": [20.0] * 100, "b": [80.0] * 100})
    table = dataframe.from_pandas(rows, npartitions=1).map_partitions(block, meta=rows)
    with dask_client.as_current(), interrupted_once(tmp_path / "begun"), pytest.raises(KeyboardInterrupt):
        DPM(bounds=(0, 100)).fit(table)
    wait_until(lambda: not any(dask_client.processing().values()))
    assert not (tmp_path / "free").exists()
    (tmp_path / "free").touch()
